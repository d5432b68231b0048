// Add and Sub, with a clamp fused in; the integer operator qadd serves both.
#include <algorithm>

#include "ops/binary.h"
#include "ops/integer_binary.h"
#include "ops/integer_inputs.h"
#include "ops/recognize.h"

namespace narrow {
namespace {

template <typename T>
struct Sum {
  T operator()(T a, T b) const { return modular(a, b, [](auto p, auto q) { return p + q; }); }
};
template <typename T>
struct Difference {
  T operator()(T a, T b) const { return modular(a, b, [](auto p, auto q) { return p - q; }); }
};

std::optional<Affine> affine(const Graph& graph, const Node& node, bool subtract) {
  auto constant = constant_operand(graph, node);
  if (!constant || fused_activation(node).op != nullptr) return std::nullopt;
  // x + c, x - c, c - x.
  const bool negated_data = subtract && constant->slot == 0;
  Affine out{.data_input = 1 - constant->slot, .axis = constant->axis};
  out.scale.assign(constant->values.size(), negated_data ? -1.0F : 1.0F);
  if (subtract && constant->slot == 1) {
    for (float& c : constant->values) c = -c;
  }
  out.shift = std::move(constant->values);
  return out;
}
std::optional<Affine> affine_add(const Graph& graph, const Node& node) { return affine(graph, node, false); }
std::optional<Affine> affine_sub(const Graph& graph, const Node& node) { return affine(graph, node, true); }

// --- qadd ---
// Each operand, zero point removed, is shifted left so that its rescaling to the common scale 2 * max(s_a, s_b) keeps fraction
// bits; the sum (sign_b = -1: the difference) is rescaled to the output. Inputs a, b, multiplier[3], shift[3]: entries
// for a, b and y. Under float_rne the attributes a_scale, b_scale and y_scale are read instead: the sum of 8-bit codes is ONNX
// Runtime's QLinearAdd (kernels/elementwise_u8.h, FusedSum); what it has no kernel for, differences and 16-bit codes, is its
// DequantizeLinear, Add or Sub, QuantizeLinear.

struct SumOfCodes {
  explicit SumOfCodes(const RunContext& ctx) : grid(read_binary_grid(ctx)) {
    left_shift = static_cast<int>(ctx.node.attrs.get_int("left_shift"));
    sign = static_cast<std::int32_t>(ctx.node.attrs.get_int("sign_b", 1));
    const std::vector<Rescale> r = read_rescales(ctx, 2);
    ra = r[0];
    rb = r[1];
    ry = r[2];
    fused = FusedSum(grid.a_scale, grid.a_zero_point, grid.b_scale, grid.b_zero_point, grid.y_scale, grid.y_zero_point);
  }

  std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    if (grid.rounding == Rounding::kFloatRne) {
      if (!grid.wide && sign == 1) return round_to_grid(fused(a, b), 0, grid.low, grid.high);
      const float sum = dequantize(a, grid.a_scale, grid.a_zero_point) + static_cast<float>(sign) * dequantize(b, grid.b_scale, grid.b_zero_point);
      return quantize(sum, grid.y_scale, grid.y_zero_point, grid.low, grid.high);
    }
    const std::int64_t unit = std::int64_t{1} << left_shift;
    const std::int32_t x = rescale((a - grid.a_zero_point) * unit, ra, grid.rounding), y = rescale((b - grid.b_zero_point) * unit, rb, grid.rounding);
    return requantize(static_cast<std::int64_t>(x) + static_cast<std::int64_t>(sign) * y, ry, grid.rounding, grid.y_zero_point, grid.low, grid.high);
  }

  BinaryGrid grid;
  int left_shift = 20;
  std::int32_t sign = 1;
  Rescale ra, rb, ry;
  FusedSum fused;
};

AddU8 fast_form(const SumOfCodes& c) {
  return AddU8({.a = {c.ra.multiplier, c.ra.shift, c.grid.a_scale},
                .b = {c.rb.multiplier, c.rb.shift, c.grid.b_scale},
                .y = {c.ry.multiplier, c.ry.shift, c.grid.y_scale},
                .rounding = c.grid.rounding,
                .left_shift = c.left_shift,
                .sign_b = c.sign,
                .a_zero_point = c.grid.a_zero_point,
                .b_zero_point = c.grid.b_zero_point,
                .grid = {c.grid.y_zero_point, c.grid.low, c.grid.high, false}});
}

Status lower(LowerContext& ctx, int sign_b) {
  const QuantParams &a = ctx.in(0), &b = ctx.in(1), &y = ctx.out();
  // 16-bit codes leave 15 bits of room below 2^31; one less when a zero point widens their difference.
  int left_shift = 20;
  for (const QuantParams* p : {&a, &b}) {
    if (p->dtype == DType::kI16) left_shift = std::min(left_shift, p->zero_point[0] == 0 ? 15 : 14);
  }
  const double sa = static_cast<double>(a.scale[0]), sb = static_cast<double>(b.scale[0]), sy = static_cast<double>(y.scale[0]);
  const double common = 2 * std::max(sa, sb);
  const auto r = ctx.rescales("rescale", {sa / common, sb / common, common / (sy * static_cast<double>(1 << left_shift))}, {a.scale[0], b.scale[0], y.scale[0]});
  NodeSpec spec{.op = "qadd", .inputs = {ctx.input(0), ctx.input(1), r.multiplier, r.shift}};
  set_binary_grid(ctx, spec.attrs);
  spec.attrs.set("left_shift", left_shift);
  spec.attrs.set("sign_b", sign_b);
  ctx.emit_output(std::move(spec));
  return {};
}
Status lower_add(LowerContext& ctx) { return lower(ctx, 1); }
Status lower_sub(LowerContext& ctx) { return lower(ctx, -1); }

Result<std::vector<TensorType>> infer_codes(const Graph& graph, const Node& node) {
  NARROW_TRY(IntegerInputs(graph, node).integer("left_shift", 0, 20).integer("sign_b", -1, 1).status());
  return narrow::infer_codes(graph, node, 3);
}

// The fast form adds terms of 32 bits. Lowered networks halve both operands and more; a crafted one may not.
std::unique_ptr<Kernel> prepare(const Graph& graph, const Node& node) {
  const auto shift = graph.value(node.inputs[3]).constant.span<std::int32_t>();
  const std::int64_t bits = 8 + node.attrs.get_int("left_shift") + 31 - std::min(shift[0], shift[1]);  // a factor is below 2^(31 - shift)
  return bits <= 30 ? prepare_codes<SumOfCodes>(graph, node) : nullptr;
}

}  // namespace

extern const OpDef op_add;
constinit const OpDef op_add{.name = "Add",
                             .summary = "a + b", .min_inputs = 2,
                             .infer = infer_binary,
                             .run = run_binary_clamped<Sum>,
                             .permute = permute_elementwise,
                             .recognize = recognize_composite,
                             .affine = affine_add,
                             .fuses_activation = true,
                             .fuses_only_clamps = true,
                             .quant_rule = binary_rule,
                             .lower = lower_add};

extern const OpDef op_sub;
constinit const OpDef op_sub{.name = "Sub",
                             .summary = "a - b", .min_inputs = 2,
                             .infer = infer_binary,
                             .run = run_binary_clamped<Difference>,
                             .permute = permute_elementwise,
                             .affine = affine_sub,
                             .fuses_activation = true,
                             .fuses_only_clamps = true,
                             .quant_rule = binary_rule,
                             .lower = lower_sub};

extern const OpDef op_qadd;
constinit const OpDef op_qadd{.name = "qadd", .summary = "a + b or a - b of integer codes", .onnx = false, .infer = infer_codes, .run = run_codes<SumOfCodes>, .prepare = prepare};

}  // namespace narrow
