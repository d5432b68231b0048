// ReduceMean and ReduceSum over `axes` (ascending, not negative); the reduced axes stay with extent 1. GlobalAveragePool comes
// to this form.
#include <algorithm>

#include "ops/integer_inputs.h"
#include "ops/integer_output.h"

namespace narrow {
namespace {

// Shape with the reduced axes at 1.
Result<Shape> reduced_shape(const Graph& graph, const Node& node) {
  Shape y = graph.value(node.inputs[0]).shape;
  for (const std::int64_t axis : node.attrs.get_ints("axes")) y[static_cast<std::size_t>(NARROW_TRY(normalize_axis(axis, y.size())))] = 1;
  return y;
}

Status normalize(RewriteContext& ctx) {
  const Shape x = ctx.input(0).shape;
  auto axes = NARROW_TRY(ctx.ints("axes", 1)).value_or(std::vector<std::int64_t>{});
  if (axes.empty()) {
    if (ctx.node().attrs.get_int("noop_with_empty_axes") == 0) {
      for (std::size_t i = 0; i < x.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    } else {
      ctx.results[0] = ctx.node().inputs[0];
      return {};
    }
  }
  for (std::int64_t& axis : axes) axis = NARROW_TRY(normalize_axis(axis, x.size()));
  std::sort(axes.begin(), axes.end());
  const bool keep = ctx.node().attrs.get_int("keepdims", 1) != 0;
  ctx.attrs().erase("keepdims");
  ctx.attrs().erase("noop_with_empty_axes");
  ctx.attrs().set("axes", axes);
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0]});
  NARROW_TRY(ctx.infer());
  if (keep) return {};
  Shape dropped;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end()) dropped.push_back(x[i]);
  }
  NodeSpec spec{.name = ctx.node().name + ".dropped", .op = "Reshape", .inputs = {ctx.results[0]}};
  spec.attrs.set("shape", std::move(dropped));
  ctx.results[0] = NARROW_TRY(ctx.insert_after(std::move(spec)));
  return {};
}

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

// Adds term(x) of every element to the sum of its output element, in row-major order; returns the sums.
template <typename Sum, typename T, typename Term>
std::vector<Sum> reduce(const Tensor& in, const Shape& y_shape, const Term& term) {
  std::vector<Sum> sums(static_cast<std::size_t>(element_count(y_shape)), Sum{0});
  const Shape& xs = in.shape();
  if (xs.empty()) {
    sums[0] = term(in.data<T>()[0]);
    return sums;
  }
  const std::vector<std::int64_t> strides = broadcast_strides(y_shape, xs);
  const std::int64_t inner = xs.back(), step = strides.back();
  std::vector<std::int64_t> index(xs.size(), 0);
  std::int64_t at = 0;
  const T* x = in.data<T>();
  for (std::int64_t row = 0, rows = inner == 0 ? 0 : in.elements() / inner; row < rows; ++row, x += inner) {
    Sum* to = sums.data() + at;
    if (step == 0) {
      for (std::int64_t i = 0; i < inner; ++i) *to += term(x[i]);
    } else {
      for (std::int64_t i = 0; i < inner; ++i) to[i] += term(x[i]);
    }
    for (std::size_t d = xs.size() - 1; d-- > 0;) {
      at += strides[d];
      if (++index[d] < xs[d]) break;
      at -= strides[d] * xs[d];
      index[d] = 0;
    }
  }
  return sums;
}

// What a sum is divided by.
std::int64_t divisor(const Node& node, const Shape& x, const Shape& y) {
  return node.op == "ReduceSum" ? 1 : std::max<std::int64_t>(1, element_count(x) / std::max<std::int64_t>(1, element_count(y)));
}

void run(RunContext& ctx) {
  const auto sums = reduce<double, float>(ctx.inputs[0], ctx.outputs[0].shape(), [](float x) { return static_cast<double>(x); });
  const auto count = static_cast<double>(divisor(ctx.node, ctx.inputs[0].shape(), ctx.outputs[0].shape()));
  float* y = ctx.outputs[0].data<float>();
  for (std::size_t i = 0; i < sums.size(); ++i) y[i] = static_cast<float>(sums[i] / count);
}

bool permute(Graph& graph, NodeId id, const std::vector<int>& perm) {
  if (graph.value(graph.node(id).inputs[0]).shape.size() != perm.size()) return false;
  std::vector<std::int64_t> axes;
  for (const std::int64_t axis : graph.node(id).attrs.get_ints("axes")) axes.push_back(perm[static_cast<std::size_t>(axis)]);
  std::sort(axes.begin(), axes.end());
  graph.attrs(id).set("axes", std::move(axes));
  return true;
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
  const auto sums = ctx.inputs[0].dtype() == DType::kU8 ? reduce<std::int64_t, std::uint8_t>(ctx.inputs[0], shape, [&](std::uint8_t q) { return q - zero; })
                                                        : reduce<std::int64_t, std::int16_t>(ctx.inputs[0], shape, [&](std::int16_t q) { return q - zero; });
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
  ctx.attrs().set("keepdims", 1);
  if (ctx.opset < (sum ? 13 : 18)) return {};
  ctx.attrs().erase("axes");  // an input since then
  const ValueId list = ctx.graph.add_constant(ctx.node().name + ".axes", Tensor::of<std::int64_t>({static_cast<std::int64_t>(axes.size())}, axes));
  ctx.graph.set_input(ctx.node_id, 1, list);
  return {};
}

}  // namespace

extern const OpDef op_reduce_mean;
constinit const OpDef op_reduce_mean{.name = "ReduceMean",
                                     .summary = "mean along axes", .real_inputs = 1,
                                     .normalize = normalize,
                                     .denormalize = denormalize,
                                     .infer = infer,
                                     .run = run,
                                     .permute = permute,
                                     .quant_rule = quant_rule,
                                     .lower = lower};

extern const OpDef op_reduce_sum;
constinit const OpDef op_reduce_sum{.name = "ReduceSum",
                                    .summary = "sum along axes",
                                    .real_inputs = 1,
                                    .normalize = normalize,
                                    .denormalize = denormalize,
                                    .infer = infer,
                                    .run = run,
                                    .permute = permute,
                                    .quant_rule = quant_rule,
                                    .lower = lower};

extern const OpDef op_global_average_pool;
constinit const OpDef op_global_average_pool{.name = "GlobalAveragePool", .summary = "becomes ReduceMean over the whole map", .real_inputs = 1, .normalize = normalize_global};

extern const OpDef op_qmean;
constinit const OpDef op_qmean{.name = "qmean", .summary = "mean or sum of codes along axes", .onnx = false, .infer = infer_integer, .run = run_integer};

}  // namespace narrow
