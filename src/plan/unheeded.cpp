// Wishes that come to nothing although their entry matches: said aloud, because the user believes in them.
#include <algorithm>

#include "plan/islands.h"
#include "plan/scales.h"

namespace narrow {
namespace {

class Unheeded {
 public:
  Unheeded(const Graph& graph, const std::vector<NodeChoice>& choices, const Wishes& wishes, Diagnostics& diagnostics)
      : graph_(graph), choices_(choices), wishes_(wishes), diagnostics_(diagnostics), planned_(graph.value_slots(), 0), observed_(graph.value_slots(), 0) {
    for (const Participant& p : participants(graph, choices)) planned_[p.id.index] = 1;
    for (const ValueId id : values_to_observe(graph, choices, wishes)) observed_[id.index] = 1;
  }

  void look_at(const Matches& entry) {
    const LayerRecipe& layer = *entry.layer;
    if (wants_integers_in_vain(entry)) return;
    const auto integer = [&](NodeId id) { return choices_[id.index].integer; };
    const auto weighted = [&](NodeId id) { return !choices_[id.index].rule.weights.empty(); };
    const auto observed = [&](NodeId id) {
      const auto& outputs = graph_.node(id).outputs;
      return std::any_of(outputs.begin(), outputs.end(), [&](ValueId v) { return observed_[v.index] != 0; });
    };
    if (!any(entry, integer, planned_)) {
      for (const auto& [key, given] : {std::pair("activations", layer.activations.has_value()), std::pair("range", layer.range.has_value()), std::pair("scale", layer.scale.has_value())}) {
        if (given) tell(entry, key, "none of them computes real numbers");
      }
    }
    if ((layer.weight_bits || layer.per_channel) && !any(entry, weighted, {})) tell(entry, "weights", "none of them has weights");
    if (layer.calibrator && !any(entry, observed, observed_)) tell(entry, "calibration", "their ranges are given, fixed, or those of what they move");
  }

 private:
  template <typename Fn>
  static bool any(const Matches& entry, const Fn& of_nodes, const std::vector<char>& of_inputs) {
    return std::any_of(entry.nodes.begin(), entry.nodes.end(), of_nodes) ||
           (!of_inputs.empty() && std::any_of(entry.inputs.begin(), entry.inputs.end(), [&](ValueId v) { return of_inputs[v.index] != 0; }));
  }

  // `keep: integer` that no later entry took back.
  bool wants_integers_in_vain(const Matches& entry) {
    if (entry.layer->keep_float.value_or(true)) return false;
    std::vector<NodeId> in_vain;
    for (const NodeId id : entry.nodes) {
      if (!choices_[id.index].reason.empty() && !wishes_.nodes[id.index].keep_float->value) in_vain.push_back(id);
    }
    if (in_vain.empty()) return false;
    diagnostics_.warn(fmt::format("{} although the recipe wants {} in integers", stays_float(in_vain[0]), in_vain.size() == 1 ? "it" : fmt::format("it and {} more such layers", in_vain.size() - 1)), {}, entry.layer->where);
    return true;
  }

  void tell(const Matches& entry, std::string_view key, std::string why) {
    const bool all_float = std::none_of(entry.nodes.begin(), entry.nodes.end(), [&](NodeId id) { return choices_[id.index].integer; });
    const auto in_float = std::find_if(entry.nodes.begin(), entry.nodes.end(), [&](NodeId id) { return !choices_[id.index].reason.empty(); });
    if (all_float && in_float != entry.nodes.end()) why = stays_float(*in_float);
    diagnostics_.warn(fmt::format("'{}' has no effect on the layers '{}': {}", key, entry.layer->match, why), "remove it, or match other layers", entry.layer->where);
  }

  std::string stays_float(NodeId id) const { return fmt::format("'{}' ({}) stays float ({})", graph_.node(id).name, graph_.node(id).op, choices_[id.index].reason); }

  const Graph& graph_;
  const std::vector<NodeChoice>& choices_;
  const Wishes& wishes_;
  Diagnostics& diagnostics_;
  std::vector<char> planned_, observed_;  // by value index
};

}  // namespace

void tell_unheeded(const Graph& graph, const std::vector<NodeChoice>& choices, const Wishes& wishes, Diagnostics& diagnostics) {
  Unheeded unheeded(graph, choices, wishes, diagnostics);
  for (const Matches& entry : wishes.entries) unheeded.look_at(entry);
}

}  // namespace narrow
