// The solver, in order: who computes in integers; ranges; the output tail; ties; scales; constants.
#include <algorithm>

#include "base/hash.h"
#include "base/text.h"
#include "plan/islands.h"
#include "plan/plan.h"
#include "plan/scales.h"
#include "plan/weights.h"
#include "plan/wishes.h"

namespace narrow {
namespace {

// Joining branches at the very end costs accuracy and saves nothing, so that half an octave's difference is enough.
constexpr double kTailRatio = 1.5;
// An output that uses less of its function's range than this was not excited: scores that matter are larger.
constexpr double kSilent = 1.0 / 16;

std::string recipe_name(const Recipe& recipe) { return "recipe " + recipe.file; }

DType default_type_of(const Recipe& recipe, const Target& target) { return recipe.activations.value_or(target.activations.front()); }

Status check_type(DType dtype, const Target& target, const SourceSpan& where) {
  if (std::find(target.activations.begin(), target.activations.end(), dtype) != target.activations.end()) return {};
  std::vector<std::string> names;
  for (const DType d : target.activations) names.emplace_back(name_of(d));
  return error("target '{}' has no {} activations", target.name, name_of(dtype)).with_help("it has " + join(names, ", ")).at(where);
}

Status check_types(const Recipe& recipe, const Target& target) {
  if (recipe.activations) NARROW_TRY(check_type(*recipe.activations, target, {}));
  for (const LayerRecipe& layer : recipe.layers) {
    if (layer.activations) NARROW_TRY(check_type(*layer.activations, target, layer.where));
  }
  return {};
}

Result<ScaleOptions> scale_options(const Recipe& recipe, const Target& target) {
  ScaleOptions o;
  o.default_type = default_type_of(recipe, target);
  o.type_by = recipe.activations ? recipe_name(recipe) : "";
  if (target.symmetric_activations && !recipe.symmetric_activations.value_or(true)) return error("the recipe wants activations that are not symmetric, but target '{}' has symmetric ones only", target.name);
  o.symmetric = target.symmetric_activations || recipe.symmetric_activations.value_or(false);
  o.symmetric_by = target.symmetric_activations ? fmt::format("target '{}'", target.name) : recipe_name(recipe);
  o.percentile = recipe.percentile.value_or(o.percentile);
  o.calibrator = NARROW_TRY(calibrator_from_name(recipe.calibrator, o.percentile));
  o.calibrator_by = recipe.calibrator.empty() ? "default" : recipe_name(recipe);
  o.untie_ratio = recipe.untie_ratio.value_or(o.untie_ratio);
  return o;
}

Result<WeightOptions> weight_options(const Recipe& recipe, const Target& target) {
  WeightOptions o;
  o.bits = recipe.weight_bits.value_or(target.weight_bits);
  o.bits_by = recipe.weight_bits ? recipe_name(recipe) : fmt::format("target '{}'", target.name);
  o.may_per_channel = target.per_channel_weights;
  o.per_channel = recipe.per_channel_weights.value_or(target.per_channel_weights);
  o.per_channel_by = recipe.per_channel_weights ? recipe_name(recipe) : target.per_channel_weights ? "" : fmt::format("target '{}'", target.name);
  o.target = target.name;
  o.accumulator_bits = target.accumulator_bits;
  o.bias_bits = target.bias_bits;
  if (o.per_channel && !o.may_per_channel) return error("the recipe wants weights per channel, but target '{}' has them per tensor only", target.name);
  return o;
}

// Tail nodes that would join branches of different ranges stay float, and so does the movement after them.
void free_output_tail(const Graph& graph, const Scales& scales, const Wishes& wishes, std::vector<NodeChoice>* choices) {
  const std::vector<char> tail = output_tail(graph, *choices, wishes);
  std::vector<char> freed(graph.node_slots(), 0);
  for (const NodeId id : graph.order()) {
    if (tail[id.index] == 0) continue;
    const Node& node = graph.node(id);
    NodeChoice& choice = (*choices)[id.index];
    const std::vector<ValueId> inputs = data_slots(graph, node, choice.rule).inputs;
    const auto source = std::find_if(inputs.begin(), inputs.end(), [&](ValueId v) { return graph.value(v).producer && freed[graph.value(v).producer.index] != 0; });
    std::string reason;
    if (source != inputs.end()) {
      reason = fmt::format("follows '{}', which is float", graph.value(*source).name);
    } else {
      const auto by_width = [&](ValueId a, ValueId b) { return width(scales.own_range(a)) < width(scales.own_range(b)); };
      const auto [narrow, wide] = std::minmax_element(inputs.begin(), inputs.end(), by_width);
      const Range a = scales.own_range(*narrow), b = scales.own_range(*wide);
      const Range whole = united(a, b);
      if (!(width(a) > 0) || width(whole) <= kTailRatio * width(a)) continue;
      reason = fmt::format("joins outputs of different ranges ('{}' {}, '{}' {}): each keeps its own scale and becomes real before", graph.value(*narrow).name, to_string(a), graph.value(*wide).name, to_string(b));
    }
    choice = {.integer = false, .reason = std::move(reason), .rule = {}};
    freed[id.index] = 1;
  }
}

// A detector that was calibrated on samples without what it detects would never answer: its grid ends at what it said to them.
void tell_silent_outputs(const Graph& graph, const std::vector<ActivationPlan>& activations, const Wishes& wishes, Diagnostics& diagnostics) {
  for (const ActivationPlan& a : activations) {
    const ValueId id = graph.find_value(a.value);
    const Node* node = graph.producer(id);
    if (node == nullptr || !graph.is_output(id)) continue;
    const FusedActivation function = fused_activation(*node);
    const LayerWishes& wished = wishes.nodes[graph.value(id).producer.index];
    if (function.op == nullptr || !function.op->activation->fixed_range || wished.range || wished.scale) continue;
    const auto [low, high] = *function.op->activation->fixed_range;
    const Range seen{a.params.lowest(), a.params.highest()};
    if (width(seen) >= kSilent * (high - low)) continue;
    diagnostics.warn(fmt::format("output '{}' stays within {} on the calibration samples, and its grid ends there, although {} reaches [{}, {}]", a.value, to_string(seen), function.op->name, low, high),
                     fmt::format("calibrate on samples that the network answers to as well, or write in the recipe, layers: [{{match: \"{}\", range: [{}, {}]}}]", node->name, low, high));
  }
}

Status refuse_islands(const Graph& graph, const std::vector<NodeChoice>& choices, const Target& target) {
  std::vector<std::string> notes;
  for (const NodeId id : graph.order()) {
    if (!choices[id.index].reason.empty()) notes.push_back(fmt::format("'{}' ({}): {}", graph.node(id).name, graph.node(id).op, choices[id.index].reason));
  }
  if (notes.empty()) return {};
  const std::size_t count = notes.size();
  return error("target '{}' runs integers only, but {} layer{} would stay float", target.name, count, count == 1 ? "" : "s").with_notes(std::move(notes)).with_help("cut the model before these layers, or choose another target");
}

}  // namespace

std::vector<ValueId> quantizer_sites(const Graph& graph, const Recipe& recipe, const Target& target) {
  const Wishes wishes = resolve_wishes(graph, recipe);
  return values_to_observe(graph, choose_islands(graph, wishes, target, default_type_of(recipe, target)), wishes);
}

Result<Plan> make_plan(const Graph& graph, const Stats& stats, const Recipe& recipe, const Target& target, Diagnostics& diagnostics) {
  Plan plan;
  plan.graph_hash = graph.hash();
  plan.target = target.name;
  if (stats.graph_hash != plan.graph_hash) {
    return error("the statistics were made for graph {}, this model is graph {}", hash_to_string(stats.graph_hash), hash_to_string(plan.graph_hash)).with_help("calibrate again");
  }
  const Wishes wishes = resolve_wishes(graph, recipe);
  NARROW_TRY(check_matched(graph, wishes));
  NARROW_TRY(check_types(recipe, target));
  const ScaleOptions scale_wishes = NARROW_TRY(scale_options(recipe, target));
  const WeightOptions weight_wishes = NARROW_TRY(weight_options(recipe, target));

  std::vector<NodeChoice> choices = choose_islands(graph, wishes, target, scale_wishes.default_type);
  Scales scales = NARROW_TRY(Scales::make(graph, stats, wishes, scale_wishes, choices));
  if (target.float_islands) free_output_tail(graph, scales, wishes, &choices);
  else NARROW_TRY(refuse_islands(graph, choices, target));
  scales.tie(choices, &plan.notes);
  scales.tell_overruled(choices, diagnostics);
  tell_unheeded(graph, choices, wishes, diagnostics);
  plan.activations = NARROW_TRY(scales.decide(choices));
  tell_silent_outputs(graph, plan.activations, wishes, diagnostics);

  std::vector<const QuantParams*> params(graph.value_slots(), nullptr);
  for (const ActivationPlan& a : plan.activations) params[graph.find_value(a.value).index] = &a.params;
  for (const NodeId id : graph.order()) {
    const NodeChoice& choice = choices[id.index];
    if (!choice.reason.empty()) plan.islands.push_back({.node = graph.node(id).name, .reason = choice.reason});
    if (!choice.integer) continue;
    std::vector<ConstantPlan> constants = NARROW_TRY(plan_constants(graph, id, choice.rule, wishes.nodes[id.index], weight_wishes, params, &plan.notes));
    std::move(constants.begin(), constants.end(), std::back_inserter(plan.constants));
  }
  for (const std::string& note : plan.notes) diagnostics.note(note);
  return plan;
}

}  // namespace narrow
