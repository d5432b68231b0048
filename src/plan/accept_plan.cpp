// A plan comes back, perhaps edited by hand: what follows from other lines is made again, so that one edit is enough.
#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "ops/op_def.h"
#include "plan/plan.h"
#include "plan/weights.h"
#include "target/target.h"

namespace narrow {
namespace {

// A weight of a node that computes in integers, and what it meets. Nothing when the entry is none, or when something that it needs is missing:
// verify() names that.
struct PlannedWeight {
  const Node* node = nullptr;
  QuantRule rule = {};
  QuantRule::Weight weight = {};
  const QuantParams* activation = nullptr;
};

PlannedWeight weight_of(const Graph& graph, const Plan& plan, const std::unordered_map<std::string_view, const QuantParams*>& activations, const ConstantPlan& entry) {
  PlannedWeight found;
  const NodeId id = graph.find_node(entry.node);
  if (!id || op_of(graph.node(id)).quant_rule == nullptr || plan.island(entry.node) != nullptr) return found;
  const Node& node = graph.node(id);
  found.rule = op_of(node).quant_rule(graph, node);
  const auto weight = std::find_if(found.rule.weights.begin(), found.rule.weights.end(), [&](const QuantRule::Weight& w) { return w.input == entry.slot; });
  if (weight == found.rule.weights.end()) return found;
  const auto x = activations.find(graph.value(activation_of(node, found.rule, *weight)).name);
  if (x == activations.end()) return found;
  found.node = &node;
  found.weight = *weight;
  found.activation = x->second;
  return found;
}

std::unordered_map<std::string_view, const QuantParams*> grids_of(const std::vector<ActivationPlan>& activations) {
  std::unordered_map<std::string_view, const QuantParams*> grids;
  for (const ActivationPlan& a : activations) grids.emplace(a.value, &a.params);
  return grids;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  if (names.size() <= kShown) return join(names, ", ");
  return join({names.begin(), names.begin() + kShown}, ", ") + fmt::format(" and {} more", names.size() - kShown);
}

// Makes the entries of biases what follows from those of activations and weights, whatever they were; missing ones are added. Returns the
// layers whose entry was another, in quotes.
std::vector<std::string> derive_biases(Plan& plan, const Graph& graph) {
  const auto grids = grids_of(plan.activations);
  std::vector<std::string> changed;
  for (std::size_t i = 0; i < plan.constants.size(); ++i) {
    const PlannedWeight w = weight_of(graph, plan, grids, plan.constants[i]);
    const QuantRule::Derived* rule = w.node != nullptr ? bias_rule(*w.node, w.rule, w.weight) : nullptr;
    if (rule == nullptr) continue;
    ConstantPlan bias = bias_plan(graph, *w.node, *rule, *w.activation, plan.constants[i].params);
    const auto old = std::find_if(plan.constants.begin(), plan.constants.end(), [&](const ConstantPlan& c) { return c.slot == bias.slot && c.node == bias.node; });
    if (old != plan.constants.end() && old->params == bias.params) continue;
    changed.push_back("'" + bias.node + "'");
    if (old != plan.constants.end()) *old = std::move(bias);
    else plan.constants.insert(plan.constants.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(bias));
  }
  return changed;
}

// Weights that were scaled for another activation may let a bias or an accumulator overflow. The plan has been verified.
std::vector<std::string> fit_weights(Plan& plan, const Graph& graph, const Target& target) {
  WeightOptions options;
  options.accumulator_bits = target.accumulator_bits;
  options.bias_bits = target.bias_bits;
  const auto grids = grids_of(plan.activations);
  std::vector<std::string> notes;
  for (ConstantPlan& entry : plan.constants) {
    const PlannedWeight w = weight_of(graph, plan, grids, entry);
    if (w.node == nullptr) continue;
    if (std::string note = fit_weight(graph, *w.node, w.rule, w.weight, *w.activation, options, &entry); !note.empty()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace

Result<Target> target_of(const Plan& plan) {
  Result<Target> target = load_target(plan.target);
  if (!target) return tl::unexpected(std::move(target).error().in("the plan's target"));
  return target;
}

Status accept_plan(Plan& plan, const Graph& graph, const Target& target, Diagnostics& diagnostics) {
  const std::vector<std::string> changed = derive_biases(plan, graph);
  std::vector<std::string> idle;
  NARROW_TRY(plan.verify(graph, target, &idle));
  const std::vector<std::string> widened = fit_weights(plan, graph, target);
  derive_biases(plan, graph);  // of the weights as they are now
  for (const std::string& note : widened) diagnostics.note(note);
  if (!idle.empty()) diagnostics.warn(fmt::format("the plan has entries of no consequence: {}", listed(idle)), "a layer computes in integers when it is no island, and what it reads and makes is planned");
  if (!changed.empty()) diagnostics.note(fmt::format("the bias scale of {} layer{} in the plan was made again from those of activation and weight: {}", changed.size(), changed.size() == 1 ? "" : "s", listed(changed)));
  return {};
}

}  // namespace narrow
