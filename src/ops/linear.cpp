#include "ops/linear.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "kernels/conv_u8s8.h"
#include "ops/integer_inputs.h"
#include "ops/lut.h"

namespace narrow {
namespace {

class FloatLinear final : public Kernel {
 public:
  FloatLinear(std::unique_ptr<FloatKernel> kernel, bool applies_activation) : kernel_(std::move(kernel)), applies_activation_(applies_activation) {}
  void run(RunContext& ctx) override {
    const float* weights = ctx.has_input(1) ? ctx.inputs[1].data<float>() : nullptr;
    const float* bias = ctx.has_input(2) ? ctx.inputs[2].data<float>() : nullptr;
    kernel_->run(ctx.inputs[0].data<float>(), weights, bias, ctx.outputs[0].data<float>());
    if (!applies_activation_) apply_fused_activation(ctx.node, ctx.outputs[0]);
  }

 private:
  std::unique_ptr<FloatKernel> kernel_;
  bool applies_activation_;
};

class FastIntegerLinear final : public Kernel {
 public:
  explicit FastIntegerLinear(std::unique_ptr<ConvU8S8> kernel) : kernel_(std::move(kernel)) {}
  void run(RunContext& ctx) override { kernel_->run(ctx.inputs[0].data<std::uint8_t>(), ctx.outputs[0].raw()); }

 private:
  std::unique_ptr<ConvU8S8> kernel_;
};

}  // namespace

FloatActivation backend_activation(const FusedActivation& activation) {
  using Kind = FloatActivation::Kind;
  if (activation.op == nullptr) return {};
  if (activation.is_clamp()) {
    const auto [low, high] = activation.clamp();
    return {Kind::kClip, static_cast<float>(std::max<double>(low, -FLT_MAX)), static_cast<float>(std::min<double>(high, FLT_MAX))};
  }
  const std::string_view name = activation.op->name;
  if (name == "LeakyRelu") return {Kind::kLeakyRelu, static_cast<float>(activation.attrs.get_float("alpha", 0.01)), 0};
  if (name == "SiLU") return {Kind::kSilu, 0, 0};
  if (name == "Sigmoid") return {Kind::kSigmoid, 0, 0};
  if (name == "Tanh") return {Kind::kTanh, 0, 0};
  if (name == "Gelu" && activation.attrs.get_string("approximate", "none") == "none") return {Kind::kGelu, 0, 0};
  if (name == "HardSwish") return {Kind::kHardSwish, 0, 0};
  return {};
}

BackendActivation split_activation(const Node& node) {
  const FusedActivation activation = fused_activation(node);
  const FloatActivation inside = backend_activation(activation);
  return {inside, activation.op == nullptr || inside.kind != FloatActivation::Kind::kNone};
}

std::unique_ptr<Kernel> float_linear_kernel(std::unique_ptr<FloatKernel> kernel, bool applies_activation) {
  if (kernel == nullptr) return nullptr;
  return std::make_unique<FloatLinear>(std::move(kernel), applies_activation);
}

const float* constant_floats(const Graph& graph, const Node& node, std::size_t slot) {
  if (slot >= node.inputs.size() || !node.inputs[slot]) return nullptr;
  const Value& v = graph.value(node.inputs[slot]);
  return v.is_constant() ? v.constant.data<float>() : nullptr;
}

Status normalize_bias(RewriteContext& ctx, std::int64_t channels) {
  const Tensor* bias = NARROW_TRY(ctx.constant_input(2, "bias"));
  if (bias == nullptr) {
    if (ctx.node().inputs.size() > 2) ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0], ctx.node().inputs[1]});
    return {};
  }
  if (bias->elements() != channels) return error("bias has shape {}, wanted {} elements, one per output channel", to_string(bias->shape()), channels);
  if (bias->shape() != Shape{channels}) ctx.graph.set_input(ctx.node_id, 2, ctx.graph.add_constant(ctx.input(2).name, bias->reshaped({channels})));
  return {};
}

Status check_bias(const Graph& graph, const Node& node, std::int64_t channels) {
  if (node.inputs.size() <= 2 || !node.inputs[2]) return {};
  const Value& bias = graph.value(node.inputs[2]);
  if (element_count(bias.shape) != channels) return error("bias '{}' has shape {}, wanted {} elements, one per output channel", bias.name, to_string(bias.shape), channels);
  return {};
}

QuantRule linear_quant_rule(const Graph& graph, const Node& node) {
  QuantRule rule;
  if (!graph.value(node.inputs[1]).is_constant()) {
    rule.unquantized = "its weights are computed at run time";
    return rule;
  }
  rule.weights = {{.input = 1, .channel_axis = 0}};
  if (node.inputs.size() > 2 && node.inputs[2]) rule.derived = {{.input = 2, .activation = 0, .weight = 1}};
  return rule;
}

namespace {

// Largest |accumulator| of any channel as a real number.
double reachable_bound(const Tensor& weights, const Tensor& bias, const QuantParams& x, const QuantParams& w) {
  const std::int64_t channels = weights.shape()[0], size = weights.elements() / std::max<std::int64_t>(1, channels);
  const std::int64_t reach = std::max(x.qmax() - x.zero_point[0], x.zero_point[0] - x.qmin());
  const std::vector<std::int64_t> biases = bias.has_data() ? bias.to_ints() : std::vector<std::int64_t>(static_cast<std::size_t>(channels), 0);
  double bound = static_cast<double>(x.scale[0]) * static_cast<double>(w.scale[0]);  // never 0
  for (std::int64_t c = 0; c < channels; ++c) {
    std::int64_t sum = std::abs(biases[static_cast<std::size_t>(c)]);
    for (std::int64_t i = 0; i < size; ++i) sum += reach * std::abs(static_cast<int>(weights.data<std::int8_t>()[c * size + i]));
    bound = std::max(bound, static_cast<double>(sum) * static_cast<double>(x.scale[0]) * static_cast<double>(w.scale[w.per_channel() ? static_cast<std::size_t>(c) : 0]));
  }
  return bound;
}

}  // namespace

Status lower_linear(LowerContext& ctx, const char* op, std::initializer_list<const char*> keep) {
  const QuantParams &x = ctx.in(0), &w = ctx.weight_params(1), &y = ctx.out();
  const Tensor weights = ctx.weight(1), bias = ctx.has_input(2) ? ctx.bias(2) : Tensor();
  const FusedActivation activation = fused_activation(ctx.node());
  const bool table = !activation.is_clamp();
  const DType pre_dtype = x.dtype == DType::kI16 ? DType::kI16 : ctx.profile().preactivation;
  const QuantParams result = table ? preactivation_params(activation, y, pre_dtype, reachable_bound(weights, bias, x, w)) : y;

  std::vector<double> real;
  std::vector<float> single;
  for (std::int64_t c = 0; c < weights.shape()[0]; ++c) {
    const float w_scale = w.scale[w.per_channel() ? static_cast<std::size_t>(c) : 0];
    real.push_back(static_cast<double>(x.scale[0]) * static_cast<double>(w_scale) / static_cast<double>(result.scale[0]));
    single.push_back(x.scale[0] * w_scale / result.scale[0]);  // as ONNX Runtime evaluates it
  }
  const auto rescales = ctx.rescales("rescale", real, single);
  NodeSpec spec{.op = op, .inputs = {ctx.input(0), ctx.constant("weights", weights), bias.has_data() ? ctx.constant("bias", bias) : ValueId{}, rescales.multiplier, rescales.shift, rescales.scale}};
  for (const char* key : keep) {
    const auto it = ctx.node().attrs.all().find(key);
    if (it != ctx.node().attrs.all().end()) spec.attrs.set(key, it->second);
  }
  spec.attrs.set("x_zero_point", x.zero_point[0]);
  set_code_grid(spec.attrs, result);
  if (table) {
    const ValueId pre = ctx.emit("preactivation", std::move(spec), result.dtype, ctx.output_shape(), result);
    emit_activation_table(ctx, pre, result);
    return {};
  }
  const Window limits = output_window(activation, y);
  spec.attrs.set("y_min", limits.low);
  spec.attrs.set("y_max", limits.high);
  ctx.emit_output(std::move(spec));
  return {};
}

namespace {

Status check_inputs(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || !node.inputs[1]) return error("the weights are missing");
  const Shape& w = graph.value(node.inputs[1]).shape;
  if (w.empty() || w[0] < 1) return error("the weights have the shape {}, wanted an axis of output channels", to_string(w));
  NARROW_TRY(IntegerInputs(graph, node)
                 .codes(0)
                 .constant(1, {DType::kI8}, element_count(w))
                 .optional_constant(2, {DType::kI32, DType::kI64}, w[0])
                 .rescales(3, w[0])
                 .zero_point("x_zero_point", 0)
                 .grid()
                 .status());
  if (!node.inputs[2] || graph.value(node.inputs[2]).dtype != DType::kI64) return {};
  // Products of codes add up to less than 2^57 (2^33 of them, of 24 bits).
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  for (const std::int64_t bias : graph.value(node.inputs[2]).constant.span<std::int64_t>()) {
    if (bias < -kMost || bias > kMost) return error("'{}' holds the bias {}, wanted at most 2^60 in magnitude", graph.value(node.inputs[2]).name, bias);
  }
  return {};
}

}  // namespace

Result<std::vector<TensorType>> infer_integer_linear(const Graph& graph, const Node& node, Result<std::vector<TensorType>> (*infer)(const Graph& graph, const Node& node)) {
  NARROW_TRY(check_inputs(graph, node));
  auto types = NARROW_TRY(infer(graph, node));
  types[0].dtype = graph.value(node.outputs[0]).dtype;
  return types;
}

IntegerLinear::IntegerLinear(const RunContext& ctx)
    : weights(ctx.inputs[1].data<std::int8_t>()),
      rescales(read_rescales(ctx, 3)),
      x_zero_point(static_cast<std::int32_t>(ctx.node.attrs.get_int("x_zero_point"))),
      grid(read_code_grid(ctx.node)) {
  if (!ctx.has_input(2)) return;
  if (ctx.inputs[2].dtype() == DType::kI64) {
    bias64 = ctx.inputs[2].data<std::int64_t>();
  } else {
    bias32 = ctx.inputs[2].data<std::int32_t>();
  }
}

std::unique_ptr<Kernel> integer_linear_kernel(const Graph& graph, const Node& node, const ConvShape& shape) {
  if (graph.value(node.inputs[0]).dtype != DType::kU8) return nullptr;
  std::vector<Tensor> inputs;
  for (const ValueId in : node.inputs) inputs.push_back(in ? graph.value(in).constant : Tensor());
  if (!inputs[1].has_data() || !inputs[3].has_data() || (node.inputs[2] && !inputs[2].has_data())) return nullptr;
  std::vector<Tensor> outputs;
  const IntegerLinear linear(RunContext{node, inputs, outputs});
  if (linear.bias64 != nullptr) return nullptr;
  auto kernel = make_conv_u8s8({.shape = shape,
                                .weights = linear.weights,
                                .bias = linear.bias32,
                                .rescale = linear.rescales.data(),
                                .rounding = linear.grid.rounding,
                                .x_zero_point = linear.x_zero_point,
                                .y_zero_point = linear.grid.zero_point,
                                .y_min = linear.grid.low,
                                .y_max = linear.grid.high,
                                .output_i16 = graph.value(node.outputs[0]).dtype == DType::kI16});
  if (kernel == nullptr) return nullptr;
  return std::make_unique<FastIntegerLinear>(std::move(kernel));
}

Status permute_parameter(RewriteContext& ctx, std::size_t slot, const std::vector<int>& perm) {
  Graph& graph = ctx.graph;
  const ValueId id = ctx.node().inputs[slot];
  if (graph.value(id).is_constant()) {
    graph.set_input(ctx.node_id, slot, graph.add_constant(graph.value(id).name, transposed(graph.value(id).constant, perm)));
    return {};
  }
  const Node* source = graph.producer(id);
  if (source != nullptr && source->op == "DequantizeLinear" && graph.value(source->inputs[0]).is_constant()) {
    NodeSpec spec{.name = source->name, .op = source->op, .inputs = source->inputs, .attrs = source->attrs, .origin = source->origin};
    const Value& stored = graph.value(source->inputs[0]);
    const auto axis = static_cast<int>(source->attrs.get_int("axis", 1));
    spec.attrs.set("axis", static_cast<int>(std::find(perm.begin(), perm.end(), axis) - perm.begin()));
    spec.inputs[0] = graph.add_constant(stored.name, transposed(stored.constant, perm));
    graph.set_input(ctx.node_id, slot, NARROW_TRY(ctx.insert_before(std::move(spec))));
    return {};
  }
  NodeSpec spec{.name = graph.value(id).name + ".transposed", .op = "Transpose", .inputs = {id}};
  spec.attrs.set("perm", std::vector<std::int64_t>(perm.begin(), perm.end()));
  graph.set_input(ctx.node_id, slot, NARROW_TRY(ctx.insert_before(std::move(spec))));
  return {};
}

}  // namespace narrow
