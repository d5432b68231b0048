#include "plan/islands.h"

#include <algorithm>
#include <cmath>

namespace narrow {
namespace {

bool is_real(const Graph& graph, ValueId id) { return id && graph.value(id).dtype == DType::kF32; }

bool touches_reals(const Graph& graph, const Node& node) {
  const auto real = [&](ValueId id) { return is_real(graph, id); };
  return std::any_of(node.inputs.begin(), node.inputs.end(), real) || std::any_of(node.outputs.begin(), node.outputs.end(), real);
}

// The name of a constant input that no grid can hold; empty when there is none.
std::string infinite_input(const Graph& graph, const Node& node) {
  for (const ValueId in : node.inputs) {
    if (!is_real(graph, in) || !graph.value(in).is_constant()) continue;
    const auto values = graph.value(in).constant.span<float>();
    if (std::any_of(values.begin(), values.end(), [](float x) { return std::isinf(x); })) return graph.value(in).name;
  }
  return {};
}

NodeChoice choose(const Graph& graph, const Node& node, const LayerWishes& wishes, const Target& target, DType default_type) {
  if (!touches_reals(graph, node)) return {};
  const OpDef& op = op_of(node);
  if (wishes.keep_float && wishes.keep_float->value) return {.integer = false, .reason = place_of(wishes.keep_float->where) + " keeps it float", .rule = {}};
  QuantRule rule;
  if (op.quant_rule != nullptr) rule = op.quant_rule(graph, node);
  if (!rule.unquantized.empty()) return {.integer = false, .reason = rule.unquantized, .rule = {}};
  if (op.quant_rule == nullptr || op.lower == nullptr) return {.integer = false, .reason = fmt::format("{} has no integer form", op.name), .rule = {}};
  if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return is_real(graph, v); })) return {.integer = false, .reason = "its result is not a real number", .rule = {}};
  if (const std::string name = infinite_input(graph, node); !name.empty()) return {.integer = false, .reason = fmt::format("its constant '{}' holds infinities", name), .rule = {}};
  const Target::Answer answer = target.supports(node.op, wishes.activations ? wishes.activations->value : default_type);
  if (!answer.yes) return {.integer = false, .reason = fmt::format("target '{}': {}", target.name, answer.reason), .rule = {}};
  // A function that the hardware lacks is not there behind a linear layer either; a clamp is only the ends of that layer's grid.
  const FusedActivation fused = fused_activation(node);
  const auto lacks = fused.op != nullptr && !fused.is_clamp() ? target.float_only.find(fused.op->name) : target.float_only.end();
  if (lacks != target.float_only.end()) return {.integer = false, .reason = fmt::format("its activation {} is float on target '{}': {}", fused.op->name, target.name, lacks->second), .rule = {}};
  return {.integer = true, .reason = {}, .rule = std::move(rule)};
}

// Values that an integer computing node reads, directly or through movement.
std::vector<char> demanded_values(const Graph& graph, const std::vector<NodeChoice>& choices) {
  std::vector<char> demanded(graph.value_slots(), 0);
  const auto order = graph.order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node& node = graph.node(*it);
    const NodeChoice& choice = choices[it->index];
    if (!choice.integer) continue;
    const bool wanted = !choice.rule.follows_input || std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return demanded[v.index] != 0; });
    if (!wanted) continue;
    for (const ValueId in : data_slots(graph, node, choice.rule).inputs) demanded[in.index] = 1;
  }
  return demanded;
}

}  // namespace

DataSlots data_slots(const Graph& graph, const Node& node, const QuantRule& rule) {
  DataSlots slots;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const int slot = static_cast<int>(i);
    const bool other = std::any_of(rule.weights.begin(), rule.weights.end(), [&](const auto& w) { return w.input == slot; }) ||
                       std::any_of(rule.derived.begin(), rule.derived.end(), [&](const auto& d) { return d.input == slot; });
    if (!other && is_real(graph, node.inputs[i])) slots.inputs.push_back(node.inputs[i]);
  }
  for (const ValueId v : node.outputs) {
    if (is_real(graph, v)) slots.outputs.push_back(v);
  }
  return slots;
}

DataSlots group_values(const Graph& graph, const Node& node, const std::vector<Slot>& group) {
  DataSlots values;
  for (const Slot& slot : group) {
    const auto& list = slot.output ? node.outputs : node.inputs;
    const auto i = static_cast<std::size_t>(slot.index);
    if (i < list.size() && is_real(graph, list[i])) (slot.output ? values.outputs : values.inputs).push_back(list[i]);
  }
  return values;
}

std::vector<NodeChoice> choose_islands(const Graph& graph, const Wishes& wishes, const Target& target, DType default_type) {
  std::vector<NodeChoice> choices(graph.node_slots());
  for (const NodeId id : graph.order()) choices[id.index] = choose(graph, graph.node(id), wishes.nodes[id.index], target, default_type);
  follow_float(graph, &choices);
  return choices;
}

void follow_float(const Graph& graph, std::vector<NodeChoice>* choices) {
  const std::vector<char> demanded = demanded_values(graph, *choices);
  // A value arrives in integers from an integer node, or from outside when an integer computing node wants it so.
  const auto arrives_integer = [&](ValueId id) {
    const Value& v = graph.value(id);
    return v.producer ? (*choices)[v.producer.index].integer : demanded[id.index] != 0;
  };
  for (const NodeId id : graph.order()) {
    NodeChoice& choice = (*choices)[id.index];
    if (!choice.integer || !choice.rule.follows_input) continue;
    const DataSlots slots = data_slots(graph, graph.node(id), choice.rule);
    if (std::any_of(slots.inputs.begin(), slots.inputs.end(), [&](ValueId v) { return !graph.value(v).is_constant() && arrives_integer(v); })) continue;
    const auto source = std::find_if(slots.inputs.begin(), slots.inputs.end(), [&](ValueId v) { return !graph.value(v).is_constant(); });
    choice = {.integer = false, .reason = source == slots.inputs.end() ? "it moves constants only" : fmt::format("follows '{}', which is float", graph.value(*source).name), .rule = {}};
  }
}

std::vector<char> output_tail(const Graph& graph, const std::vector<NodeChoice>& choices, const Wishes& wishes) {
  const auto wanted = [](const LayerWishes& w) { return (w.keep_float && !w.keep_float->value) || w.activations || w.range || w.scale; };
  std::vector<char> tail(graph.node_slots(), 0);
  const auto order = graph.order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!choices[it->index].integer || !choices[it->index].rule.follows_input) continue;
    bool inside = !wanted(wishes.nodes[it->index]);
    for (const ValueId v : graph.node(*it).outputs) {
      const Value& value = graph.value(v);
      inside = inside && std::all_of(value.users.begin(), value.users.end(), [&](NodeId user) { return tail[user.index] != 0; });
      inside = inside && (graph.is_output(v) || !value.users.empty());
    }
    tail[it->index] = inside ? 1 : 0;
  }
  return tail;
}

}  // namespace narrow
