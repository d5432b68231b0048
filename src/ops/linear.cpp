#include "ops/linear.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

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
