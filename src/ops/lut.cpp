#include "ops/lut.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/lut.h"
#include "ops/integer_inputs.h"
#include "ops/integer_output.h"

namespace narrow {
namespace {

constexpr int kKnots = 513;
constexpr int kSpacing = 128;  // codes between knots
constexpr int kProbe = 16;     // codes between those at which chords are held against the function
// Steps of y beyond which chords do not follow a function. 64 of 16 bits are a quarter of one of 8: beyond, 16 bits are hardly better than
// 8, while a table of all codes takes 128 kB a layer.
constexpr double kLargestError8 = 1, kLargestError16 = 64;

std::int32_t entries_of(DType x) { return x == DType::kU8 ? 256 : 65536; }

std::int32_t code_of(float real, const QuantParams& p) {
  return quantize(real, p.scale[0], p.zero_point[0], static_cast<std::int32_t>(p.qmin()), static_cast<std::int32_t>(p.qmax()));
}

// Bound of |x| beyond which f(sign * x) is one code; `reach` when that is so nowhere below it.
double settles_at(const RealFunction& f, const QuantParams& out, double sign, double reach) {
  constexpr int kPointsPerOctave = 32, kOctaves = 40;
  const std::int32_t last = code_of(f(static_cast<float>(sign * reach)), out);
  double bound = reach;
  for (int i = 1; i <= kPointsPerOctave * kOctaves; ++i) {
    const double x = reach * std::exp2(-static_cast<double>(i) / kPointsPerOctave);
    if (code_of(f(static_cast<float>(sign * x)), out) != last) return bound;
    bound = x;
  }
  return 0;  // constant all the way: this side asks for nothing
}

}  // namespace

Tensor lut_table(const RealFunction& f, const QuantParams& x, const QuantParams& y) {
  NARROW_CHECK((x.dtype == DType::kU8 || x.dtype == DType::kI16) && (y.dtype == DType::kU8 || y.dtype == DType::kI16), "table from {} to {}", name_of(x.dtype), name_of(y.dtype));
  const std::int32_t first = x.dtype == DType::kU8 ? 0 : INT16_MIN, count = entries_of(x.dtype);
  Tensor table(y.dtype, {count});
  for (std::int32_t i = 0; i < count; ++i) store_code(table, i, code_of(f(dequantize(first + i, x.scale[0], x.zero_point[0])), y));
  return table;
}

Lut16 lut16_table(const RealFunction& f, const QuantParams& x, const QuantParams& y) {
  NARROW_CHECK(x.dtype == DType::kI16 && (y.dtype == DType::kU8 || y.dtype == DType::kI16), "table from {} to {}", name_of(x.dtype), name_of(y.dtype));
  Lut16 out;
  if (y.dtype == DType::kU8) {
    out.fraction_bits = 7;
    out.middle = 128;
  }
  const double unit = std::exp2(out.fraction_bits);
  // f at code `code` of x, in units of an entry.
  const auto entry_at = [&](double code) {
    const double real = static_cast<double>(x.scale[0]) * (code - x.zero_point[0]);
    const double value = static_cast<double>(f(static_cast<float>(real)));
    if (std::isnan(value)) return (y.zero_point[0] - out.middle) * unit;
    return std::clamp((value / static_cast<double>(y.scale[0]) + y.zero_point[0] - out.middle) * unit, -32768.0, 32767.0);
  };
  std::vector<double> knot(kKnots), bulge(kKnots - 1);  // bulge: f minus the chord in the middle of a segment
  for (int i = 0; i < kKnots; ++i) knot[static_cast<std::size_t>(i)] = entry_at(kSpacing * i - 32768);
  for (std::size_t i = 0; i + 1 < kKnots; ++i) {
    bulge[i] = entry_at(kSpacing * (static_cast<double>(i) + 0.5) - 32768) - (knot[i] + knot[i + 1]) / 2;
  }
  // Half of the mean bulge of the two neighbouring segments halves the largest error of the chords.
  out.entries = Tensor(DType::kI16, {kKnots});
  for (std::size_t i = 0; i < kKnots; ++i) {
    const double left = bulge[i == 0 ? 0 : i - 1], right = bulge[i + 1 == kKnots ? i - 1 : i];
    out.entries.data<std::int16_t>()[i] = static_cast<std::int16_t>(quantize(static_cast<float>(knot[i] + (left + right) / 4), 1.0F, 0, -32768, 32767));
  }
  const auto on_grid = [&](double entry) { return std::clamp(entry / unit + out.middle, static_cast<double>(y.qmin()), static_cast<double>(y.qmax())); };
  for (std::int32_t code = 0; code < 65536; code += kProbe) {
    const std::int16_t* chord = out.entries.data<std::int16_t>() + code / kSpacing;
    const double part = static_cast<double>(code % kSpacing) / kSpacing;
    out.error = std::max(out.error, std::abs(on_grid(chord[0] * (1 - part) + chord[1] * part) - on_grid(entry_at(code - 32768))));
  }
  return out;
}

QuantParams preactivation_params(const FusedActivation& activation, const QuantParams& out, DType dtype, double reachable_bound) {
  NARROW_CHECK(std::isfinite(reachable_bound) && reachable_bound > 0, "bound {}", reachable_bound);
  const RealFunction f = [&](float x) { return activation.apply(x); };
  double bound = std::max(settles_at(f, out, 1, reachable_bound), settles_at(f, out, -1, reachable_bound));
  if (bound == 0) bound = reachable_bound;
  return params_from_range(-bound, bound, {.dtype = dtype, .symmetric = true});
}

void emit_table(LowerContext& ctx, ValueId x, const QuantParams& x_params, const RealFunction& f, int out_slot) {
  const QuantParams& y = ctx.out(out_slot);
  Lut16 table;
  if (x_params.dtype == DType::kI16) table = lut16_table(f, x_params, y);
  if (x_params.dtype == DType::kU8 || table.error > (y.dtype == DType::kU8 ? kLargestError8 : kLargestError16)) {
    ctx.emit_output({.op = "qlut", .inputs = {x, ctx.constant("table", lut_table(f, x_params, y))}}, out_slot);
    return;
  }
  NodeSpec spec{.op = "qlut16", .inputs = {x, ctx.constant("table", std::move(table.entries))}};
  spec.attrs.set("fraction_bits", table.fraction_bits);
  spec.attrs.set("y_middle", table.middle);
  spec.attrs.set("y_min", Attr(y.qmin()));
  spec.attrs.set("y_max", Attr(y.qmax()));
  spec.attrs.set("y_dtype", Attr(std::string(name_of(y.dtype))));
  ctx.emit_output(std::move(spec), out_slot);
}

void emit_activation_table(LowerContext& ctx, ValueId pre, const QuantParams& pre_params, int out_slot) {
  const FusedActivation activation = fused_activation(ctx.node());
  emit_table(ctx, pre, pre_params, [&](float x) { return activation.apply(x); }, out_slot);
}

Window output_window(const FusedActivation& activation, const QuantParams& out) {
  Window window{static_cast<std::int32_t>(out.qmin()), static_cast<std::int32_t>(out.qmax())};
  if (activation.op == nullptr || !activation.is_clamp()) return window;
  const auto [low, high] = activation.clamp();
  return {code_of(static_cast<float>(low), out), code_of(static_cast<float>(high), out)};
}

namespace {

// --- qlut ---

Result<std::vector<TensorType>> infer_lut(const Graph& graph, const Node& node) {
  NARROW_TRY(IntegerInputs(graph, node).codes(0).status());
  const Value& x = graph.value(node.inputs[0]);
  NARROW_TRY(IntegerInputs(graph, node).constant(1, {DType::kU8, DType::kI16}, entries_of(x.dtype)).status());
  return std::vector<TensorType>{{graph.value(node.inputs[1]).dtype, x.shape}};
}

void run_lut(RunContext& ctx) {
  with_codes(ctx.inputs[0], [&](const auto* x) {
    with_codes(ctx.inputs[1], [&](const auto* table) {
      const std::int32_t first = std::numeric_limits<std::remove_cvref_t<decltype(*x)>>::min();
      for (std::int64_t i = 0, n = ctx.inputs[0].elements(); i < n; ++i) store_code(ctx.outputs[0], i, table[x[i] - first]);
    });
  });
}

struct LutKernel : Kernel {
  void run(RunContext& ctx) override {
    with_codes(ctx.inputs[0], [&](const auto* x) {
      with_codes(ctx.inputs[1], [&](const auto* table) {
        look_up(x, table, static_cast<std::remove_cvref_t<decltype(*table)>*>(ctx.outputs[0].raw()), ctx.inputs[0].elements());
      });
    });
  }
};

// --- qlut16 ---

Result<std::vector<TensorType>> infer_lut16(const Graph& graph, const Node& node) {
  NARROW_TRY(IntegerInputs(graph, node).codes(0).constant(1, {DType::kI16}, 513).integer("fraction_bits", 0, 16).integer("y_middle", 0, 255).status());
  const Value& x = graph.value(node.inputs[0]);
  const std::string y = node.attrs.get_string("y_dtype", "i16");
  if (x.dtype != DType::kI16 || (y != "i16" && y != "u8")) return error("the input is {} and the output '{}', wanted i16 and i16 or u8", name_of(x.dtype), y);
  const std::int64_t low = y == "u8" ? 0 : INT16_MIN, high = y == "u8" ? 255 : INT16_MAX;
  NARROW_TRY(IntegerInputs(graph, node).integer("y_min", low, high).integer("y_max", low, high).status());
  if (node.attrs.get_int("y_min") > node.attrs.get_int("y_max", 255)) return error("y_min {} is above y_max {}", node.attrs.get_int("y_min"), node.attrs.get_int("y_max", 255));
  return std::vector<TensorType>{{y == "u8" ? DType::kU8 : DType::kI16, x.shape}};
}

Lut16Spec lut16_spec(const RunContext& ctx) {
  const Attrs& attrs = ctx.node.attrs;
  return {.entries = ctx.inputs[1].data<std::int16_t>(),
          .fraction_bits = static_cast<std::int32_t>(attrs.get_int("fraction_bits")),
          .middle = static_cast<std::int32_t>(attrs.get_int("y_middle")),
          .low = static_cast<std::int32_t>(attrs.get_int("y_min")),
          .high = static_cast<std::int32_t>(attrs.get_int("y_max", 255))};
}

void run_lut16(RunContext& ctx) {
  const Lut16Spec spec = lut16_spec(ctx);
  const std::int16_t* x = ctx.inputs[0].data<std::int16_t>();
  for (std::int64_t i = 0, n = ctx.inputs[0].elements(); i < n; ++i) {
    const std::int32_t code = x[i] + 32768;  // 0..65535: 512 segments of 128 codes
    const std::int32_t base = spec.entries[code / kSpacing], next = spec.entries[code / kSpacing + 1];
    const std::int32_t scaled = base * kSpacing + (next - base) * (code % kSpacing);
    // Times 2^-(7 + fraction_bits): multiplier 2^30 and 30 more shifts.
    const std::int32_t y = std::clamp(spec.middle + rescale_single(scaled, 1 << 30, 37 + spec.fraction_bits), spec.low, spec.high);
    if (ctx.outputs[0].dtype() == DType::kU8) {
      ctx.outputs[0].data<std::uint8_t>()[i] = static_cast<std::uint8_t>(y);
    } else {
      ctx.outputs[0].data<std::int16_t>()[i] = static_cast<std::int16_t>(y);
    }
  }
}

struct Lut16Kernel : Kernel {
  void run(RunContext& ctx) override {
    const std::int16_t* x = ctx.inputs[0].data<std::int16_t>();
    const std::int64_t n = ctx.inputs[0].elements();
    if (ctx.outputs[0].dtype() == DType::kU8) {
      lut_i16_u8(x, lut16_spec(ctx), ctx.outputs[0].data<std::uint8_t>(), n);
    } else {
      lut_i16_i16(x, lut16_spec(ctx), ctx.outputs[0].data<std::int16_t>(), n);
    }
  }
};

template <typename K>
std::unique_ptr<Kernel> prepare(const Graph&, const Node&) { return std::make_unique<K>(); }

}  // namespace

extern const OpDef op_qlut;
constinit const OpDef op_qlut{.name = "qlut", .summary = "table of an entry for every code", .onnx = false, .infer = infer_lut, .run = run_lut, .prepare = prepare<LutKernel>};

extern const OpDef op_qlut16;
constinit const OpDef op_qlut16{.name = "qlut16", .summary = "table of 513 knots with interpolation", .onnx = false, .infer = infer_lut16, .run = run_lut16, .prepare = prepare<Lut16Kernel>};

}  // namespace narrow
