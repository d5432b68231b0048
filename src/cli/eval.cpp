#include "measure/eval.h"

#include <filesystem>
#include <set>

#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/networks.h"

namespace narrow::cli {
namespace {

std::string printed(const Metric& metric) { return fmt::format("{:.{}f}", metric.value, metric.digits); }

std::string text_of(const Evaluation& evaluation) {
  std::vector<Table::Column> columns{{"metric"}};
  for (const auto& column : evaluation.columns) columns.push_back({column.name, Align::kRight});
  const bool delta = evaluation.columns.size() == 2;
  if (delta) columns.push_back({"delta", Align::kRight});
  Table table(columns);
  for (std::size_t m = 0; m < evaluation.columns[0].metrics.size(); ++m) {
    const Metric& first = evaluation.columns[0].metrics[m];
    std::vector<std::string> row{first.unit.empty() ? first.name : first.name + " " + first.unit};
    for (const auto& column : evaluation.columns) row.push_back(printed(column.metrics[m]));
    if (delta) row.push_back(fmt::format("{:+.{}f}", evaluation.columns[1].metrics[m].value - first.value, first.digits));
    table.add_row(std::move(row));
  }
  std::vector<std::string> speed{"ms per sample"};
  for (const auto& column : evaluation.columns) speed.push_back(fmt::format("{:.2f}", 1e3 * column.seconds / static_cast<double>(evaluation.samples)));
  if (delta) speed.emplace_back();
  table.add_row(std::move(speed));
  std::string text = table.to_string() + counted(evaluation.samples, "sample");
  if (evaluation.skipped > 0) text += fmt::format(", {} could not be read", evaluation.skipped);
  if (delta && evaluation.task == "classify") text += fmt::format("; same argmax on {}", evaluation.same_argmax);
  if (evaluation.agreement) text += fmt::format("\nno labels: what '{}' answers is held for true, so these scores are agreement with it", evaluation.columns[0].name);
  return text + "\n";
}

Json json_of(const Evaluation& evaluation) {
  Json json = Json::object();
  json["samples"] = evaluation.samples;
  json["skipped"] = evaluation.skipped;
  json["agreement"] = evaluation.agreement;
  Json networks = Json::array();
  for (const auto& column : evaluation.columns) {
    Json entry = Json::object();
    entry["name"] = column.name;
    for (const Metric& metric : column.metrics) entry[metric.name] = metric.value;
    entry["seconds"] = column.seconds;
    networks.push_back(std::move(entry));
  }
  json["networks"] = std::move(networks);
  return json;
}

// The files without their folders, as long as that tells them apart.
std::vector<std::string> short_names(const std::vector<Network>& networks) {
  std::vector<std::string> whole, names;
  for (const Network& network : networks) {
    whole.push_back(network.file);
    names.push_back(std::filesystem::path(network.file).filename().string());
  }
  return std::set<std::string>(names.begin(), names.end()).size() == names.size() ? names : whole;
}

}  // namespace

Status run(const EvalCommand& command) {
  NARROW_TRY(check_gate_names(command.gates, kScores));
  Diagnostics diagnostics;
  Progress progress(1, command.common.quiet);
  progress.begin("eval");
  const std::vector<Network> networks = NARROW_TRY(load_networks(command.networks, command.shapes, diagnostics));
  std::vector<const Network*> all;
  for (const Network& network : networks) all.push_back(&network);
  const Recipe recipe = NARROW_TRY(recipe_for(command.data, all));
  const Task task{.kind = !command.task.empty() ? command.task : recipe.eval.task.empty() ? "classify" : recipe.eval.task,
                  .decoder = !command.decoder.empty() ? command.decoder : recipe.eval.decoder,
                  .dictionary = !command.dictionary.empty() ? command.dictionary : recipe.eval.dictionary,
                  .label_offset = command.label_offset.value_or(recipe.eval.label_offset),
                  .labels = command.labels,
                  .first = command.data.first};
  const Graph& gated = networks.back().graph;
  if (const auto names = metric_names(task, gated.outputs().empty() ? Shape{} : gated.value(gated.outputs()[0]).shape); !names.empty()) {
    NARROW_TRY(check_gate_names(command.gates, names, fmt::format(" of task '{}'", task.kind)));
  }
  const auto dataset = NARROW_TRY(open_data(command.data, networks[0].graph, recipe));
  NARROW_TRY(look_at(*dataset, all, recipe, progress, diagnostics));

  std::vector<Executor> executors;
  for (const Network& network : networks) executors.emplace_back(network.graph);
  const std::vector<std::string> names = short_names(networks);
  std::vector<Contender> contenders;
  for (std::size_t i = 0; i < networks.size(); ++i) {
    const std::string name = networks.size() <= 2 ? (networks[i].integer ? "integer" : "float") : names[i];
    contenders.push_back({name, [executor = &executors[i]](const Sample& sample) { return run_real(*executor, sample.inputs); }});
  }
  const Graph& graph = networks[0].graph;
  const Evaluation evaluation = NARROW_TRY(evaluate(*dataset, task, graph.value(graph.inputs()[0]).shape, contenders, diagnostics, progress));
  progress.end(counted(evaluation.samples, "sample"));
  print_diagnostics(diagnostics, command.common);
  NARROW_TRY(print_result(command.common.json ? json_of(evaluation).dump() + "\n" : text_of(evaluation)));
  std::vector<std::pair<std::string, double>> known;
  for (const Metric& metric : evaluation.columns.back().metrics) known.emplace_back(metric.name, metric.value);
  return check_gates(command.gates, known);
}

}  // namespace narrow::cli
