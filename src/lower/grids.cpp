#include "lower/grids.h"

#include <algorithm>

#include "base/hash.h"

namespace narrow {

Result<Grids> Grids::make(const Graph& graph, const Plan& plan) {
  if (plan.graph_hash != graph.hash()) {
    return error("the plan was made for graph {}, this graph is {}", hash_to_string(plan.graph_hash), hash_to_string(graph.hash())).with_help("make the plan again, or use the model it was made for");
  }
  Grids out(graph);
  for (const ActivationPlan& a : plan.activations) {
    const ValueId id = graph.find_value(a.value);
    if (!id) return error("the plan names the value '{}', which the graph does not have", a.value);
    out.planned_[id.index] = &a.params;
  }
  for (const ConstantPlan& c : plan.constants) {
    const NodeId id = graph.find_node(c.node);
    if (!id) return error("the plan names the node '{}', which the graph does not have", c.node);
    out.nodes_[id.index].constants.emplace_back(c.slot, &c.params);
  }
  for (const IslandPlan& i : plan.islands) {
    const NodeId id = graph.find_node(i.node);
    if (!id) return error("the plan names the node '{}', which the graph does not have", i.node);
    out.nodes_[id.index].island = true;
  }
  std::vector<std::string> missing;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const OpDef& op = op_of(node);
    NodeInfo& info = out.nodes_[id.index];
    if (op.quant_rule == nullptr || op.lower == nullptr || info.island) continue;
    info.rule = op.quant_rule(graph, node);
    if (!info.rule.unquantized.empty()) continue;
    bool any_real = false, all_planned = true;
    for (const ValueId v : node.outputs) {
      if (graph.value(v).dtype != DType::kF32) continue;
      any_real = true;
      all_planned = all_planned && out.planned_[v.index] != nullptr;
    }
    if (!any_real || (info.rule.follows_input && !all_planned)) continue;  // moves real numbers or indices
    info.integer = true;
    for (const ValueId v : node.outputs) {
      if (graph.value(v).dtype == DType::kF32 && out.planned_[v.index] == nullptr) missing.push_back(fmt::format("output '{}' of node '{}'", graph.value(v).name, node.name));
    }
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
      const Role role = out.role(id, slot);
      const bool found = role == Role::kActivation ? out.find_wanted(id, slot) != nullptr
                         : role == Role::kWeight || role == Role::kBias ? out.find_constant(id, slot) != nullptr
                                                                                   : true;
      if (!found) missing.push_back(fmt::format("input {} ('{}') of node '{}'", slot, graph.value(node.inputs[slot]).name, node.name));
    }
  }
  if (!missing.empty()) return error("the plan lacks {} scales", missing.size()).with_notes(std::move(missing)).with_help("make the plan again, or add the lines");
  return out;
}

const QuantParams* Grids::carried(ValueId id) const {
  const Value& v = graph_->value(id);
  if (v.dtype != DType::kF32 || v.is_constant()) return nullptr;
  if (v.producer && !integer(v.producer)) return nullptr;
  return planned_[id.index];
}

Grids::Role Grids::role(NodeId id, std::size_t slot) const {
  const Node& node = graph_->node(id);
  if (slot >= node.inputs.size() || !node.inputs[slot]) return Role::kAbsent;
  const QuantRule& r = rule(id);
  const int index = static_cast<int>(slot);
  if (graph_->value(node.inputs[slot]).dtype != DType::kF32) return Role::kOther;
  if (std::any_of(r.weights.begin(), r.weights.end(), [&](const auto& w) { return w.input == index; })) return Role::kWeight;
  if (std::any_of(r.derived.begin(), r.derived.end(), [&](const auto& d) { return d.input == index; })) return Role::kBias;
  return Role::kActivation;
}

const QuantParams* Grids::find_wanted(NodeId id, std::size_t slot) const {
  const Node& node = graph_->node(id);
  const Slot me = input_slot(static_cast<int>(slot));
  const auto& groups = rule(id).same;
  const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return std::find(g.begin(), g.end(), me) != g.end(); });
  if (group != groups.end()) {
    // An output decides for the group; without one, its first input does.
    for (const bool output : {true, false}) {
      for (const Slot& s : *group) {
        if (s.output != output) continue;
        const auto& values = output ? node.outputs : node.inputs;
        const auto index = static_cast<std::size_t>(s.index);
        if (index < values.size() && values[index] && planned_[values[index].index] != nullptr) return planned_[values[index].index];
      }
    }
  }
  return planned_[node.inputs[slot].index];
}

const QuantParams& Grids::wanted(NodeId node, std::size_t slot) const { return *find_wanted(node, slot); }

const QuantParams* Grids::find_constant(NodeId node, std::size_t slot) const {
  for (const auto& [planned_slot, params] : nodes_[node.index].constants) {
    if (planned_slot == static_cast<int>(slot)) return params;
  }
  return nullptr;
}

const QuantParams& Grids::constant(NodeId node, std::size_t slot) const { return *find_constant(node, slot); }

}  // namespace narrow
