// Scales, second half: union-find over tied values, and the decision per class.
#include <algorithm>
#include <set>
#include <tuple>

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
  // The recipe's word about a scale, range or type stands for the whole class; of two words the later.
  if (from.grid_entry() > into.grid_entry()) {
    into.scale = from.scale;
    into.forced = from.forced;
  }
  if (!into.fixed) into.fixed = from.fixed;
  if (into.fixed && !inside(into.range, *into.fixed)) into.fixed.reset();
  if (from.type_entry() > into.type_entry()) into.dtype = from.dtype;
}

// Of a join that chooses (Min, Max): what an input holds far beyond the output's own range is never chosen, so it may be cut off there.
bool Scales::overflows(const Node& node, ValueId input, ValueId output, std::vector<std::string>* notes) const {
  const Range in = classes_[root(input.index)].range, out = own_range(output);
  if (!(width(out) > 0) || width(united(in, out)) <= options_->untie_ratio * width(out)) return false;
  notes->push_back(fmt::format("'{}' keeps its own scale into {} '{}': its range {} is {:.1f} times larger than that of the result, {}; it is requantized there", graph_->value(input).name, node.op, node.name, to_string(in), width(united(in, out)) / width(out), to_string(out)));
  return true;
}

void Scales::tie_group(NodeId id, const std::vector<Slot>& group, std::vector<std::string>* notes) {
  const Node& node = graph_->node(id);
  const DataSlots members = group_values(*graph_, node, group);
  std::vector<ValueId> tied = members.outputs;
  tied.insert(tied.end(), members.inputs.begin(), members.inputs.end());
  if (tied.size() < 2) return;
  const bool joins = std::any_of(members.inputs.begin(), members.inputs.end(), [&](ValueId v) { return root(v.index) != root(members.inputs[0].index); });
  std::vector<ValueId> joined = members.inputs;
  if (joins && !members.outputs.empty()) std::erase_if(joined, [&](ValueId v) { return overflows(node, v, members.outputs[0], notes); });
  tied = members.outputs;
  tied.insert(tied.end(), joined.begin(), joined.end());
  Range whole = classes_[root(tied[0].index)].range;
  for (const ValueId v : tied) whole = united(whole, classes_[root(v.index)].range);
  if (joins) {
    tied = members.outputs;
    for (const ValueId v : joined) {
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
  return text;
}

// By root: the member that stands for its class, that is whose wish or fixed interval it is, else the one with the widest range
// of its own.
std::vector<std::uint32_t> Scales::leaders(const std::vector<Participant>& parts) const {
  std::vector<std::uint32_t> leaders(own_.size(), ValueId::kNone);
  const auto rank = [&](std::uint32_t i) {
    const Entry &e = own_[i], &whole = classes_[root(i)];
    const bool wished = e.grid_entry() >= 0 && e.grid_entry() == whole.grid_entry();
    const int kind = wished ? 3 : e.fixed && whole.fixed ? 2 : e.source.empty() ? 0 : 1;
    return std::make_pair(kind, width(e.range));
  };
  for (const Participant& p : parts) {
    std::uint32_t& leader = leaders[root(p.id.index)];
    if (leader == ValueId::kNone || rank(p.id.index) > rank(leader)) leader = p.id.index;
  }
  return leaders;
}

Result<std::vector<ActivationPlan>> Scales::decide(const std::vector<NodeChoice>& choices) const {
  const std::vector<Participant> parts = participants(*graph_, choices);
  const std::vector<std::uint32_t> by_root = leaders(parts);
  std::vector<ActivationPlan> plans;
  for (const Participant& p : parts) {
    const std::uint32_t top = root(p.id.index), leader = by_root[top];
    ActivationPlan plan{.value = graph_->value(p.id).name, .params = NARROW_TRY(params(classes_[top], p.id)), .decided_by = {}};
    if (leader == p.id.index) {
      plan.decided_by = leader_text(leader, classes_[top]);
    } else {
      const Node& by = graph_->node(tied_by_[p.id.index]);
      plan.same_as = graph_->value({leader}).name;
      plan.decided_by = fmt::format("constraint: same as '{}' ({} '{}')", plan.same_as, by.op, by.name);
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

void Scales::tell_overruled(const std::vector<NodeChoice>& choices, Diagnostics& diagnostics) const {
  const std::vector<Participant> parts = participants(*graph_, choices);
  std::set<std::tuple<std::string, std::uint32_t, int>> told;  // an entry that names many values of one class is told once
  const auto tell = [&](ValueId id, const std::string& what, const SourceSpan& lost, const SourceSpan& won, int (Entry::*entry)() const) {
    const std::uint32_t top = root(id.index);
    const Entry &own = own_[id.index], &whole = classes_[top];
    if (!told.insert({what, top, (own.*entry)()}).second) return;
    const auto winner = std::find_if(parts.begin(), parts.end(), [&](const Participant& p) { return root(p.id.index) == top && (own_[p.id.index].*entry)() == (whole.*entry)(); });
    diagnostics.warn(fmt::format("the {} of '{}' ({}) gives way to that of '{}' ({}): the two share one grid, and later entries win", what, graph_->value(id).name, place_of(lost), graph_->value(winner->id).name, place_of(won)),
                     "give both the same, or leave one of them out", lost);
  };
  for (const Participant& p : parts) {
    const Entry &own = own_[p.id.index], &whole = classes_[root(p.id.index)];
    const bool same_grid = own.scale && whole.scale ? own.scale->value == whole.scale->value : own.forced && whole.forced && own.forced->value == whole.forced->value;
    if (own.grid_entry() >= 0 && !same_grid) tell(p.id, own.scale ? "scale" : "range", own.grid_where(), whole.grid_where(), &Entry::grid_entry);
    if (own.dtype && own.dtype->value != whole.dtype->value) tell(p.id, "type", own.dtype->where, whole.dtype->where, &Entry::type_entry);
  }
}

}  // namespace narrow
