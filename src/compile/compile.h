// The whole path in one function: model -> graph -> simplified graph -> statistics -> plan -> integer network -> comparison -> products.
// Every noun made on the way is kept in the result.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/error.h"
#include "base/json.h"
#include "base/progress.h"
#include "calibrate/stats.h"
#include "graph/graph.h"
#include "measure/causes.h"
#include "measure/compare.h"
#include "model/import.h"
#include "passes/passes.h"
#include "plan/plan.h"
#include "recipe/recipe.h"
#include "target/target.h"

namespace narrow {

// Phases in order; --stop-after takes one of these names.
constexpr std::array<std::string_view, 7> kPhases{"import", "simplify", "calibrate", "plan", "lower", "compare", "pack"};

struct CompileOptions {
  std::string model;                            // ONNX file
  std::string recipe = {};                      // file; empty: all defaults
  std::string target = {};                      // name or file; empty: that of the recipe, else generic-int8
  std::vector<std::string> data = {};           // DatasetOptions::paths
  std::int64_t samples = -1;                    // for calibration; -1: as the recipe says
  std::int64_t compare_samples = 2;             // measured layer by layer; 0: not at all
  std::int64_t sensitivity_samples = 0;         // this many of them, or more samples then, measure what every layer alone costs at the outputs
  bool try_advice = false;                      // measure what every advice would bring
  std::map<std::string, Shape> input_shapes = {};
  std::vector<std::string> disabled_passes = {};
  std::string stats = {};                       // file of an earlier run's statistics instead of calibration
  std::string plan = {};                        // file with an edited plan instead of planning
  std::string stop_after = {};                  // phase; empty: go through
  std::string dump_dir = {};                    // where every intermediate product is written, by number
  std::string output = {};                      // OUT of OUT.narrow, OUT.qdq.onnx, OUT.plan, OUT.report.json, OUT.html; empty: none
};

struct CompileResult {
  Recipe recipe;
  std::string recipe_text;
  Target target;
  Graph graph;                                  // float, simplified
  std::vector<PassReport> passes;
  Stats stats;
  Plan plan;
  Graph network;                                // integer
  Comparison comparison;
  std::string compared_on;
  Advice advice;                                // what hurts, what to do, and on request what that brings
  std::vector<std::string> data;                // how files became inputs, and what those look like
  Json report;                                  // report/json.h; of one that stopped early what is known by then, and "stopped_after"
  std::vector<std::string> products;            // files written
  Diagnostics diagnostics;
};

// Products are written at the very end, all or none. Errors: what the input's fault is; ExitCode::kUsage for options that do not fit together.
Result<CompileResult> compile(const CompileOptions& options, Progress& progress);

// What `option` asks for is measured in the comparison: an error when there would be none.
Status check_compares(const CompileOptions& options, std::string_view option);

// The part of the path before data: reading and simplifying, as the other commands need it too.
Result<Graph> load_float_graph(const std::string& model, const ImportOptions& options, Diagnostics& diagnostics);

}  // namespace narrow
