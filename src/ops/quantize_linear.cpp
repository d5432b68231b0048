// QuantizeLinear and DequantizeLinear with ONNX's meaning, per tensor or along `axis`: how quantization is written into a
// float graph. Inputs x, scale, zero point (constants; an absent zero point is 0, u8 for QuantizeLinear).
#include "ops/quantize_linear.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/movement.h"

namespace narrow {
namespace {

bool per_axis(const Graph& graph, const Node& node) { return graph.value(node.inputs[1]).shape.size() == 1 && graph.value(node.inputs[1]).shape[0] != 1; }

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 2));
  if (NARROW_TRY(ctx.constant_input(1, "scale"))->dtype() != DType::kF32) return error("the scale is {}, wanted f32", name_of(ctx.input(1).dtype));
  NARROW_TRY(ctx.constant_input(2, "zero point"));
  if (ctx.node().attrs.get_int("block_size") != 0) return error("blocked quantization (block_size {}) is not supported", ctx.node().attrs.get_int("block_size"));
  const std::int64_t axis = ctx.node().attrs.get_int("axis", 1);
  ctx.attrs() = {};
  // A list of one number is per tensor as well.
  for (std::size_t slot = 1; slot < ctx.node().inputs.size(); ++slot) {
    if (!ctx.has_input(slot) || ctx.input(slot).shape.empty() || ctx.input(slot).constant.elements() != 1) continue;
    const Tensor number = ctx.input(slot).constant.reshaped({});
    ctx.graph.set_input(ctx.node_id, slot, ctx.graph.add_constant(ctx.input(slot).name, number));
  }
  if (per_axis(ctx.graph, ctx.node())) ctx.attrs().set("axis", NARROW_TRY(normalize_axis(axis, ctx.input(0).shape.size())));
  return {};
}

Status check(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 2));
  const Value &x = graph.value(node.inputs[0]), &scale = graph.value(node.inputs[1]);
  if (scale.dtype != DType::kF32) return error("the scale is {}, wanted f32", name_of(scale.dtype));
  const std::int64_t count = element_count(scale.shape);
  if (per_axis(graph, node)) {
    const auto axis = static_cast<std::size_t>(NARROW_TRY(normalize_axis(node.attrs.get_int("axis", 1), x.shape.size())));
    if (node.attrs.get_int("axis", 1) < 0) return error("axis {} counts from the end", node.attrs.get_int("axis", 1));
    if (x.shape[axis] != count) return error("{} scales for axis {} of shape {}", count, axis, to_string(x.shape));
  } else if (count != 1) {
    return error("the scale has shape {}, wanted a number or a list", to_string(scale.shape));
  }
  if (node.inputs.size() > 2 && node.inputs[2] && element_count(graph.value(node.inputs[2]).shape) != count) return error("{} zero points for {} scales", element_count(graph.value(node.inputs[2]).shape), count);
  if (scale.is_constant()) {
    for (const float s : scale.constant.span<float>()) {
      if (!(s > 0)) return error("the scale is {}, wanted a positive number", s);
    }
  }
  return {};
}

DType stored_type(const Graph& graph, const Node& node) { return node.inputs.size() > 2 && node.inputs[2] ? graph.value(node.inputs[2]).dtype : DType::kU8; }

Result<std::vector<TensorType>> infer_quantize(const Graph& graph, const Node& node) {
  NARROW_TRY(check(graph, node));
  if (graph.value(node.inputs[0]).dtype != DType::kF32) return error("the input is {}, wanted f32", name_of(graph.value(node.inputs[0]).dtype));
  const DType to = stored_type(graph, node);
  if (is_float(to) || to == DType::kBool || to == DType::kI64) return error("the zero point is {}, wanted an integer of 8, 16 or 32 bits", name_of(to));
  return std::vector<TensorType>{{to, graph.value(node.inputs[0]).shape}};
}

Result<std::vector<TensorType>> infer_dequantize(const Graph& graph, const Node& node) {
  NARROW_TRY(check(graph, node));
  const Value& x = graph.value(node.inputs[0]);
  if (is_float(x.dtype) || x.dtype == DType::kBool) return error("the input is {}, wanted an integer", name_of(x.dtype));
  if (const DType zero = node.inputs.size() > 2 && node.inputs[2] ? graph.value(node.inputs[2]).dtype : x.dtype; zero != x.dtype) return error("the input is {}, the zero point {}", name_of(x.dtype), name_of(zero));
  return std::vector<TensorType>{{DType::kF32, x.shape}};
}

QuantParams read_params(const RunContext& ctx, DType dtype) {
  QuantParams p;
  p.dtype = dtype;
  const auto scales = ctx.inputs[1].span<float>();
  p.scale.assign(scales.begin(), scales.end());
  p.zero_point.assign(p.scale.size(), 0);
  if (ctx.has_input(2)) {
    const std::vector<std::int64_t> zeros = ctx.inputs[2].to_ints();
    for (std::size_t i = 0; i < zeros.size(); ++i) p.zero_point[i] = static_cast<std::int32_t>(zeros[i]);
  }
  p.axis = p.scale.size() > 1 ? static_cast<int>(ctx.node.attrs.get_int("axis", 1)) : -1;
  return p;
}

// Per tensor: pieces of x in parallel. Per axis: at once (weights).
template <typename Fn>
void in_pieces(RunContext& ctx, const QuantParams& p, const Fn& fn) {
  const Tensor& x = ctx.inputs[0];
  Tensor& y = ctx.outputs[0];
  constexpr std::int64_t kChunk = 32768;
  const std::int64_t n = x.elements(), step = p.per_channel() ? n : kChunk;
  if (n == 0) return;
  parallel_for((n + step - 1) / step, [&](std::int64_t c) {
    const std::int64_t begin = c * step, count = std::min(step, n - begin);
    const Shape shape = p.per_channel() ? x.shape() : Shape{count};
    auto* from = static_cast<std::byte*>(const_cast<void*>(x.raw())) + static_cast<std::size_t>(begin) * size_of(x.dtype());
    const Tensor made = fn(Tensor::view(x.dtype(), shape, from));
    std::copy_n(static_cast<const std::byte*>(made.raw()), made.bytes(), static_cast<std::byte*>(y.raw()) + static_cast<std::size_t>(begin) * size_of(y.dtype()));
  });
}

void run_quantize(RunContext& ctx) {
  const QuantParams p = read_params(ctx, ctx.outputs[0].dtype());
  in_pieces(ctx, p, [&](const Tensor& x) { return quantize(x, p); });
}

void run_dequantize(RunContext& ctx) {
  const QuantParams p = read_params(ctx, ctx.inputs[0].dtype());
  in_pieces(ctx, p, [&](const Tensor& x) { return dequantize(x, p); });
}

bool permute(Graph& graph, NodeId id, const std::vector<int>& perm) {
  const Node& node = graph.node(id);
  if (graph.value(node.inputs[0]).is_constant() || graph.value(node.outputs[0]).shape.size() != perm.size()) return false;
  if (per_axis(graph, node)) graph.attrs(id).set("axis", perm[static_cast<std::size_t>(node.attrs.get_int("axis", 1))]);
  return true;
}

ValueId add_scale(Graph& graph, const std::string& name, const QuantParams& p) {
  return graph.add_constant(name + ".scale", p.per_channel() ? Tensor::of<float>({static_cast<std::int64_t>(p.scale.size())}, p.scale) : Tensor::scalar<float>(p.scale[0]));
}

ValueId add_zero_point(Graph& graph, const std::string& name, const QuantParams& p) {
  const Shape shape = p.per_channel() ? Shape{static_cast<std::int64_t>(p.scale.size())} : Shape{};
  return graph.add_constant(name + ".zero_point", Tensor::of<std::int32_t>(shape, p.zero_point).cast(p.dtype));
}

QuantRule rule(const Graph&, const Node&) { return {.unquantized = "it carries the quantization of the model that was read"}; }

}  // namespace

NodeSpec quantize_linear(Graph& graph, const std::string& name, ValueId real, const QuantParams& params) {
  NodeSpec spec{.name = name, .op = "QuantizeLinear", .inputs = {real, add_scale(graph, name, params), add_zero_point(graph, name, params)}};
  if (params.per_channel()) spec.attrs.set("axis", params.axis);
  spec.output_types = {{params.dtype, graph.value(real).shape}};
  return spec;
}

NodeSpec dequantize_linear(Graph& graph, const std::string& name, ValueId codes, const QuantParams& params) {
  NodeSpec spec{.name = name, .op = "DequantizeLinear", .inputs = {codes, add_scale(graph, name, params)}};
  if (size_of(params.dtype) <= 2) spec.inputs.push_back(add_zero_point(graph, name, params));
  if (params.per_channel()) spec.attrs.set("axis", params.axis);
  spec.output_types = {{DType::kF32, graph.value(codes).shape}};
  return spec;
}

extern const OpDef op_quantize_linear;
constinit const OpDef op_quantize_linear{.name = "QuantizeLinear", .summary = "real numbers onto an integer grid (ONNX)", .min_inputs = 2, .since_opset = 10, .normalize = normalize, .infer = infer_quantize, .run = run_quantize, .permute = permute, .quant_rule = rule};

extern const OpDef op_dequantize_linear;
constinit const OpDef op_dequantize_linear{.name = "DequantizeLinear", .summary = "real numbers of an integer grid (ONNX)", .min_inputs = 2, .since_opset = 10, .normalize = normalize, .infer = infer_dequantize, .run = run_dequantize, .permute = permute, .quant_rule = rule};

}  // namespace narrow
