// QuantizeLinear and DequantizeLinear as ONNX defines them, per tensor or along an axis: in float graphs they imitate
// the rounding of an integer network (fake quantization) and are what QDQ export writes. Scale and zero point are
// constants; the zero point's dtype is the grid (i32 without one: biases).
#include "ops/op_def.h"

namespace narrow {
namespace {

QuantParams params_of(const RunContext& ctx, DType grid) {
  const auto scale = ctx.inputs[1].span<float>();
  QuantParams p{.dtype = grid, .scale = {scale.begin(), scale.end()}, .zero_point = std::vector<std::int32_t>(scale.size(), 0)};
  if (ctx.has_input(2)) {
    const std::vector<std::int64_t> zero = ctx.inputs[2].to_ints();
    for (std::size_t i = 0; i < zero.size(); ++i) p.zero_point[i] = static_cast<std::int32_t>(zero[i]);
  }
  if (scale.size() > 1) {
    const std::int64_t axis = ctx.node.attrs.get_int("axis", 1);
    p.axis = static_cast<int>(axis < 0 ? axis + static_cast<std::int64_t>(ctx.inputs[0].shape().size()) : axis);
  }
  return p;
}

Status check(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || !node.inputs[0] || !node.inputs[1]) return error("wants x, scale and zero point");
  const Value& x = graph.value(node.inputs[0]);
  const Value& scale = graph.value(node.inputs[1]);
  if (!scale.is_constant() || scale.dtype != DType::kF32) return error("the scale is not a constant of f32");
  const std::int64_t n = scale.constant.elements();
  if (node.inputs.size() > 2 && node.inputs[2]) {
    const Value& zero = graph.value(node.inputs[2]);
    if (!zero.is_constant() || is_float(zero.dtype) || zero.constant.elements() != n) return error("wants one constant integer zero point per scale");
  }
  if (n == 1) return {};
  const int axis = NARROW_TRY(normalize_axis(node.attrs.get_int("axis", 1), x.shape.size()));
  if (x.shape[static_cast<std::size_t>(axis)] != n) return error("{} scales for axis {} of {}", n, axis, to_string(x.shape));
  return {};
}

Result<std::vector<TensorType>> infer_quantize(const Graph& graph, const Node& node) {
  NARROW_TRY(check(graph, node));
  const bool has_zero = node.inputs.size() > 2 && node.inputs[2];
  return std::vector<TensorType>{{has_zero ? graph.value(node.inputs[2]).dtype : DType::kU8, graph.value(node.inputs[0]).shape}};
}

Result<std::vector<TensorType>> infer_dequantize(const Graph& graph, const Node& node) {
  NARROW_TRY(check(graph, node));
  return std::vector<TensorType>{{DType::kF32, graph.value(node.inputs[0]).shape}};
}

void run_quantize(RunContext& ctx) {
  const Tensor y = quantize(ctx.inputs[0], params_of(ctx, ctx.outputs[0].dtype()));
  std::copy_n(static_cast<const std::byte*>(y.raw()), y.bytes(), static_cast<std::byte*>(ctx.outputs[0].raw()));
}

void run_dequantize(RunContext& ctx) {
  const Tensor y = dequantize(ctx.inputs[0], params_of(ctx, ctx.inputs[0].dtype()));
  std::copy_n(y.data<float>(), y.elements(), ctx.outputs[0].data<float>());
}

}  // namespace

extern const OpDef op_quantize_linear;
constinit const OpDef op_quantize_linear{.name = "QuantizeLinear", .summary = "real numbers onto an integer grid, as ONNX", .since_opset = 10, .onnx = false, .infer = infer_quantize, .run = run_quantize};

extern const OpDef op_dequantize_linear;
constinit const OpDef op_dequantize_linear{.name = "DequantizeLinear", .summary = "real numbers of an integer grid, as ONNX", .since_opset = 10, .onnx = false, .infer = infer_dequantize, .run = run_dequantize};

}  // namespace narrow
