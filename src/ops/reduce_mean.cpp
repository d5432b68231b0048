// ReduceMean and ReduceSum along axes. GlobalAveragePool comes to this form.
#include <algorithm>

#include "ops/integer_inputs.h"
#include "ops/integer_output.h"
#include "ops/reduction.h"

namespace narrow {
namespace {

Status normalize_global(RewriteContext& ctx) {
  const std::size_t rank = ctx.input(0).shape.size();
  if (rank < 3) return error("input has shape {}, wanted [N,C,...]", to_string(ctx.input(0).shape));
  std::vector<std::int64_t> axes;
  for (std::size_t i = 2; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  ctx.graph.set_op(ctx.node_id, "ReduceMean");
  ctx.attrs().set("axes", std::move(axes));
  return ctx.infer();
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  return std::vector<TensorType>{{DType::kF32, NARROW_TRY(reduced_shape(graph, node))}};
}

// What a sum is divided by.
std::int64_t divisor(const Node& node, const Shape& x, const Shape& y) {
  return node.op == "ReduceSum" ? 1 : std::max<std::int64_t>(1, element_count(x) / std::max<std::int64_t>(1, element_count(y)));
}

void run(RunContext& ctx) {
  const auto sums = reduce<float>(ctx.inputs[0], ctx.outputs[0].shape(), 0.0, [](double& sum, float x) { sum += static_cast<double>(x); });
  const auto count = static_cast<double>(divisor(ctx.node, ctx.inputs[0].shape(), ctx.outputs[0].shape()));
  float* y = ctx.outputs[0].data<float>();
  for (std::size_t i = 0; i < sums.size(); ++i) y[i] = static_cast<float>(sums[i] / count);
}

QuantRule quant_rule(const Graph&, const Node&) { return {}; }

Status lower(LowerContext& ctx) {
  const QuantParams &x = ctx.in(0), &y = ctx.out();
  const std::int64_t count = divisor(ctx.node(), ctx.input_shape(0), ctx.output_shape());
  const auto rescales = ctx.rescales("rescale", {reciprocal_factor(static_cast<double>(x.scale[0]) / static_cast<double>(y.scale[0]), count)},
                                     {x.scale[0] / (y.scale[0] * static_cast<float>(count))});
  NodeSpec spec{.op = "qmean", .inputs = {ctx.input(0), rescales.multiplier, rescales.shift, rescales.scale}, .attrs = ctx.node().attrs};
  spec.attrs.set("x_zero_point", x.zero_point[0]);
  set_code_grid(spec.attrs, y);
  ctx.emit_output(std::move(spec));
  return {};
}

// --- qmean: y = requantize(sum of (x - x_zero_point)); the divisor is part of the factor ---

Result<std::vector<TensorType>> infer_integer(const Graph& graph, const Node& node) {
  return IntegerInputs(graph, node).codes(0).rescales(1, 1).zero_point("x_zero_point", 0).grid().output(reduced_shape(graph, node));
}

void run_integer(RunContext& ctx) {
  const std::int64_t zero = ctx.node.attrs.get_int("x_zero_point");
  const Shape& shape = ctx.outputs[0].shape();
  const auto add = [zero](std::int64_t& sum, std::int64_t q) { sum += q - zero; };
  const auto sums = ctx.inputs[0].dtype() == DType::kU8 ? reduce<std::uint8_t>(ctx.inputs[0], shape, std::int64_t{0}, add) : reduce<std::int16_t>(ctx.inputs[0], shape, std::int64_t{0}, add);
  const Rescale rescale = read_rescales(ctx, 1)[0];
  const CodeGrid grid = read_code_grid(ctx.node);
  for (std::size_t i = 0; i < sums.size(); ++i) store_code(ctx.outputs[0], static_cast<std::int64_t>(i), grid.code(sums[i], rescale));
}

// By the time it is exported the map is channels-first again: over height and width it is ONNX's GlobalAveragePool, for
// which runtimes have integer kernels.
Status denormalize(RewriteContext& ctx) {
  const auto axes = ctx.node().attrs.get_ints("axes");
  const bool sum = ctx.node().op == "ReduceSum";
  if (!sum && ctx.input(0).shape.size() == 4 && axes == std::vector<std::int64_t>{2, 3}) {
    ctx.graph.set_op(ctx.node_id, "GlobalAveragePool");
    ctx.attrs().erase("axes");
    return {};
  }
  denormalize_reduction(ctx, sum ? 13 : 18);
  return {};
}

}  // namespace

extern const OpDef op_reduce_mean;
constinit const OpDef op_reduce_mean{.name = "ReduceMean",
                                     .summary = "mean along axes", .real_inputs = 1,
                                     .normalize = normalize_reduction,
                                     .denormalize = denormalize,
                                     .infer = infer,
                                     .run = run,
                                     .permute = permute_reduction,
                                     .quant_rule = quant_rule,
                                     .lower = lower};

extern const OpDef op_reduce_sum;
constinit const OpDef op_reduce_sum{.name = "ReduceSum",
                                    .summary = "sum along axes",
                                    .real_inputs = 1,
                                    .normalize = normalize_reduction,
                                    .denormalize = denormalize,
                                    .infer = infer,
                                    .run = run,
                                    .permute = permute_reduction,
                                    .quant_rule = quant_rule,
                                    .lower = lower};

extern const OpDef op_global_average_pool;
constinit const OpDef op_global_average_pool{.name = "GlobalAveragePool", .summary = "becomes ReduceMean over the whole map", .real_inputs = 1, .normalize = normalize_global};

extern const OpDef op_qmean;
constinit const OpDef op_qmean{.name = "qmean", .summary = "mean or sum of codes along axes", .onnx = false, .infer = infer_integer, .run = run_integer};

}  // namespace narrow
