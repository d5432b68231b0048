// Softmax along `axis`. Before opset 13 ONNX flattens the axes from `axis` on; where that differs, import reshapes.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/parallel.h"
#include "kernels/softmax_fixed.h"
#include "ops/borders.h"
#include "ops/integer_inputs.h"
#include "ops/integer_output.h"

namespace narrow {
namespace {

Status normalize(RewriteContext& ctx) {
  Graph& graph = ctx.graph;
  const Shape x = ctx.input(0).shape;
  const int axis = NARROW_TRY(normalize_axis(ctx.node().attrs.get_int("axis", ctx.opset >= 13 ? -1 : 1), x.size()));
  const std::int64_t inner = element_count({x.begin() + axis + 1, x.end()});
  ctx.attrs().set("axis", axis);
  if (ctx.opset >= 13 || inner == 1) return ctx.infer();
  const std::int64_t outer = element_count({x.begin(), x.begin() + axis});
  NodeSpec flat{.name = ctx.node().name + ".flat", .op = "Reshape", .inputs = {ctx.node().inputs[0]}};
  flat.attrs.set("shape", std::vector<std::int64_t>{outer, element_count(x) / std::max<std::int64_t>(1, outer)});
  graph.set_input(ctx.node_id, 0, NARROW_TRY(ctx.insert_before(std::move(flat))));
  ctx.attrs().set("axis", 1);
  NARROW_TRY(ctx.infer());
  NodeSpec full{.name = ctx.node().name + ".full", .op = "Reshape", .inputs = {ctx.results[0]}};
  full.attrs.set("shape", x);
  ctx.results[0] = NARROW_TRY(ctx.insert_after(std::move(full)));
  return {};
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  const Value& x = graph.value(node.inputs[0]);
  NARROW_TRY(normalize_axis(node.attrs.get_int("axis", -1), x.shape.size()));
  return std::vector<TensorType>{{DType::kF32, x.shape}};
}

// Calls fn(first element, distance between elements, count) for every row along the axis.
template <typename Fn>
void for_rows(const Node& node, const Shape& shape, const Fn& fn) {
  const std::int64_t signed_axis = node.attrs.get_int("axis", -1);
  const auto axis = static_cast<std::size_t>(signed_axis < 0 ? signed_axis + static_cast<std::int64_t>(shape.size()) : signed_axis);
  const std::int64_t count = shape[axis], inner = element_count({shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()});
  if (count == 0) return;
  parallel_for(element_count(shape) / count, [&](std::int64_t row) { fn(row / inner * inner * count + row % inner, inner, count); });
}

void run(RunContext& ctx) {
  const float* x = ctx.inputs[0].data<float>();
  float* y = ctx.outputs[0].data<float>();
  for_rows(ctx.node, ctx.inputs[0].shape(), [&](std::int64_t first, std::int64_t step, std::int64_t count) {
    float largest = x[first];
    for (std::int64_t i = 1; i < count; ++i) largest = std::max(largest, x[first + i * step]);
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const float e = std::exp(x[first + i * step] - largest);
      y[first + i * step] = e;
      sum += static_cast<double>(e);
    }
    for (std::int64_t i = 0; i < count; ++i) y[first + i * step] = static_cast<float>(static_cast<double>(y[first + i * step]) / sum);
  });
}

bool permute(Graph& graph, NodeId id, const std::vector<int>& perm) {
  if (graph.value(graph.node(id).inputs[0]).shape.size() != perm.size()) return false;
  const std::int64_t axis = graph.node(id).attrs.get_int("axis", -1);
  graph.attrs(id).set("axis", perm[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(perm.size()) : axis)]);
  return true;
}

// exp(-16) is 1e-7: what lies further below the largest element of its row is as good as masked.
void as_read(const Node& node, Tensor& x) {
  constexpr float kReach = 16;
  float* values = x.data<float>();
  for_rows(node, x.shape(), [&](std::int64_t first, std::int64_t step, std::int64_t count) {
    float largest = values[first];
    for (std::int64_t i = 1; i < count; ++i) largest = std::max(largest, values[first + i * step]);
    const float floor = largest - kReach;
    for (std::int64_t i = 0; i < count; ++i) {
      float& value = values[first + i * step];
      value = value < floor ? floor : value;
    }
  });
}

// An additive mask of -1e9 or minus infinity would take all resolution from what it is added to. Under a Softmax -1e4 masks as well: logits
// do not differ by thousands.
bool bound_mask(Graph& graph, NodeId id) {
  constexpr float kMask = -1e4F;
  const ValueId x = graph.node(id).inputs[0];
  const Node* sum = graph.producer(x);
  if (sum == nullptr || sum->op != "Add" || graph.single_user(x) != id) return false;
  const NodeId add = graph.value(x).producer;
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const Value& mask = graph.value(sum->inputs[slot]);
    if (!mask.is_constant() || mask.dtype != DType::kF32) continue;
    Tensor bounded = mask.constant.clone();
    bool changed = false;
    for (float& m : bounded.span<float>()) {
      changed = changed || m < kMask;
      m = m < kMask ? kMask : m;
    }
    if (!changed) continue;
    graph.set_input(add, slot, graph.add_constant(mask.name, std::move(bounded)));
    return true;
  }
  return false;
}

QuantRule quant_rule(const Graph&, const Node&) {
  QuantRule rule;
  rule.fixed = {{.slot = output_slot(0), .lo = 0, .hi = 1}};
  return rule;
}

// --- lowering: the tables of qsoftmax ---

// exp(-d * scale) for the distance d = 0..255 from the row's largest code, in Q0.31 by gemmlowp's polynomial.
Tensor fixed_table(float x_scale) {
  // Distances become Q5.26 by a multiplier above one, as in TFLite's reference kernel; beyond its reach the term is 0.
  const FixedPoint factor = to_fixed_point(std::clamp(static_cast<double>(x_scale) * 0x1p26, 1.0, 0x1p30 - 1));
  const int exponent = 31 - factor.shift;
  const double reach = std::floor(31.0 * 0x1p26 / std::exp2(exponent));
  Tensor table(DType::kI32, {256});
  for (std::int32_t d = 0; d < 256; ++d) {
    const std::int32_t shifted = saturate32(-d * (std::int64_t{1} << exponent));
    table.data<std::int32_t>()[d] = d <= reach ? exp_q31(high_product(shifted, factor.multiplier)) : 0;
  }
  return table;
}

Tensor float_table(float x_scale) {
  Tensor table(DType::kF32, {256});
  for (int d = 0; d < 256; ++d) table.data<float>()[d] = static_cast<float>(std::exp(-d * static_cast<double>(x_scale)));
  return table;
}

// exp(-i * step) for i = 0..1023 in Q0.30.
Tensor wide_table(double step) {
  Tensor table(DType::kI32, {1024});
  for (int i = 0; i < 1024; ++i) table.data<std::int32_t>()[i] = static_cast<std::int32_t>(round_half_even(std::exp(-i * step) * 0x1p30));
  return table;
}

Status lower(LowerContext& ctx) {
  const QuantParams &x = ctx.in(0), &y = ctx.out();
  const bool wide = x.dtype == DType::kI16, as_float = !wide && ctx.profile().rounding == Rounding::kFloatRne;
  // The fixed-point forms give [0, 1) on a grid of their own, which is the planner's unless somebody wants another.
  const QuantParams own = QuantParams::per_tensor(wide ? DType::kI16 : DType::kU8, wide ? 0x1p-15F : 0x1p-8F, 0);
  const bool direct = as_float || (y.dtype == own.dtype && y.scale == own.scale && y.zero_point == own.zero_point);
  NodeSpec spec{.op = "qsoftmax", .inputs = {ctx.input(0)}, .attrs = ctx.node().attrs};
  set_code_grid(spec.attrs, direct ? y : own);
  if (as_float) {
    spec.attrs.set("y_scale", Attr(static_cast<double>(y.scale[0])));
    spec.inputs.push_back(ctx.constant("table", float_table(x.scale[0])));
  } else if (!wide) {
    spec.inputs.push_back(ctx.constant("table", fixed_table(x.scale[0])));
  } else {
    const double real = static_cast<double>(x.scale[0]) * 0x1p16;  // distances become Q4.16
    const auto rescales = ctx.rescales("rescale", {real}, {static_cast<float>(real)});
    spec.inputs.insert(spec.inputs.end(), {ctx.constant("coarse", wide_table(0x1p-6)), ctx.constant("fine", wide_table(0x1p-16)), rescales.multiplier, rescales.shift, rescales.scale});
  }
  if (direct) {
    ctx.emit_output(std::move(spec));
    return {};
  }
  const ValueId made = ctx.emit("fixed", std::move(spec), own.dtype, ctx.output_shape(), own);
  const auto factor = ctx.rescales("fixed.rescale", {static_cast<double>(own.scale[0]) / static_cast<double>(y.scale[0])}, {own.scale[0] / y.scale[0]});
  ctx.emit_output(requantize_spec(made, factor.multiplier, factor.shift, own, y, ctx.profile().rounding));
  return {};
}

// --- qsoftmax: tables of the distance from the row's largest code; the output's zero point is 0 except under float_rne ---

// Entry 0 belongs to the row's largest code: it keeps sums above 0.
Status check_table(const Tensor& table, std::int32_t least_first, std::int32_t most) {
  const std::span<const std::int32_t> entries = table.span<std::int32_t>();
  const bool in_range = std::all_of(entries.begin(), entries.end(), [&](std::int32_t e) { return e >= 0 && e <= most; });
  return in_range && entries[0] >= least_first ? Status{} : error("the table holds entries that are no exponentials");
}

Result<std::vector<TensorType>> infer_integer(const Graph& graph, const Node& node) {
  NARROW_TRY(IntegerInputs(graph, node).codes(0).grid().status());
  const Value& x = graph.value(node.inputs[0]);
  NARROW_TRY(normalize_axis(node.attrs.get_int("axis", -1), x.shape.size()));
  if (x.dtype == DType::kI16) {
    NARROW_TRY(IntegerInputs(graph, node).constant(1, {DType::kI32}, 1024).constant(2, {DType::kI32}, 1024).rescales(3, 1).status());
    for (const std::size_t slot : {1, 2}) NARROW_TRY(check_table(graph.value(node.inputs[slot]).constant, 1 << 29, 1 << 30));
  } else {
    NARROW_TRY(IntegerInputs(graph, node).constant(1, {DType::kI32, DType::kF32}, 256).status());
    const Tensor& table = graph.value(node.inputs[1]).constant;
    if (table.dtype() == DType::kI32) NARROW_TRY(check_table(table, 1 << 12, INT32_MAX));
  }
  return std::vector<TensorType>{{graph.value(node.outputs[0]).dtype, x.shape}};
}

void run_fixed(RunContext& ctx) {
  const std::uint8_t* x = ctx.inputs[0].data<std::uint8_t>();
  const std::int32_t* table = ctx.inputs[1].data<std::int32_t>();
  const CodeGrid grid = read_code_grid(ctx.node);
  for_rows(ctx.node, ctx.inputs[0].shape(), [&](std::int64_t first, std::int64_t step, std::int64_t count) {
    std::uint8_t largest = 0;
    for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, x[first + i * step]);
    std::int64_t sum = 0;  // Q12.19 in rows of up to 4096; 64 bits hold any row
    for (std::int64_t i = 0; i < count; ++i) sum += divide_by_power(table[largest - x[first + i * step]], 12);
    // sum = 2^over * (1 + f), f in Q0.31.
    const int top = 63 - std::countl_zero(static_cast<std::uint64_t>(sum)), over = top - 19;
    const std::int64_t normalized = top <= 31 ? sum << (31 - top) : sum >> (top - 31);
    const std::int32_t reciprocal = reciprocal_q31(static_cast<std::int32_t>(normalized - (std::int64_t{1} << 31)));
    const int exponent = over + 23;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t product = high_product(reciprocal, table[largest - x[first + i * step]]);
      const std::int32_t q = exponent > 31 ? 0 : divide_by_power(product, exponent);
      store_code(ctx.outputs[0], first + i * step, std::clamp(q, grid.low, grid.high));
    }
  });
}

// As ONNX Runtime's QLinearSoftmax.
void run_float_table(RunContext& ctx) {
  const std::uint8_t* x = ctx.inputs[0].data<std::uint8_t>();
  const float* table = ctx.inputs[1].data<float>();
  const CodeGrid grid = read_code_grid(ctx.node);
  const auto y_scale = static_cast<float>(ctx.node.attrs.get_float("y_scale"));
  for_rows(ctx.node, ctx.inputs[0].shape(), [&](std::int64_t first, std::int64_t step, std::int64_t count) {
    std::uint8_t largest = 0;
    for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, x[first + i * step]);
    float sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += table[largest - x[first + i * step]];
    for (std::int64_t i = 0; i < count; ++i) {
      store_code(ctx.outputs[0], first + i * step, round_to_grid(table[largest - x[first + i * step]] / sum / y_scale, grid.zero_point, grid.low, grid.high));
    }
  });
}

// exp(-d) as a product: the upper ten bits of the distance d (Q4.16) index one table, the lower ten the other. From 16 on the
// term is below 0.004 output steps and counts as 0. A code is off by half a step, 1/8 step for the rounded distances, and
// 0.004 steps per element of the row.
void run_wide(RunContext& ctx) {
  const std::int16_t* x = ctx.inputs[0].data<std::int16_t>();
  const std::int32_t *coarse = ctx.inputs[1].data<std::int32_t>(), *fine = ctx.inputs[2].data<std::int32_t>();
  const Rescale to_distance = read_rescales(ctx, 3)[0];
  const CodeGrid grid = read_code_grid(ctx.node);
  for_rows(ctx.node, ctx.inputs[0].shape(), [&](std::int64_t first, std::int64_t step, std::int64_t count) {
    std::int16_t largest = x[first];
    for (std::int64_t i = 1; i < count; ++i) largest = std::max(largest, x[first + i * step]);
    std::vector<std::int32_t> terms(static_cast<std::size_t>(count));  // Q0.30
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t d = rescale(largest - x[first + i * step], to_distance, grid.rounding);
      terms[static_cast<std::size_t>(i)] = d >= 1 << 20 ? 0 : rescale_single(coarse[d >> 10], fine[d & 1023], 30);
      sum += terms[static_cast<std::size_t>(i)];
    }
    // The largest term is 1, so that sum >= 2^30.
    const auto reciprocal = static_cast<std::int32_t>(std::min<std::int64_t>((std::int64_t{1} << 61) / sum, INT32_MAX));
    for (std::int64_t i = 0; i < count; ++i) {
      store_code(ctx.outputs[0], first + i * step, std::clamp(rescale_single(terms[static_cast<std::size_t>(i)], reciprocal, 46), grid.low, grid.high));
    }
  });
}

void run_integer(RunContext& ctx) {
  if (ctx.inputs[0].dtype() == DType::kI16) return run_wide(ctx);
  if (ctx.inputs[1].dtype() == DType::kF32) return run_float_table(ctx);
  run_fixed(ctx);
}

}  // namespace

extern const OpDef op_softmax;
constinit const OpDef op_softmax{.name = "Softmax", .summary = "exp(x) over its sum along an axis", .real_inputs = 1, .normalize = normalize, .infer = infer, .run = run, .permute = permute, .absorb_producer = bound_mask, .as_read = as_read, .quant_rule = quant_rule, .lower = lower};

extern const OpDef op_qsoftmax;
constinit const OpDef op_qsoftmax{.name = "qsoftmax", .summary = "softmax of codes by tables", .onnx = false, .infer = infer_integer, .run = run_integer};

}  // namespace narrow
