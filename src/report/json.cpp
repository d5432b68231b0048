#include "report/json.h"

#include <algorithm>
#include <cmath>

namespace narrow {
namespace {

constexpr std::size_t kHistograms = 12;   // of the worst layers
constexpr std::size_t kHistogramBars = 160;

Json finite(double x) { return std::isfinite(x) ? Json(x) : Json(); }

Json strings(const std::vector<std::string>& list) {
  Json array = Json::array();
  for (const std::string& text : list) array.push_back(text);
  return array;
}

bool is_real_layer(const Graph& graph, const Node& node) {
  return !node.outputs.empty() && graph.value(node.outputs[0]).dtype == DType::kF32;
}

// "i8 per channel", "i8 per tensor", "" without weights.
std::string weight_text(const Plan& plan, const Node& node) {
  const OpDef& op = op_of(node);
  if (op.linear == nullptr) return {};
  const ConstantPlan* weight = plan.constant(node.name, op.linear->weight);
  if (weight == nullptr) return {};
  const int bits = weight->params.bits > 0 ? weight->params.bits : static_cast<int>(8 * size_of(weight->params.dtype));
  return fmt::format("i{} {}", bits, weight->params.per_channel() ? "per channel" : "per tensor");
}

Json layer_json(const ReportInput& in, const LayerComparison& layer) {
  Json json = Json::object();
  json["name"] = layer.node;
  json["op"] = layer.op;
  json["value"] = layer.value;
  json["origin"] = strings(layer.origin);
  json["integer"] = layer.integer;
  json["moves"] = layer.moves;
  const Node& node = in.graph.node(in.graph.find_node(layer.node));
  json["weights"] = weight_text(in.plan, node);
  if (const ActivationPlan* planned = in.plan.activation(layer.value)) {
    const QuantParams& p = planned->params;
    json["dtype"] = name_of(p.dtype);
    json["scale"] = static_cast<double>(p.scale[0]);
    json["zero_point"] = static_cast<std::int64_t>(p.zero_point[0]);
    json["lowest"] = p.lowest();
    json["highest"] = p.highest();
    json["decided_by"] = planned->decided_by;
  } else {
    const IslandPlan* island = in.plan.island(layer.node);
    json["dtype"] = "f32";
    json["decided_by"] = island != nullptr ? "stays float: " + island->reason : std::string();
  }
  if (const ValueStats* seen = in.stats.find(layer.value)) {
    json["min"] = finite(static_cast<double>(seen->min));
    json["max"] = finite(static_cast<double>(seen->max));
    json["channel_ratio"] = finite(spread_of(*seen).channel_ratio);
  } else {
    json["min"] = finite(layer.min);
    json["max"] = finite(layer.max);
  }
  json["clipped"] = layer.clipped.share();
  json["isolated"] = metrics_json(layer.isolated);
  json["cumulative"] = metrics_json(layer.cumulative);
  if (layer.has_output()) json["output"] = metrics_json(layer.output);
  return json;
}

// Bars of equal width, at most kHistogramBars, by merging neighbouring bins.
Json histogram_json(const ValueStats& stats, const LayerComparison& layer, const ActivationPlan& planned) {
  const DyadicHistogram& h = stats.histogram;
  const std::span<const std::uint64_t> counts = h.counts();
  const std::size_t merge = std::max<std::size_t>(1, (counts.size() + kHistogramBars - 1) / kHistogramBars);
  Json bars = Json::array();
  for (std::size_t i = 0; i < counts.size(); i += merge) {
    std::uint64_t sum = 0;
    for (std::size_t k = i; k < std::min(i + merge, counts.size()); ++k) sum += counts[k];
    bars.push_back(sum);
  }
  Json json = Json::object();
  json["layer"] = layer.node;
  json["value"] = layer.value;
  json["left"] = h.left_edge(0);
  json["width"] = h.width() * static_cast<double>(merge);
  json["counts"] = std::move(bars);
  json["min"] = finite(static_cast<double>(stats.min));
  json["max"] = finite(static_cast<double>(stats.max));
  json["lowest"] = planned.params.lowest();
  json["highest"] = planned.params.highest();
  json["decided_by"] = planned.decided_by;
  return json;
}

Json model_json(const ReportInput& in) {
  Json model = Json::object();
  model["file"] = in.model;
  model["name"] = in.graph.name;
  const auto values = [&](const std::vector<ValueId>& ids) {
    Json array = Json::array();
    for (const ValueId id : ids) array.push_back(fmt::format("{} {}{}", in.graph.value(id).name, name_of(in.graph.value(id).dtype), to_string(in.graph.value(id).shape)));
    return array;
  };
  model["inputs"] = values(in.graph.inputs());
  model["outputs"] = values(in.graph.outputs());
  std::int64_t parameters = 0;
  for (const ValueId id : in.graph.live_values()) {
    const Value& v = in.graph.value(id);
    if (v.is_constant() && v.dtype == DType::kF32) parameters += v.constant.elements();
  }
  model["parameters"] = parameters;
  return model;
}

Json coverage_json(const ReportInput& in) {
  std::int64_t layers = 0;
  Json stays_float = Json::array();
  for (const NodeId id : in.graph.order()) {
    const Node& node = in.graph.node(id);
    if (!is_real_layer(in.graph, node)) continue;
    ++layers;
    const IslandPlan* island = in.plan.island(node.name);
    if (island == nullptr) continue;
    Json entry = Json::object();
    entry["name"] = node.name;
    entry["op"] = node.op;
    entry["reason"] = island->reason;
    stays_float.push_back(std::move(entry));
  }
  Json coverage = Json::object();
  coverage["layers"] = layers;
  coverage["integer"] = layers - static_cast<std::int64_t>(stays_float.items().size());
  coverage["float"] = std::move(stays_float);
  return coverage;
}

Json outputs_json(const Comparison& comparison) {
  Json outputs = Json::array();
  for (const OutputComparison& output : comparison.outputs) {
    Json entry = metrics_json(output.metrics);
    entry["name"] = output.name;
    if (output.scores) entry["same_argmax"] = output.same_argmax;
    outputs.push_back(std::move(entry));
  }
  return outputs;
}

Json accuracy_json(const Comparison& comparison, const std::string& compared_on) {
  Json accuracy = Json::object();
  accuracy["samples"] = comparison.samples;
  accuracy["compared_on"] = compared_on;
  accuracy["outputs"] = outputs_json(comparison);
  return accuracy;
}

Json tried_json(const Advice& advice) {
  Json json = Json::object();
  json["before_db"] = finite(*advice.before_db);
  if (advice.together_db) json["together_db"] = finite(*advice.together_db);
  if (advice.weights_only_db) json["weights_only_db"] = finite(*advice.weights_only_db);
  json["samples"] = advice.samples;
  json["points"] = strings(advice.points);
  return json;
}

}  // namespace

Json metrics_json(const ErrorMetrics& metrics) {
  Json json = Json::object();
  json["sqnr_db"] = std::isinf(metrics.sqnr_db()) && metrics.sqnr_db() < 0 ? Json(kNoSignal) : finite(metrics.sqnr_db());
  json["cosine"] = finite(metrics.cosine());
  json["max_abs"] = finite(metrics.max_abs());
  if (metrics.lost() > 0) json["lost"] = metrics.lost();
  return json;
}

Json comparison_json(const Comparison& comparison) {
  Json json = Json::object();
  json["narrow_comparison"] = kReportFormat;
  json["samples"] = comparison.samples;
  json["outputs"] = outputs_json(comparison);
  Json layers = Json::array();
  for (const LayerComparison& layer : comparison.layers) {
    Json entry = Json::object();
    entry["name"] = layer.node;
    entry["op"] = layer.op;
    entry["value"] = layer.value;
    entry["integer"] = layer.integer;
    entry["params"] = layer.integer ? layer.params.to_string() : std::string("f32");
    entry["clipped"] = layer.clipped.share();
    entry["isolated"] = metrics_json(layer.isolated);
    entry["cumulative"] = metrics_json(layer.cumulative);
    if (layer.has_output()) entry["output"] = metrics_json(layer.output);
    layers.push_back(std::move(entry));
  }
  json["layers"] = std::move(layers);
  return json;
}

Json report_json(const ReportInput& in) {
  Json json = Json::object();
  json["narrow_report"] = kReportFormat;
  json["model"] = model_json(in);
  json["target"] = in.target.name;
  json["recipe"] = in.recipe;
  json["calibrated_on"] = in.stats.samples;
  json["data"] = strings(in.data);
  json["coverage"] = coverage_json(in);
  json["accuracy"] = accuracy_json(in.comparison, in.compared_on);

  Json layers = Json::array();
  for (const LayerComparison& layer : in.comparison.layers) layers.push_back(layer_json(in, layer));
  json["layers"] = std::move(layers);

  const std::vector<std::size_t> worst = by_damage(in.comparison);
  json["worst"] = worst.empty() ? Json() : Json(in.comparison.layers[worst[0]].node);
  Json histograms = Json::array();
  for (const std::size_t index : worst) {
    if (histograms.items().size() == kHistograms) break;
    const LayerComparison& layer = in.comparison.layers[index];
    const ValueStats* seen = in.stats.find(layer.value);
    const ActivationPlan* planned = in.plan.activation(layer.value);
    if (seen != nullptr && planned != nullptr && !seen->histogram.empty()) histograms.push_back(histogram_json(*seen, layer, *planned));
  }
  json["histograms"] = std::move(histograms);

  Json findings = Json::array();
  for (const Finding& finding : in.advice.findings) {
    Json entry = Json::object();
    entry["layer"] = finding.layer;
    entry["why"] = finding.why;
    entry["advice"] = finding.advice();
    if (finding.output_db) {
      entry["output_db"] = finite(*finding.output_db);
      entry["helps"] = *finding.output_db >= in.advice.before_db.value_or(*finding.output_db) + kHelps;
    }
    findings.push_back(std::move(entry));
  }
  json["findings"] = std::move(findings);
  if (in.advice.before_db) json["tried"] = tried_json(in.advice);
  std::vector<std::string> initiative = in.initiative;
  initiative.insert(initiative.end(), in.plan.notes.begin(), in.plan.notes.end());
  json["initiative"] = strings(initiative);
  Json warnings = Json::array();
  for (const Diagnostic& diagnostic : in.diagnostics) {
    if (diagnostic.severity == Severity::kWarning) warnings.push_back(diagnostic.help.empty() ? diagnostic.message : diagnostic.message + " (" + diagnostic.help + ")");
  }
  json["warnings"] = std::move(warnings);
  Json size = Json::object();
  size["model_bytes"] = in.float_bytes;
  size["artifact_bytes"] = in.artifact_bytes;
  json["size"] = std::move(size);
  Json times = Json::array();
  for (const PhaseTime& time : in.times) {
    Json entry = Json::object();
    entry["phase"] = time.name;
    entry["seconds"] = time.seconds;
    times.push_back(std::move(entry));
  }
  json["times"] = std::move(times);
  return json;
}

}  // namespace narrow
