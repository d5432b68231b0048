// What a command was given as a network: a model (float, simplified) or an artifact (integer), told apart by content.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/progress.h"
#include "cli/commands.h"
#include "data/dataset.h"
#include "measure/compare.h"
#include "run/executor.h"

namespace narrow::cli {

struct Network {
  std::string file;  // as given
  bool integer = false;
  Graph graph;
  std::string recipe_text = {};  // of an artifact
  std::string target = {};       // of an artifact
};

// Models are imported and simplified. shapes: by input name, for extents that models leave open; an artifact says these for the models beside
// it. Errors: unreadable, neither model nor artifact, damaged, refused by import.
Result<std::vector<Network>> load_networks(const std::vector<std::string>& files, const std::map<std::string, Shape>& shapes, Diagnostics& diagnostics);
bool is_artifact(const std::string& file);

// The recipe file if one is given, else that of the first artifact among the networks, else defaults.
Result<Recipe> recipe_for(const DataChoice& data, const std::vector<const Network*>& networks);
// The samples that --data, --first and --samples name, as inputs of `graph`. Errors: those of open_dataset().
Result<std::unique_ptr<Dataset>> open_data(const DataChoice& data, const Graph& graph, const Recipe& recipe);

// How files become inputs and what these look like, as progress; warns when that is implausible for one of the networks.
Status look_at(const Dataset& data, const std::vector<const Network*>& networks, const Recipe& recipe, Progress& progress, Diagnostics& diagnostics);

// Samples carry real numbers: an integer network's inputs as they were before quantization.
Graph real_inputs(const Graph& graph);

// Findings and progress of a command, on stderr.
void print_diagnostics(const Diagnostics& diagnostics, const Common& common);
// Prints text, or the JSON when wanted, on stdout. Error when stdout cannot be written (disk full).
Status print_result(const std::string& text);

// What `narrow eval` can measure.
inline const std::vector<std::string> kScores{"top-1", "top-5", "mAP@.5", "AUC", "lines", "characters"};
// kUsage for a metric that is not among `known`: asked before minutes are spent. `whose` follows its name in the message.
Status check_gate_names(const std::vector<Gate>& gates, const std::vector<std::string>& known, const std::string& whose = {});
// ExitCode::kGateFailed naming metric, found and wanted; kUsage for a metric that is not among `known`.
Status check_gates(const std::vector<Gate>& gates, const std::vector<std::pair<std::string, double>>& known);
// Of a comparison of outputs. The names alone can be checked beforehand.
std::vector<std::pair<std::string, double>> gate_values(const Comparison& comparison);
Status check_comparison_gates(const std::vector<Gate>& gates);

}  // namespace narrow::cli
