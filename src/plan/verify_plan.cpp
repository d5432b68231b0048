// Does a plan (perhaps edited by hand) fit its graph and target, and keep the operators' rules? All findings are listed.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "plan/islands.h"
#include "plan/plan.h"

namespace narrow {
namespace {

class Verifier {
 public:
  Verifier(const Plan& plan, const Graph& graph, const Target& target) : plan_(plan), graph_(graph), target_(target), params_(graph.value_slots(), nullptr), used_(graph.value_slots(), 0) {}

  Status run() {
    names();
    for (const NodeId id : graph_.order()) node(graph_.node(id));
    torn_ties();
    if (findings_.empty()) return {};
    const std::string first = findings_.front();
    findings_.erase(findings_.begin());
    const char* help = torn_ ? "edit these lines together; `activation \"b\" as \"a\" by ...` gives b what a has" : "make the plan again, or correct these lines";
    return error("the plan does not fit: {}", first).with_notes(std::move(findings_)).with_help(help);
  }

  // Entries that are of no consequence. What is planned for an island's own constants is left for the day when it is none.
  std::vector<std::string> idle() const {
    std::vector<std::string> entries;
    for (const ActivationPlan& a : plan_.activations) {
      if (used_[graph_.find_value(a.value).index] == 0) entries.push_back(fmt::format("activation '{}'", a.value));
    }
    for (const ConstantPlan& c : plan_.constants) {
      if (plan_.island(c.node) == nullptr && !used_slots_.contains({c.node, c.slot})) entries.push_back(fmt::format("constant '{}' {}", c.node, c.slot));
    }
    return entries;
  }

 private:
  template <typename... Args>
  void found(fmt::format_string<Args...> format, Args&&... args) { findings_.push_back(fmt::format(format, std::forward<Args>(args)...)); }

  void names() {
    std::set<std::string> seen;
    for (const ActivationPlan& a : plan_.activations) {
      const ValueId id = graph_.find_value(a.value);
      if (!id) {
        found("there is no value '{}'", a.value);
        continue;
      }
      if (!seen.insert(a.value).second) found("'{}' is planned twice", a.value);
      params_[id.index] = &a.params;
      if (!a.same_as.empty()) continue;  // what is wrong with it is said of the other
      const QuantParams& p = a.params;
      if (std::find(target_.activations.begin(), target_.activations.end(), p.dtype) == target_.activations.end()) found("'{}' is {}, which target '{}' does not have", a.value, name_of(p.dtype), target_.name);
      if (p.per_channel()) found("activation '{}' has a scale per channel", a.value);
      if (p.bits != 0 || p.narrow_range) found("activation '{}' uses part of its type only", a.value);
      if (p.dtype == DType::kI16 && p.zero_point[0] != 0) found("i16 activation '{}' has zero point {}, wanted 0", a.value, p.zero_point[0]);
    }
    std::set<std::pair<std::string, int>> slots;
    for (const ConstantPlan& c : plan_.constants) {
      if (!graph_.find_node(c.node)) found("there is no layer '{}'", c.node);
      if (!slots.insert({c.node, c.slot}).second) found("input {} of '{}' is planned twice", c.slot, c.node);
    }
    for (const IslandPlan& i : plan_.islands) {
      if (!graph_.find_node(i.node)) found("there is no layer '{}'", i.node);
    }
  }

  void node(const Node& node) {
    const OpDef& op = op_of(node);
    if (op.quant_rule == nullptr || op.lower == nullptr || plan_.island(node.name) != nullptr) return;
    const QuantRule rule = op.quant_rule(graph_, node);
    if (!rule.unquantized.empty()) return;
    const DataSlots slots = data_slots(graph_, node, rule);
    if (slots.outputs.empty()) return;
    const bool any = std::any_of(slots.outputs.begin(), slots.outputs.end(), [&](ValueId v) { return params_[v.index] != nullptr; });
    if (rule.follows_input && !any) return;  // moves real numbers
    bool complete = true;
    for (const auto* list : {&slots.inputs, &slots.outputs}) {
      for (const ValueId v : *list) {
        used_[v.index] = 1;
        if (params_[v.index] != nullptr) continue;
        found("'{}' of layer '{}' ({}) has no scale", graph_.value(v).name, node.name, node.op);
        complete = false;
      }
    }
    if (complete) ties(node, rule);
    for (const QuantRule::Weight& w : rule.weights) weight(node, w);
    for (const QuantRule::Derived& d : rule.derived) bias(node, d);
  }

  // Movement from one value to one other cannot rescale; where several join, lowering requantizes.
  void ties(const Node& node, const QuantRule& rule) {
    for (const auto& group : rule.same) {
      const DataSlots members = group_values(graph_, node, group);
      if (members.inputs.size() != 1) continue;
      for (const ValueId out : members.outputs) {
        ties_.push_back({&node, members.inputs[0], out});
      }
    }
  }

  // One finding per class of values that share a scale: all of its lines must be edited together.
  void torn_ties() {
    std::vector<std::uint32_t> parent(graph_.value_slots());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto root = [&](ValueId v) {
      std::uint32_t i = v.index;
      while (parent[i] != i) i = parent[i];
      return i;
    };
    for (const Tie& t : ties_) parent[std::max(root(t.in), root(t.out))] = std::min(root(t.in), root(t.out));
    std::set<std::uint32_t> told;
    for (const Tie& t : ties_) {
      const QuantParams &a = *params_[t.in.index], &b = *params_[t.out.index];
      if (a == b || !told.insert(root(t.in)).second) continue;
      torn_ = true;
      std::vector<std::string> others;
      for (const ActivationPlan& p : plan_.activations) {
        const ValueId id = graph_.find_value(p.value);
        if (id && id != t.in && id != t.out && root(id) == root(t.in)) others.push_back("'" + p.value + "'");
      }
      found("{} '{}' needs one scale, but '{}' is {} and '{}' is {}{}", t.node->op, t.node->name, graph_.value(t.in).name, a.to_string(), graph_.value(t.out).name, b.to_string(), others.empty() ? "" : "; it is also that of " + join(others, ", "));
    }
  }

  void weight(const Node& node, const QuantRule::Weight& rule) {
    used_slots_.insert({node.name, rule.input});
    const ConstantPlan* c = plan_.constant(node.name, rule.input);
    if (c == nullptr) return found("input {} (weight) of '{}' has no scale", rule.input, node.name);
    const QuantParams& p = c->params;
    if (p.dtype != DType::kI8) found("the weight of '{}' is {}, wanted i8", node.name, name_of(p.dtype));
    if (std::any_of(p.zero_point.begin(), p.zero_point.end(), [](std::int32_t z) { return z != 0; })) found("the weight of '{}' has a zero point", node.name);
    if (!p.per_channel()) return;
    const Shape& shape = graph_.value(node.inputs[static_cast<std::size_t>(rule.input)]).shape;
    if (p.axis != rule.channel_axis) return found("the weight of '{}' has scales along axis {}, wanted {}", node.name, p.axis, rule.channel_axis);
    const auto channels = static_cast<std::size_t>(shape[static_cast<std::size_t>(p.axis)]);
    if (p.scale.size() != channels) found("the weight of '{}' has {} scales for {} channels", node.name, p.scale.size(), channels);
    if (!target_.per_channel_weights) found("the weight of '{}' has a scale per channel, which target '{}' does not have", node.name, target_.name);
  }

  void bias(const Node& node, const QuantRule::Derived& rule) {
    if (static_cast<std::size_t>(rule.input) >= node.inputs.size() || !node.inputs[static_cast<std::size_t>(rule.input)]) return;
    used_slots_.insert({node.name, rule.input});
    const ConstantPlan *b = plan_.constant(node.name, rule.input), *w = plan_.constant(node.name, rule.weight);
    if (b == nullptr) return found("input {} (bias) of '{}' has no scale", rule.input, node.name);
    const QuantParams* x = params_[node.inputs[static_cast<std::size_t>(rule.activation)].index];
    if (w == nullptr || x == nullptr) return;  // already said
    const DType wanted = size_of(x->dtype) > 1 ? DType::kI64 : DType::kI32;
    if (b->params.dtype != wanted) found("the bias of '{}' is {}, wanted {}", node.name, name_of(b->params.dtype), name_of(wanted));
    if (b->params.scale.size() != w->params.scale.size()) return found("the bias of '{}' has {} scales, its weight {}", node.name, b->params.scale.size(), w->params.scale.size());
    for (std::size_t c = 0; c < b->params.scale.size(); ++c) {
      const float product = x->scale[0] * w->params.scale[c];
      if (!std::isnormal(product)) return found("the scales of activation and weight of '{}' (channel {}) leave its bias the scale {}", node.name, c, exact(product));
      if (std::abs(b->params.scale[c] - product) > 1e-6F * product) return found("the bias scale {} of '{}' (channel {}) is not the product of its activation's and weight's, {}", exact(b->params.scale[c]), node.name, c, exact(product));
    }
  }

  const Plan& plan_;
  const Graph& graph_;
  const Target& target_;
  std::vector<const QuantParams*> params_;  // by value index
  struct Tie {
    const Node* node;
    ValueId in, out;
  };
  std::vector<Tie> ties_;
  bool torn_ = false;
  std::vector<char> used_;                  // by value index
  std::set<std::pair<std::string, int>> used_slots_;
  std::vector<std::string> findings_;
};

}  // namespace

Status Plan::verify(const Graph& graph, const Target& for_target, std::vector<std::string>* idle) const {
  if (graph_hash != graph.hash()) {
    return error("the plan was made for graph {}, this model is graph {}", hash_to_string(graph_hash), hash_to_string(graph.hash())).with_help("the model or the passes have changed since: make the plan again");
  }
  if (target != for_target.name) return error("the plan was made for target '{}', not for '{}'", target, for_target.name).with_help("make the plan again for this target");
  Verifier verifier(*this, graph, for_target);
  NARROW_TRY(verifier.run());
  if (idle != nullptr) *idle = verifier.idle();
  return {};
}

}  // namespace narrow
