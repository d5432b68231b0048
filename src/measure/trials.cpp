#include "measure/trials.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/progress.h"
#include "base/text.h"
#include "lower/lower.h"
#include "ops/op_def.h"
#include "run/executor.h"

namespace narrow {
namespace {

constexpr double kEffort = 8e6;            // activations computed per trial, about
constexpr std::int64_t kMostSamples = 32;
constexpr std::int64_t kFewestSamples = 2;

// Behind `output`: the input of an operator that squeezes its values into a fixed interval, if nothing but moves lies between.
ValueId measuring_point(const Graph& graph, ValueId output) {
  for (ValueId at = output;;) {
    const Node* node = graph.producer(at);
    if (node == nullptr || op_of(*node).quant_rule == nullptr || op_of(*node).linear != nullptr) return output;
    ValueId input;
    for (const ValueId in : node->inputs) {
      if (!in || graph.value(in).dtype != DType::kF32 || graph.value(in).is_constant()) continue;
      if (input) return output;  // several
      input = in;
    }
    if (!input) return output;
    const QuantRule rule = op_of(*node).quant_rule(graph, *node);
    if (std::any_of(rule.fixed.begin(), rule.fixed.end(), [](const QuantRule::Fixed& f) { return f.slot.output; })) return input;
    if (!rule.follows_input) return output;
    at = input;
  }
}

}  // namespace

Result<Trials> Trials::begin(const Graph& graph, const Stats& stats, const Recipe& recipe, const Target& target, std::span<const Sample> samples) {
  Trials trials;
  trials.graph_ = &graph;
  trials.stats_ = &stats;
  trials.recipe_ = &recipe;
  trials.target_ = &target;
  trials.samples_ = samples;
  for (const ValueId output : graph.outputs()) {
    if (graph.value(output).dtype == DType::kF32) trials.points_.push_back(measuring_point(graph, output));
  }
  trials.expected_ = NARROW_TRY(trials.run(graph));
  return trials;
}

Result<std::vector<std::vector<Tensor>>> Trials::run(const Graph& network) const {
  std::vector<ValueId> ids;
  for (const ValueId point : points_) ids.push_back(network.find_value(graph_->value(point).name));
  std::vector<std::vector<Tensor>> values(samples_.size(), std::vector<Tensor>(points_.size()));
  Executor executor(network);
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    NARROW_TRY(check_cancelled());
    NARROW_TRY(run_real(executor, samples_[i].inputs, [&](ValueId id, const Tensor& tensor) {
      for (std::size_t k = 0; k < ids.size(); ++k) {
        if (ids[k] == id) values[i][k] = network.value(id).quant ? dequantize(tensor, *network.value(id).quant) : tensor.clone();
      }
    }));
  }
  return values;
}

Result<double> Trials::measure(const Graph& network) const {
  const std::vector<std::vector<Tensor>> found = NARROW_TRY(run(network));
  std::vector<ErrorMetrics> metrics(points_.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (std::size_t k = 0; k < points_.size(); ++k) {
      if (found[i][k].has_data()) metrics[k].add(expected_[i][k], found[i][k]);
    }
  }
  double worst = std::numeric_limits<double>::infinity();
  for (const ErrorMetrics& m : metrics) worst = std::min(worst, m.sqnr_db());
  return worst;
}

void Trials::describe(Advice& advice) const {
  advice.samples = std::ssize(samples_);
  for (const ValueId point : points_) {
    if (!graph_->is_output(point)) advice.points.push_back(graph_->value(point).name);
  }
}

Result<double> Trials::weights_only(const Plan& plan) const {
  Graph graph = *graph_;
  for (const NodeId id : graph_->order()) {
    const Node& node = graph_->node(id);
    const LinearForm* form = op_of(node).linear;
    const ConstantPlan* weight = form != nullptr ? plan.constant(node.name, form->weight) : nullptr;
    if (weight == nullptr) continue;
    const Value& v = graph_->value(node.inputs[static_cast<std::size_t>(form->weight)]);
    if (v.is_constant()) graph.set_input(id, static_cast<std::size_t>(form->weight), graph.add_constant(v.name + ".rounded", dequantize(quantize(v.constant, weight->params), weight->params)));
  }
  graph.remove_dead();
  return measure(graph);
}

Result<std::optional<double>> Trials::with(std::span<const std::string> wishes) const {
  const Result<Recipe> added = parse_recipe(fmt::format("layers: [{}]", join({wishes.begin(), wishes.end()}, ", ")), "advice");
  if (!added) return std::optional<double>();
  Recipe recipe = *recipe_;
  recipe.layers.insert(recipe.layers.end(), added->layers.begin(), added->layers.end());
  Diagnostics unheard;
  const Result<Plan> plan = make_plan(*graph_, *stats_, recipe, *target_, unheard);
  if (!plan) return std::optional<double>();
  const Result<Graph> network = lower(*graph_, *plan, *target_);
  if (!network) return std::optional<double>();
  return std::optional<double>(NARROW_TRY(measure(*network)));
}

std::int64_t trial_samples(const Graph& graph) {
  double activations = 0;
  for (const NodeId id : graph.order()) {
    for (const ValueId out : graph.node(id).outputs) activations += static_cast<double>(element_count(graph.value(out).shape));
  }
  return std::clamp(static_cast<std::int64_t>(kEffort / std::max(activations, 1.0)), kFewestSamples, kMostSamples);
}

Status try_out(Advice& advice, const Trials& trials, const Graph& network, const Plan& plan, std::size_t most) {
  if (advice.findings.empty()) return {};
  trials.describe(advice);
  advice.before_db = NARROW_TRY(trials.measure(network));
  advice.weights_only_db = NARROW_TRY(trials.weights_only(plan));
  std::map<std::string, std::optional<double>> tried;
  for (Finding& finding : advice.findings) {
    std::string best;
    std::vector<std::string> refused;
    for (const std::string& wish : finding.wishes) {
      if (!tried.contains(wish)) {
        if (tried.size() == most) continue;
        tried[wish] = NARROW_TRY(trials.with(std::span(&wish, 1)));
      }
      const std::optional<double> found = tried.at(wish);
      if (!found) refused.push_back(wish);
      if (found && (!finding.output_db || *found > *finding.output_db + kHelps)) {
        finding.output_db = found;
        best = wish;
      }
    }
    if (!best.empty()) finding.wishes = {best};
    std::erase_if(finding.wishes, [&](const std::string& wish) { return std::find(refused.begin(), refused.end(), wish) != refused.end(); });
  }
  const auto result = [](const Finding& f) { return f.output_db.value_or(-std::numeric_limits<double>::infinity()); };
  std::stable_sort(advice.findings.begin(), advice.findings.end(), [&](const Finding& a, const Finding& b) { return result(a) > result(b); });

  std::vector<std::string> together;
  for (const Finding& finding : advice.findings) {
    if (finding.wishes.empty() || result(finding) < *advice.before_db + kHelps) continue;
    if (std::find(together.begin(), together.end(), finding.wishes[0]) == together.end()) together.push_back(finding.wishes[0]);
  }
  if (together.size() > 1) advice.together_db = NARROW_TRY(trials.with(together));
  return {};
}

}  // namespace narrow
