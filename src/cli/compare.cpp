#include "measure/compare.h"

#include "base/table.h"
#include "base/text.h"
#include "cli/networks.h"
#include "data/sample_stream.h"
#include "measure/causes.h"
#include "report/json.h"

namespace narrow::cli {
namespace {

std::string db(double x) { return !std::isinf(x) ? fmt::format("{:.1f}", x) : x > 0 ? "exact" : "none"; }

std::string text_of(const Comparison& comparison, bool all) {
  const std::vector<std::size_t> order = by_damage(comparison);
  const bool at_outputs = !order.empty() && comparison.layers[order[0]].has_output();
  std::vector<Table::Column> columns{{"layer"}, {"type"}, {"bits", Align::kRight}, {"alone dB", Align::kRight}, {"alone cosine", Align::kRight}, {"total dB", Align::kRight},
                                     {"total cosine", Align::kRight}, {"max |d|", Align::kRight}, {"clipped %", Align::kRight}};
  if (at_outputs) columns.insert(columns.begin() + 3, {"output dB", Align::kRight});
  Table table(columns);
  const std::size_t shown = all ? order.size() : std::min<std::size_t>(order.size(), 20);
  for (std::size_t i = 0; i < shown; ++i) {
    const LayerComparison& layer = comparison.layers[order[i]];
    const std::size_t bits = 8 * size_of(layer.params.dtype);  // not the type: codes of a planned i8 grid are u8 in the network
    std::vector<std::string> row{layer.node, layer.op, std::to_string(bits), db(layer.isolated.sqnr_db()), fmt::format("{:.5f}", layer.isolated.cosine()),
                                 db(layer.cumulative.sqnr_db()), fmt::format("{:.5f}", layer.cumulative.cosine()), fmt::format("{:.4g}", layer.cumulative.max_abs()),
                                 fmt::format("{:.2f}", 100 * layer.clipped.share())};
    if (at_outputs) row.insert(row.begin() + 3, db(layer.output.sqnr_db()));
    table.add_row(std::move(row));
  }
  std::string text = order.empty() ? std::string() : table.to_string();
  if (shown < order.size()) text += fmt::format("... and {} more with less damage (-v shows all)\n", order.size() - shown);
  Table outputs({{"output"}, {"total dB", Align::kRight}, {"cosine", Align::kRight}, {"max |d|", Align::kRight}, {"same argmax", Align::kRight}});
  for (const OutputComparison& output : comparison.outputs) {
    outputs.add_row({output.name, db(output.metrics.sqnr_db()), fmt::format("{:.5f}", output.metrics.cosine()), fmt::format("{:.4g}", output.metrics.max_abs()),
                     output.scores ? fmt::format("{}/{}", output.same_argmax, comparison.samples) : std::string()});
  }
  return (text.empty() ? text : text + "\n") + outputs.to_string();
}

Status print_exact(const Network& first, std::int64_t samples, bool equal) {
  Json json = Json::object();
  json["equal"] = equal;
  json["outputs"] = static_cast<std::int64_t>(first.graph.outputs().size());
  json["samples"] = samples;  // when they differ: up to and with the first that does
  return print_result(json.dump() + "\n");
}

// Bit equality of the outputs as the networks give them, integers included.
Status compare_exactly(const Network& first, const Network& second, const Dataset& dataset, const Common& common, Progress& progress) {
  Executor run_first(first.graph), run_second(second.graph);
  Diagnostics unread;
  std::int64_t samples = 0;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    NARROW_TRY(check_cancelled());
    const Result<Sample> sample = dataset.load(i);
    if (!sample) {
      warn_left_out(dataset, i, sample.error(), unread);
      continue;
    }
    ++samples;
    const std::vector<Tensor> a = NARROW_TRY(run_real(run_first, sample->inputs)), b = NARROW_TRY(run_real(run_second, sample->inputs));
    if (a.size() != b.size()) return error("the networks have {} and {} outputs", a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (a[k].same_bytes(b[k])) continue;
      if (common.json) NARROW_TRY(print_exact(first, samples, false));
      return error("output '{}' differs on sample '{}'", first.graph.value(first.graph.outputs()[k]).name, sample->name)
          .with_help("`narrow compare` without --exact shows by how much")
          .with_exit_code(ExitCode::kGateFailed);
    }
    progress.step(i + 1, dataset.size(), "samples");
  }
  print_diagnostics(unread, common);
  if (samples == 0) return error("none of the {} samples could be read", dataset.size()).with_help("check --data");
  if (common.json) return print_exact(first, samples, true);
  return print_result(fmt::format("equal: {} on {}, bit for bit\n", counted(std::ssize(first.graph.outputs()), "output"), counted(samples, "sample")));
}

}  // namespace

Status run(const CompareCommand& command) {
  NARROW_TRY(check_comparison_gates(command.gates));
  Diagnostics diagnostics;
  Progress progress(1, command.common.quiet);
  progress.begin("compare");
  const std::vector<Network> networks = NARROW_TRY(load_networks({command.first, command.second}, command.shapes, diagnostics));
  const Network &first = networks[0], &second = networks[1];
  const Recipe recipe = NARROW_TRY(recipe_for(command.data, {&first, &second}));
  const auto dataset = NARROW_TRY(open_data(command.data, first.graph, recipe));
  NARROW_TRY(look_at(*dataset, {&first, &second}, recipe, progress, diagnostics));
  print_diagnostics(diagnostics, command.common);
  if (command.exact) return compare_exactly(first, second, *dataset, command.common, progress);
  if (first.integer) {
    return error("'{}' is an artifact; a layer-by-layer comparison needs the float model first", command.first)
        .with_help("narrow compare MODEL ARTIFACT; two artifacts can be compared with --exact")
        .with_exit_code(ExitCode::kUsage);
  }
  Diagnostics after;
  const Comparison comparison = NARROW_TRY(compare_layers(first.graph, second.graph, *dataset, {.samples = dataset->size(), .output_samples = command.sensitivity, .diagnostics = &after}, progress));
  progress.end(counted(comparison.samples, "sample"));
  report_lost(first.graph, comparison, after);
  print_diagnostics(after, command.common);
  NARROW_TRY(print_result(command.common.json ? comparison_json(comparison).dump() + "\n" : text_of(comparison, command.common.verbose)));
  return check_gates(command.gates, gate_values(comparison));
}

}  // namespace narrow::cli
