// Scales, second half: union-find over tied values, and the decision per class.
#include <algorithm>

#include "plan/scales.h"

namespace narrow {

std::uint32_t Scales::root(std::uint32_t i) const {
  while (parent_[i] != i) i = parent_[i];
  return i;
}

void Scales::unite(ValueId first, ValueId second, NodeId by) {
  for (const ValueId v : {first, second}) {
    if (!tied_by_[v.index]) tied_by_[v.index] = by;
  }
  const std::uint32_t a = root(first.index), b = root(second.index);
  if (a == b) return;
  Entry &into = classes_[std::min(a, b)], &from = classes_[std::max(a, b)];
  parent_[std::max(a, b)] = std::min(a, b);
  into.range = united(into.range, from.range);
  // The recipe's word about a scale or range stands for the whole class; of two types the wider wins.
  if (!into.scale) into.scale = from.scale;
  if (!into.forced) into.forced = from.forced;
  if (!into.fixed) into.fixed = from.fixed;
  if (into.fixed && !inside(into.range, *into.fixed)) into.fixed.reset();
  if (from.dtype && (!into.dtype || size_of(from.dtype->value) > size_of(into.dtype->value))) into.dtype = from.dtype;
  into.symmetric = into.symmetric || from.symmetric;
}

void Scales::tie_group(NodeId id, const std::vector<Slot>& group, std::vector<std::string>* notes) {
  const Node& node = graph_->node(id);
  const DataSlots members = group_values(*graph_, node, group);
  std::vector<ValueId> tied = members.outputs;
  tied.insert(tied.end(), members.inputs.begin(), members.inputs.end());
  if (tied.size() < 2) return;
  Range whole = classes_[root(tied[0].index)].range;
  for (const ValueId v : tied) whole = united(whole, classes_[root(v.index)].range);
  const bool joins = std::any_of(members.inputs.begin(), members.inputs.end(), [&](ValueId v) { return root(v.index) != root(members.inputs[0].index); });
  if (joins) {
    tied = members.outputs;
    for (const ValueId v : members.inputs) {
      const Entry& e = classes_[root(v.index)];
      const double ratio = width(e.range) > 0 ? width(whole) / width(e.range) : 1;
      const bool small = ratio > options_->untie_ratio, fixed_otherwise = e.fixed && !inside(whole, *e.fixed);
      if (!small && !fixed_otherwise) {
        tied.push_back(v);
        continue;
      }
      const std::string why = small ? fmt::format("{:.1f} times smaller than", ratio) : "fixed, unlike";
      notes->push_back(fmt::format("'{}' keeps its own scale into {} '{}': its range {} is {} the joint {}; it is requantized there", graph_->value(v).name, node.op, node.name, to_string(e.range), why, to_string(whole)));
    }
  }
  // What is written must hold the untied branches too.
  for (const ValueId v : members.outputs) classes_[root(v.index)].range = united(classes_[root(v.index)].range, whole);
  for (std::size_t i = 1; i < tied.size(); ++i) unite(tied[0], tied[i], id);
}

void Scales::tie(const std::vector<NodeChoice>& choices, std::vector<std::string>* notes) {
  classes_ = own_;
  for (const NodeId id : graph_->order()) {
    if (!choices[id.index].integer) continue;
    for (const auto& group : choices[id.index].rule.same) tie_group(id, group, notes);
  }
}

std::string Scales::leader_text(std::uint32_t leader, const Entry& whole) const {
  const Entry& e = own_[leader];
  std::string text = e.source.empty() ? "union of the ranges it joins" : e.source;
  const bool united_range = !whole.scale && !whole.forced && !whole.fixed && !e.source.empty() && whole.range != e.range;
  if (united_range) text += ", united with what shares its scale";
  if (whole.dtype) text += fmt::format("; {} by {}", name_of(whole.dtype->value), place_of(whole.dtype->where));
  else if (!options_->type_by.empty()) text += fmt::format("; {} by {}", name_of(options_->default_type), options_->type_by);
  if (options_->symmetric && grid(whole).dtype != DType::kI16) text += "; symmetric by " + options_->symmetric_by;
  else if (whole.symmetric) text += "; symmetric by its operator";
  return text;
}

Result<std::vector<ActivationPlan>> Scales::decide(const std::vector<NodeChoice>& choices) const {
  // The member that stands for its class: whose wish or fixed interval it is, else the one with the widest range of its own.
  const std::vector<Participant> parts = participants(*graph_, choices);
  std::vector<std::uint32_t> leaders(own_.size(), ValueId::kNone);
  const auto rank = [&](std::uint32_t i) {
    const Entry &e = own_[i], &whole = classes_[root(i)];
    const int kind = e.scale ? 4 : e.forced ? 3 : e.fixed && whole.fixed ? 2 : e.source.empty() ? 0 : 1;
    return std::make_pair(kind, width(e.range));
  };
  for (const Participant& p : parts) {
    std::uint32_t& leader = leaders[root(p.id.index)];
    if (leader == ValueId::kNone || rank(p.id.index) > rank(leader)) leader = p.id.index;
  }
  std::vector<ActivationPlan> plans;
  for (const Participant& p : parts) {
    const std::uint32_t top = root(p.id.index), leader = leaders[top];
    ActivationPlan plan{.value = graph_->value(p.id).name, .params = NARROW_TRY(params(classes_[top], p.id)), .decided_by = {}};
    if (leader == p.id.index) {
      plan.decided_by = leader_text(leader, classes_[top]);
    } else {
      const Node& by = graph_->node(tied_by_[p.id.index]);
      plan.decided_by = fmt::format("constraint: same as '{}' ({} '{}')", graph_->value({leader}).name, by.op, by.name);
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace narrow
