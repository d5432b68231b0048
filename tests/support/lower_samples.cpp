#include "lower_samples.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "ops/parse_network.h"
#include "run/executor.h"

namespace narrow::test {

Graph sample_network() {
  return must(parse_network(R"(graph "sample"
in %x: f32[1,8,8,4]
%a = Conv(%x, %wa: f32[8,3,3,4] = rand(1), %ba: f32[8] = rand(2)) {strides=[1,1], pads=[1,1,1,1], dilations=[1,1], group=1, activation="Relu"} origin ["conv_a", "relu_a"]
%b = Conv(%a, %wb: f32[8,3,3,1] = rand(3), %bb: f32[8] = rand(4)) {strides=[1,1], pads=[1,1,1,1], dilations=[1,1], group=8}
%c = Add(%a, %b)
%d = Mul(%c, %k: f32[8] = rand(5, 0.5, 1.5))
%e = MaxPool(%d) {kernel_shape=[2,2], strides=[2,2], pads=[0,0,0,0]}
%s = Sigmoid(%e)
%f = Concat(%e, %s) {axis=3}
%g = Reshape(%f) {shape=[1,256]}
%y = Gemm(%g, %wy: f32[10,256] = rand(6, -0.2, 0.2), %by: f32[10] = rand(7))
%p = Softmax(%y) {axis=1}
out %p
out %c
)"));
}

const QuantParams& activation_of(const Plan& plan, std::string_view value) {
  return std::find_if(plan.activations.begin(), plan.activations.end(), [&](const ActivationPlan& a) { return a.value == value; })->params;
}
const QuantParams& constant_of(const Plan& plan, std::string_view node, int slot) {
  return std::find_if(plan.constants.begin(), plan.constants.end(), [&](const ConstantPlan& c) { return c.node == node && c.slot == slot; })->params;
}

Plan plan_from_ranges(const Graph& graph, const std::vector<Tensor>& samples, DType dtype, const std::vector<std::string>& islands) {
  std::map<std::uint32_t, std::pair<double, double>> range;
  const auto include = [&](ValueId id, const Tensor& t) {
    if (t.dtype() != DType::kF32) return;
    auto& r = range.try_emplace(id.index, 0.0, 0.0).first->second;
    for (const float v : t.span<float>()) r = {std::min<double>(r.first, v), std::max<double>(r.second, v)};
  };
  Executor executor(graph);
  for (const Tensor& sample : samples) must(executor.run(std::vector<Tensor>{sample}, include));
  for (const ValueId id : graph.live_values()) {
    if (graph.value(id).is_constant()) include(id, graph.value(id).constant);
  }
  std::vector<std::uint32_t> root(graph.value_slots());
  std::iota(root.begin(), root.end(), 0U);
  const std::function<std::uint32_t(std::uint32_t)> find = [&](std::uint32_t i) { return root[i] == i ? i : find(root[i]); };
  Plan plan;
  plan.graph_hash = graph.hash();
  plan.target = "test";
  std::map<std::uint32_t, QuantParams> fixed;
  std::vector<char> is_parameter(graph.value_slots(), 0);
  std::vector<char> needed(graph.value_slots(), 0);
  struct Derived {
    NodeId node;
    QuantRule::Derived rule;
  };
  std::vector<Derived> derived;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (std::find(islands.begin(), islands.end(), node.name) != islands.end()) {
      plan.islands.push_back({node.name, "test"});
      continue;
    }
    const QuantRule rule = op_of(node).quant_rule(graph, node);
    const auto value = [&](const Slot& s) { return (s.output ? node.outputs : node.inputs)[static_cast<std::size_t>(s.index)].index; };
    for (const auto& group : rule.same) {
      for (const Slot& s : group) root[find(value(s))] = find(value(group[0]));
    }
    for (const auto& f : rule.fixed) {
      const double steps = dtype == DType::kI16 ? 65536 : 256;
      const QuantParams zero = params_from_range(f.lo, f.hi, {.dtype = dtype});
      QuantParams p = QuantParams::per_tensor(dtype, static_cast<float>((f.hi - f.lo) / steps), static_cast<std::int32_t>(round_half_even(static_cast<double>(zero.qmin()) - f.lo * steps / (f.hi - f.lo))));
      if (dtype == DType::kI16) p = QuantParams::per_tensor(dtype, static_cast<float>(std::max(-f.lo, f.hi) / 32768), 0);
      fixed.emplace(value(f.slot), p);
    }
    for (const auto& w : rule.weights) {
      const Value& v = graph.value(node.inputs[static_cast<std::size_t>(w.input)]);
      is_parameter[node.inputs[static_cast<std::size_t>(w.input)].index] = 1;
      const std::int64_t channels = v.shape[static_cast<std::size_t>(w.channel_axis)];
      std::vector<double> bound(static_cast<std::size_t>(channels), 0);
      std::int64_t inner = 1;
      for (std::size_t i = static_cast<std::size_t>(w.channel_axis) + 1; i < v.shape.size(); ++i) inner *= v.shape[i];
      const auto data = v.constant.span<float>();
      for (std::size_t i = 0; i < data.size(); ++i) {
        double& b = bound[i / static_cast<std::size_t>(inner) % static_cast<std::size_t>(channels)];
        b = std::max<double>(b, std::abs(data[i]));
      }
      QuantParams p{.dtype = DType::kI8, .scale = {}, .zero_point = {}, .axis = w.channel_axis, .narrow_range = true};
      for (const double b : bound) p.scale.push_back(static_cast<float>(b / 127)), p.zero_point.push_back(0);
      plan.constants.push_back({node.name, w.input, p, "test"});
    }
    for (const auto& d : rule.derived) {
      if (static_cast<std::size_t>(d.input) >= node.inputs.size() || !node.inputs[static_cast<std::size_t>(d.input)]) continue;
      is_parameter[node.inputs[static_cast<std::size_t>(d.input)].index] = 1;
      derived.push_back({id, d});
    }
    for (const ValueId v : node.inputs) {
      if (v) needed[v.index] = 1;
    }
    for (const ValueId v : node.outputs) needed[v.index] = 1;
  }
  std::map<std::uint32_t, std::pair<double, double>> group_range;
  for (const auto& [id, r] : range) {
    if (is_parameter[id] != 0 || needed[id] == 0) continue;
    auto& g = group_range.try_emplace(find(id), r).first->second;
    g = {std::min(g.first, r.first), std::max(g.second, r.second)};
  }
  for (const auto& [id, r] : range) {
    if (is_parameter[id] != 0 || needed[id] == 0) continue;
    const auto g = group_range.at(find(id));
    const auto it = fixed.find(id);
    plan.activations.push_back({graph.value({id}).name, it != fixed.end() ? it->second : params_from_range(g.first, g.second, {.dtype = dtype, .symmetric = dtype == DType::kI16}), "test"});
  }
  for (const Derived& d : derived) {
    const Node& node = graph.node(d.node);
    const QuantParams& x = activation_of(plan, graph.value(node.inputs[static_cast<std::size_t>(d.rule.activation)]).name);
    QuantParams p = constant_of(plan, node.name, d.rule.weight);
    p.dtype = dtype == DType::kI16 ? DType::kI64 : DType::kI32;
    p.narrow_range = false;
    p.axis = 0;
    for (float& s : p.scale) s *= x.scale[0];
    plan.constants.push_back({node.name, d.rule.input, p, "test"});
  }
  return plan;
}

std::vector<Tensor> sample_inputs(const Graph& graph, std::mt19937_64& rng, int count) {
  std::vector<Tensor> out;
  for (int i = 0; i < count; ++i) out.push_back(random_tensor(graph.value(graph.inputs()[0]).shape, rng));
  return out;
}

}  // namespace narrow::test
