// A plan comes back, perhaps edited by hand: what follows from other lines is made again, so that one edit is enough.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "ops/op_def.h"
#include "plan/plan.h"
#include "plan/weights.h"

namespace narrow {
namespace {

// The rule of the bias that follows from the weight of this entry, if there is one.
std::optional<QuantRule::Derived> bias_of(const Graph& graph, const Plan& plan, const ConstantPlan& weight) {
  const NodeId id = graph.find_node(weight.node);
  if (!id || op_of(graph.node(id)).quant_rule == nullptr || plan.island(weight.node) != nullptr) return std::nullopt;
  const Node& node = graph.node(id);
  for (const QuantRule::Derived& d : op_of(node).quant_rule(graph, node).derived) {
    const auto slot = static_cast<std::size_t>(d.input);
    if (d.weight == weight.slot && slot < node.inputs.size() && node.inputs[slot]) return d;
  }
  return std::nullopt;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  if (names.size() <= kShown) return join(names, ", ");
  return join({names.begin(), names.begin() + kShown}, ", ") + fmt::format(" and {} more", names.size() - kShown);
}

}  // namespace

std::vector<std::string> Plan::derive_biases(const Graph& graph) {
  std::unordered_map<std::string_view, const QuantParams*> planned;
  for (const ActivationPlan& a : activations) planned.emplace(a.value, &a.params);
  std::vector<std::string> changed;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const auto rule = bias_of(graph, *this, constants[i]);
    if (!rule) continue;
    const Node& node = graph.node(graph.find_node(constants[i].node));
    const auto x = planned.find(graph.value(node.inputs[static_cast<std::size_t>(rule->activation)]).name);
    if (x == planned.end()) continue;  // verify() names what is missing
    ConstantPlan bias = bias_plan(graph, node, *rule, *x->second, constants[i].params);
    const auto old = std::find_if(constants.begin(), constants.end(), [&](const ConstantPlan& c) { return c.slot == bias.slot && c.node == bias.node; });
    if (old != constants.end() && old->params == bias.params) continue;
    changed.push_back("'" + bias.node + "'");
    if (old != constants.end()) *old = std::move(bias);
    else constants.insert(constants.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(bias));
  }
  return changed;
}

Result<Target> target_of(const Plan& plan) {
  Result<Target> target = load_target(plan.target);
  if (!target) return tl::unexpected(std::move(target).error().in("the plan's target"));
  return target;
}

Status accept_plan(Plan& plan, const Graph& graph, const Target& target, Diagnostics& diagnostics) {
  const std::vector<std::string> changed = plan.derive_biases(graph);
  std::vector<std::string> idle;
  NARROW_TRY(plan.verify(graph, target, &idle));
  if (!idle.empty()) diagnostics.warn(fmt::format("the plan has entries of no consequence: {}", listed(idle)), "a layer computes in integers when it is no island, and what it reads and makes is planned");
  if (!changed.empty()) diagnostics.note(fmt::format("the bias scale of {} layer{} in the plan was made again from those of activation and weight: {}", changed.size(), changed.size() == 1 ? "" : "s", listed(changed)));
  return {};
}

}  // namespace narrow
