#include "plan/wishes.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "ops/op_def.h"

namespace narrow {
namespace {

template <typename T>
void overrule(const std::optional<T>& wanted, const SourceSpan& where, std::optional<Wish<T>>* wish) {
  if (wanted) *wish = Wish<T>{*wanted, where};
}

void overrule(const LayerRecipe& layer, LayerWishes* wishes) {
  overrule(layer.activations, layer.where, &wishes->activations);
  overrule(layer.keep_float, layer.where, &wishes->keep_float);
  overrule(layer.per_channel, layer.where, &wishes->per_channel);
  overrule(layer.weight_bits, layer.where, &wishes->weight_bits);
  overrule(layer.calibrator, layer.where, &wishes->calibrator);
  overrule(layer.range, layer.where, &wishes->range);
  overrule(layer.scale, layer.where, &wishes->scale);
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
    bool matched = false;
    for (const NodeId id : graph.order()) {
      if (!matches(layer.match, graph, graph.node(id), computed)) continue;
      overrule(layer, &wishes.nodes[id.index]);
      matched = true;
    }
    for (const ValueId id : graph.inputs()) {
      if (!glob_match(layer.match, graph.value(id).name)) continue;
      overrule(layer, &wishes.inputs[id.index]);
      matched = true;
    }
    if (!matched) wishes.unmatched.push_back(&layer);
  }
  return wishes;
}

Status check_matched(const Graph& graph, const Wishes& wishes) {
  if (wishes.unmatched.empty()) return {};
  std::vector<std::string> names;
  for (const NodeId id : graph.order()) {
    names.push_back(graph.node(id).name);
    names.insert(names.end(), graph.node(id).origin.begin(), graph.node(id).origin.end());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const LayerRecipe& first = *wishes.unmatched.front();
  std::string help = did_you_mean(first.match, names);
  help += (help.empty() ? "" : "  ") + std::string("`narrow inspect MODEL --layers` lists all names");
  std::vector<std::string> notes;
  for (std::size_t i = 1; i < wishes.unmatched.size(); ++i) notes.push_back(fmt::format("nor does '{}' ({}) match", wishes.unmatched[i]->match, place_of(wishes.unmatched[i]->where)));
  return error("no layer matches '{}' in model '{}'", first.match, graph.name).at(first.where).with_help(std::move(help)).with_notes(std::move(notes));
}

std::string place_of(const SourceSpan& where) { return fmt::format("recipe {}:{}", where.file, where.line); }

}  // namespace narrow
