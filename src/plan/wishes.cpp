#include "plan/wishes.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "ops/op_def.h"

namespace narrow {
namespace {

void overrule(const LayerRecipe& layer, int entry, LayerWishes* wishes) {
  const auto one = [&]<typename T>(const std::optional<T>& wanted, std::optional<Wish<T>>* wish) {
    if (wanted) *wish = Wish<T>{*wanted, layer.where, entry};
  };
  one(layer.activations, &wishes->activations);
  one(layer.keep_float, &wishes->keep_float);
  one(layer.per_channel, &wishes->per_channel);
  one(layer.weight_bits, &wishes->weight_bits);
  one(layer.calibrator, &wishes->calibrator);
  one(layer.range, &wishes->range);
  one(layer.scale, &wishes->scale);
  // The later of a range and a scale wins.
  if (layer.range) wishes->scale.reset();
  if (layer.scale) wishes->range.reset();
}

bool only_moves(const Graph& graph, const Node& node) {
  const OpDef& op = op_of(node);
  return op.quant_rule != nullptr && op.quant_rule(graph, node).follows_input;
}

// Original nodes that a computing node stands for: where a change of layout was put around one, only the node itself is meant.
std::set<std::string, std::less<>> computed_origins(const Graph& graph) {
  std::set<std::string, std::less<>> origins;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!only_moves(graph, node)) origins.insert(node.origin.begin(), node.origin.end());
  }
  return origins;
}

bool matches(const std::string& pattern, const Graph& graph, const Node& node, const std::set<std::string, std::less<>>& computed) {
  const auto fits = [&](const std::string& name) { return glob_match(pattern, name); };
  if (fits(node.name) || std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return fits(graph.value(v).name); })) return true;
  const bool moves = only_moves(graph, node);
  return std::any_of(node.origin.begin(), node.origin.end(), [&](const std::string& name) { return fits(name) && !(moves && computed.contains(name)); });
}

}  // namespace

const LayerWishes& Wishes::of(const Graph& graph, ValueId value) const {
  static const LayerWishes kNone;
  const Value& v = graph.value(value);
  if (v.producer) return nodes[v.producer.index];
  return v.is_constant() ? kNone : inputs[value.index];
}

Wishes resolve_wishes(const Graph& graph, const Recipe& recipe) {
  Wishes wishes{std::vector<LayerWishes>(graph.node_slots()), std::vector<LayerWishes>(graph.value_slots()), {}};
  const std::set<std::string, std::less<>> computed = computed_origins(graph);
  for (const LayerRecipe& layer : recipe.layers) {
    const int entry = static_cast<int>(wishes.entries.size());
    Matches& matched = wishes.entries.emplace_back();
    matched.layer = &layer;
    for (const NodeId id : graph.order()) {
      if (!matches(layer.match, graph, graph.node(id), computed)) continue;
      overrule(layer, entry, &wishes.nodes[id.index]);
      matched.nodes.push_back(id);
    }
    for (const ValueId id : graph.inputs()) {
      if (!glob_match(layer.match, graph.value(id).name)) continue;
      overrule(layer, entry, &wishes.inputs[id.index]);
      matched.inputs.push_back(id);
    }
  }
  return wishes;
}

Status check_matched(const Graph& graph, const Wishes& wishes) {
  std::vector<const LayerRecipe*> unmatched;
  for (const Matches& entry : wishes.entries) {
    if (entry.nodes.empty() && entry.inputs.empty()) unmatched.push_back(entry.layer);
  }
  if (unmatched.empty()) return {};
  std::vector<std::string> names;
  for (const NodeId id : graph.order()) {
    names.push_back(graph.node(id).name);
    names.insert(names.end(), graph.node(id).origin.begin(), graph.node(id).origin.end());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const LayerRecipe& first = *unmatched.front();
  std::string help = did_you_mean(first.match, names);
  help += (help.empty() ? "" : "  ") + std::string("`narrow inspect MODEL --layers` lists all names");
  std::vector<std::string> notes;
  for (std::size_t i = 1; i < unmatched.size(); ++i) notes.push_back(fmt::format("nor does '{}' ({}) match", unmatched[i]->match, place_of(unmatched[i]->where)));
  return error("no layer matches '{}' in model '{}'", first.match, graph.name).at(first.where).with_help(std::move(help)).with_notes(std::move(notes));
}

std::string place_of(const SourceSpan& where) { return fmt::format("recipe {}:{}", where.file, where.line); }

}  // namespace narrow
