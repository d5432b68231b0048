// BatchNormalization at inference: y = x * scale + shift along `axis`. Import turns ONNX's five inputs into (x, scale, shift);
// passes fold it into a neighbour or make a depthwise convolution of it, so that it has no integer form of its own.
#include <cmath>

#include "ops/op_def.h"

namespace narrow {
namespace {

Status normalize(RewriteContext& ctx) {
  Graph& graph = ctx.graph;
  if (ctx.node().attrs.get_int("training_mode") != 0) return error("training_mode is 1, wanted 0: export the model for inference");
  if (ctx.node().outputs.size() > 1) return error("batch statistics are asked for ({} outputs), wanted 1: export the model for inference", ctx.node().outputs.size());
  const Shape& x = ctx.input(0).shape;
  if (x.size() < 2) return error("input has shape {}, wanted [N,C,...]", to_string(x));
  static constexpr const char* kNames[] = {"x", "scale", "bias", "mean", "variance"};
  const float* parts[5] = {};
  for (std::size_t i = 1; i < 5; ++i) {
    const Tensor* part = NARROW_TRY(ctx.constant_input(i, kNames[i]));
    if (part == nullptr || part->elements() != x[1]) return error("{} has {} elements, wanted {}, one per channel", kNames[i], part == nullptr ? 0 : part->elements(), x[1]);
    parts[i] = part->data<float>();
  }
  const double epsilon = ctx.node().attrs.get_float("epsilon", 1e-5);
  Tensor scale(DType::kF32, {x[1]}), shift(DType::kF32, {x[1]});
  for (std::int64_t c = 0; c < x[1]; ++c) {
    const double factor = static_cast<double>(parts[1][c]) / std::sqrt(static_cast<double>(parts[4][c]) + epsilon);
    scale.data<float>()[c] = static_cast<float>(factor);
    shift.data<float>()[c] = static_cast<float>(static_cast<double>(parts[2][c]) - static_cast<double>(parts[3][c]) * factor);
  }
  const std::string name = ctx.node().name;
  graph.set_inputs(ctx.node_id, {ctx.node().inputs[0], graph.add_constant(name + ".scale", std::move(scale)), graph.add_constant(name + ".shift", std::move(shift))});
  for (const char* key : {"epsilon", "momentum", "training_mode", "spatial", "is_test", "consumed_inputs"}) ctx.attrs().erase(key);
  ctx.attrs().set("axis", 1);
  return ctx.infer();
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  const Value& x = graph.value(node.inputs[0]);
  const int axis = NARROW_TRY(normalize_axis(node.attrs.get_int("axis", 1), x.shape.size()));
  if (node.attrs.get_int("axis", 1) != axis) return error("axis {} counts from the end", node.attrs.get_int("axis", 1));
  const std::int64_t channels = x.shape[static_cast<std::size_t>(axis)];
  for (const std::size_t i : {1, 2}) {
    const Shape& part = graph.value(node.inputs[i]).shape;
    if (element_count(part) != channels) return error("{} has shape {}, wanted {} channels", i == 1 ? "scale" : "shift", to_string(part), channels);
  }
  return std::vector<TensorType>{{DType::kF32, x.shape}};
}

void run(RunContext& ctx) {
  const Shape& shape = ctx.inputs[0].shape();
  const auto axis = static_cast<std::size_t>(ctx.node.attrs.get_int("axis", 1));
  const std::int64_t channels = shape[axis], inner = element_count({shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end()});
  const float *x = ctx.inputs[0].data<float>(), *scale = ctx.inputs[1].data<float>(), *shift = ctx.inputs[2].data<float>();
  float* y = ctx.outputs[0].data<float>();
  for (std::int64_t block = 0, blocks = inner == 0 ? 0 : ctx.inputs[0].elements() / inner; block < blocks; ++block) {
    const float a = scale[block % channels], b = shift[block % channels];
    for (std::int64_t i = block * inner; i < (block + 1) * inner; ++i) y[i] = x[i] * a + b;
  }
}

bool permute(Graph& graph, NodeId id, const std::vector<int>& perm) {
  if (graph.value(graph.node(id).inputs[0]).shape.size() != perm.size()) return false;
  graph.attrs(id).set("axis", perm[static_cast<std::size_t>(graph.node(id).attrs.get_int("axis", 1))]);
  return true;
}

std::optional<Affine> affine(const Graph& graph, const Node& node) {
  const auto scale = graph.value(node.inputs[1]).constant.span<float>(), shift = graph.value(node.inputs[2]).constant.span<float>();
  return Affine{.data_input = 0, .axis = static_cast<int>(node.attrs.get_int("axis", 1)), .scale = {scale.begin(), scale.end()}, .shift = {shift.begin(), shift.end()}};
}

// As x * scale + shift with constants shaped for broadcasting: ONNX normalizes axis 1 only.
Status denormalize(RewriteContext& ctx) {
  Graph& graph = ctx.graph;
  const Shape& x = ctx.input(0).shape;
  const auto axis = static_cast<std::size_t>(ctx.node().attrs.get_int("axis", 1));
  Shape shape(x.size() - axis, 1);
  shape[0] = x[axis];
  const ValueId scale = graph.add_constant(ctx.input(1).name, ctx.input(1).constant.reshaped(shape));
  const ValueId shift = graph.add_constant(ctx.input(2).name, ctx.input(2).constant.reshaped(shape));
  graph.set_op(ctx.node_id, "Mul");
  ctx.attrs().erase("axis");
  graph.set_inputs(ctx.node_id, {ctx.node().inputs[0], scale});
  ctx.results[0] = NARROW_TRY(ctx.insert_after({.name = ctx.node().name + ".shift", .op = "Add", .inputs = {ctx.results[0], shift}}));
  return {};
}

}  // namespace

extern const OpDef op_batch_normalization;
constinit const OpDef op_batch_normalization{.name = "BatchNormalization",
                                             .summary = "per-channel scale and shift", .min_inputs = 3, .real_inputs = 5,
                                             .normalize = normalize,
                                             .denormalize = denormalize,
                                             .infer = infer,
                                             .run = run,
                                             .permute = permute,
                                             .affine = affine};

}  // namespace narrow
