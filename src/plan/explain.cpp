#include "plan/explain.h"

#include <algorithm>

#include "base/table.h"
#include "base/text.h"

namespace narrow {
namespace {

struct Row {
  std::string layer, what;
  const QuantParams* params = nullptr;  // nullptr: an island
  std::string decided_by;
  std::string same_as = {};  // the value that decides for this one
};

std::string spread(const std::vector<float>& scales) {
  const auto [low, high] = std::minmax_element(scales.begin(), scales.end());
  if (scales.size() == 1) return fmt::format("{:.6g}", scales[0]);
  return fmt::format("{:.3g} .. {:.3g} ({})", *low, *high, scales.size());
}

std::string range_of(const QuantParams& p) {
  if (p.per_channel() || size_of(p.dtype) > 2) return "";
  return fmt::format("[{:.4g}, {:.4g}]", p.lowest(), p.highest());
}

std::string type_of(const QuantParams& p) { return p.bits > 0 ? fmt::format("{} ({} bits)", name_of(p.dtype), p.bits) : std::string(name_of(p.dtype)); }

// In the order of the network: per node what it reads (if wanted) and its constants, then what it writes; graph inputs and
// constant operands first.
std::vector<Row> rows_of(const Plan& plan, const Graph& graph, bool with_inputs) {
  std::vector<Row> rows;
  for (const ActivationPlan& a : plan.activations) {
    const ValueId id = graph.find_value(a.value);
    if (id && !graph.value(id).producer) rows.push_back({a.value, graph.value(id).is_constant() ? "constant" : "input", &a.params, a.decided_by, a.same_as});
  }
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (const IslandPlan* island = plan.island(node.name)) rows.push_back({node.name, "float", nullptr, island->reason});
    const bool decides = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return plan.activation(graph.value(v).name) != nullptr; });
    for (const ValueId v : node.inputs) {
      const ActivationPlan* a = with_inputs && decides && v ? plan.activation(graph.value(v).name) : nullptr;
      if (a != nullptr && !graph.value(v).is_constant()) rows.push_back({node.name, fmt::format("input '{}'", a->value), &a->params, a->decided_by, a->same_as});
    }
    for (const ConstantPlan& c : plan.constants) {
      if (c.node != node.name) continue;
      rows.push_back({node.name, size_of(c.params.dtype) > 2 ? "bias" : "weight", &c.params, c.decided_by});
    }
    for (const ValueId v : node.outputs) {
      if (const ActivationPlan* a = plan.activation(graph.value(v).name)) rows.push_back({node.name, a->value == node.name ? "output" : fmt::format("output '{}'", a->value), &a->params, a->decided_by, a->same_as});
    }
  }
  return rows;
}

std::vector<Row> rows_of(const Plan& plan) {
  std::vector<Row> rows;
  for (const ActivationPlan& a : plan.activations) rows.push_back({a.value, "value", &a.params, a.decided_by, a.same_as});
  for (const ConstantPlan& c : plan.constants) rows.push_back({c.node, size_of(c.params.dtype) > 2 ? "bias" : "weight", &c.params, c.decided_by});
  for (const IslandPlan& i : plan.islands) rows.push_back({i.node, "float", nullptr, i.reason});
  return rows;
}

// Names by which `layer` may be asked for.
std::vector<std::string> names_of(const Row& row, const Graph* graph) {
  std::vector<std::string> names{row.layer};
  if (graph == nullptr) return names;
  if (const NodeId id = graph->find_node(row.layer)) {
    const Node& node = graph->node(id);
    names.insert(names.end(), node.origin.begin(), node.origin.end());
    for (const ValueId v : node.outputs) names.push_back(graph->value(v).name);
  }
  return names;
}

Result<std::vector<Row>> selected(const Plan& plan, const Graph* graph, std::string_view layer) {
  std::vector<Row> rows = graph != nullptr ? rows_of(plan, *graph, !layer.empty()) : rows_of(plan);
  if (layer.empty()) return rows;
  std::vector<Row> kept;
  std::vector<std::string> all;
  for (Row& row : rows) {
    const std::vector<std::string> names = names_of(row, graph);
    if (std::any_of(names.begin(), names.end(), [&](const std::string& n) { return glob_match(layer, n); })) kept.push_back(std::move(row));
    else all.insert(all.end(), names.begin(), names.end());
  }
  if (!kept.empty()) return kept;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const std::string hint = did_you_mean(layer, all);
  return error("no layer matches '{}' in the plan", layer).with_help(hint.empty() ? "`narrow explain FILE` without a name lists all" : hint);
}

// Who decided for those whose grid the rows share, and how many do.
std::string shared_grids(const Plan& plan, const std::vector<Row>& rows) {
  std::vector<std::string> leaders;
  for (const Row& row : rows) {
    if (!row.same_as.empty() && std::find(leaders.begin(), leaders.end(), row.same_as) == leaders.end()) leaders.push_back(row.same_as);
  }
  std::string text;
  for (const std::string& leader : leaders) {
    const ActivationPlan* decided = plan.activation(leader);
    const auto shared = std::count_if(plan.activations.begin(), plan.activations.end(), [&](const ActivationPlan& a) { return a.same_as == leader; });
    if (decided != nullptr) text += fmt::format("'{}': {}; {} more {} its grid\n", leader, decided->decided_by, shared, shared == 1 ? "value shares" : "values share");
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

Result<std::string> explain(const Plan& plan, const Graph* graph, std::string_view layer) {
  const std::vector<Row> rows = NARROW_TRY(selected(plan, graph, layer));
  Table table({{"layer"}, {"what"}, {"type"}, {"scale", Align::kRight}, {"zero point", Align::kRight}, {"range", Align::kRight}, {"decided by"}});
  std::string last;
  for (const Row& row : rows) {
    const std::string name = row.layer == last ? "" : row.layer;
    last = row.layer;
    if (row.params == nullptr) {
      table.add_row({name, row.what, "f32", "", "", "", row.decided_by});
      continue;
    }
    const QuantParams& p = *row.params;
    table.add_row({name, row.what, type_of(p), spread(p.scale), std::to_string(p.zero_point[0]), range_of(p), row.decided_by});
  }
  std::string out = table.to_string();
  if (!layer.empty()) out += shared_grids(plan, rows);
  if (layer.empty() && !plan.notes.empty()) {
    out += "\nOn its own initiative:\n";
    for (const std::string& note : plan.notes) out += "  " + note + "\n";
  }
  return out;
}

Result<Json> explain_json(const Plan& plan, const Graph* graph, std::string_view layer) {
  Json out;
  out["target"] = plan.target;
  out["layers"] = Json::array();
  for (const Row& row : NARROW_TRY(selected(plan, graph, layer))) {
    Json j;
    j["layer"] = row.layer;
    j["what"] = row.what;
    j["dtype"] = row.params != nullptr ? std::string(name_of(row.params->dtype)) : "f32";
    if (row.params != nullptr) {
      j["scale"] = Json::array();
      j["zero_point"] = Json::array();
      for (const float s : row.params->scale) j["scale"].push_back(static_cast<double>(s));
      for (const std::int32_t z : row.params->zero_point) j["zero_point"].push_back(z);
      if (row.params->per_channel()) j["axis"] = row.params->axis;
    }
    j["decided_by"] = row.decided_by;
    out["layers"].push_back(std::move(j));
  }
  if (layer.empty()) {
    out["notes"] = Json::array();
    for (const std::string& note : plan.notes) out["notes"].push_back(note);
  }
  return out;
}

}  // namespace narrow
