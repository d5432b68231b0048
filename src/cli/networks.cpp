#include "cli/networks.h"

#include <cstdio>

#include "artifact/artifact.h"
#include "base/file.h"
#include "base/text.h"
#include "data/input_check.h"

namespace narrow::cli {

bool is_artifact(const std::string& file) {
  const auto mapped = MappedFile::open(file);
  return mapped && looks_like_artifact((*mapped)->bytes());
}

Result<std::vector<Network>> load_networks(const std::vector<std::string>& files, const std::map<std::string, Shape>& shapes, Diagnostics& diagnostics) {
  std::vector<Network> networks;
  ImportOptions options{.input_shapes = shapes};
  for (const std::string& file : files) {
    networks.push_back({.file = file, .integer = is_artifact(file), .graph = {}});
    Network& network = networks.back();
    if (!network.integer) continue;
    Artifact artifact = NARROW_TRY(read_artifact(file));
    network.graph = std::move(artifact.contents.graph);
    network.recipe_text = std::move(artifact.contents.recipe);
    network.target = std::move(artifact.contents.target);
    for (const ValueId id : network.graph.inputs()) options.known_shapes.emplace(network.graph.value(id).name, network.graph.value(id).shape);
  }
  for (Network& network : networks) {
    if (!network.integer) network.graph = NARROW_TRY(load_float_graph(network.file, options, diagnostics));
  }
  return networks;
}

Result<Recipe> recipe_for(const DataChoice& data, const std::vector<const Network*>& networks) {
  if (!data.recipe.empty()) return load_recipe(data.recipe);
  for (const Network* network : networks) {
    if (!network->recipe_text.empty()) return parse_recipe(network->recipe_text, network->file);
  }
  return Recipe{};
}

Graph real_inputs(const Graph& graph) {
  Graph inputs;
  inputs.name = graph.name;
  for (const ValueId id : graph.inputs()) {
    const Value& v = graph.value(id);
    inputs.add_input(v.name, v.quant ? DType::kF32 : v.dtype, v.shape);
  }
  return inputs;
}

Result<std::unique_ptr<Dataset>> open_data(const DataChoice& data, const Graph& graph, const Recipe& recipe) {
  return open_dataset({.paths = data.paths, .first = data.first, .limit = data.samples}, real_inputs(graph), recipe);
}

Status look_at(const Dataset& data, const std::vector<const Network*>& networks, const Recipe& recipe, Progress& progress, Diagnostics& diagnostics) {
  const Graph inputs = real_inputs(networks[0]->graph);
  const std::vector<InputStatistics> seen = NARROW_TRY(measure_inputs(data, inputs, recipe));
  for (const std::string& line : describe_inputs(data, seen)) progress.say(line);
  Diagnostics general, calibrated;
  check_inputs(seen, inputs, recipe, general);
  for (const Network* network : networks) {
    if (network->integer && calibrated.all().empty()) check_against_grids(seen, network->graph, calibrated);
  }
  // What was calibrated is known, what looks normal is a guess.
  for (const Diagnostic& found : (calibrated.all().empty() ? general : calibrated).all()) diagnostics.warn(found.message, found.help, found.where);
  return {};
}

void print_diagnostics(const Diagnostics& diagnostics, const Common& common) {
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity == Severity::kNote && !common.verbose) continue;
    if (diagnostic.severity == Severity::kNote && common.quiet) continue;
    std::fprintf(stderr, "%s\n", diagnostic.to_string().c_str());
  }
}

Status print_result(const std::string& result) {
  const std::string text = printable(result, Newlines::kKeep);
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written != text.size() || std::fflush(stdout) != 0) return error("cannot write the result to stdout").with_help("is the disk full, or the pipe closed?");
  return {};
}

namespace {

// Which command knows a metric that this one does not.
std::string whose_metric(const std::string& metric) {
  const auto among = [&](const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return lower_case(name) == lower_case(metric); });
  };
  if (among(kScores)) return "scores on labelled data are for `narrow eval --min-metric`";
  if (among({"sqnr", "cosine", "agreement"})) return "differences of the outputs are for `narrow compile` and `narrow compare --min-metric`";
  return "";
}

}  // namespace

Status check_gate_names(const std::vector<Gate>& gates, const std::vector<std::string>& names, const std::string& whose) {
  for (const Gate& gate : gates) {
    if (std::any_of(names.begin(), names.end(), [&](const std::string& name) { return lower_case(name) == lower_case(gate.metric); })) continue;
    std::string help = did_you_mean(gate.metric, names);
    if (help.empty() && whose.empty()) help = whose_metric(gate.metric);
    return error("unknown metric '{}'{} in --min-metric, wanted {}{}", gate.metric, whose, names.size() > 1 ? "one of " : "", join(names, ", ")).with_help(std::move(help)).with_exit_code(ExitCode::kUsage);
  }
  return {};
}

Status check_gates(const std::vector<Gate>& gates, const std::vector<std::pair<std::string, double>>& known) {
  std::vector<std::string> names;
  for (const auto& [name, value] : known) names.push_back(name);
  NARROW_TRY(check_gate_names(gates, names));
  for (const Gate& gate : gates) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& entry) { return lower_case(entry.first) == lower_case(gate.metric); });
    if (!(found->second >= gate.at_least)) {
      return error("{} is {:.4g}, wanted at least {:.4g}", found->first, found->second, gate.at_least)
          .with_help("`narrow compile --try --sensitivity 4` shows which layers cost most and what helps")
          .with_exit_code(ExitCode::kGateFailed);
    }
  }
  return {};
}

std::vector<std::pair<std::string, double>> gate_values(const Comparison& comparison) {
  return {{"sqnr", comparison.lowest_output_sqnr()}, {"cosine", comparison.lowest_output_cosine()}, {"agreement", comparison.argmax_agreement()}};
}

Status check_comparison_gates(const std::vector<Gate>& gates) {
  std::vector<std::string> names;
  for (const auto& [name, value] : gate_values({})) names.push_back(name);
  return check_gate_names(gates, names);
}

}  // namespace narrow::cli
