// The report as one JSON tree: everything that is known about a compilation. The terminal summary and the HTML page are
// printed from this tree, so a saved report.json is enough to make them again. FORMAT: docs/report.md.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/json.h"
#include "base/progress.h"
#include "calibrate/stats.h"
#include "graph/graph.h"
#include "measure/causes.h"
#include "measure/compare.h"
#include "plan/plan.h"
#include "target/target.h"

namespace narrow {

// Of reports and comparisons.
inline constexpr std::int64_t kReportFormat = 1;
// Stands for a ratio of minus infinity dB (docs/report.md); null is one of plus infinity.
inline constexpr double kNoSignal = -999;

// What is told. References are borrowed for the call.
struct ReportInput {
  std::string model;                      // file name, without its folder
  const Target& target;
  std::string recipe;                     // file name; empty: defaults
  const Graph& graph;                     // float, after the passes
  const Stats& stats;
  const Plan& plan;
  const Graph& network;                   // integer
  const Comparison& comparison;
  std::string compared_on;                // "8 samples that calibration did not see"
  const Advice& advice;
  std::vector<std::string> data;          // formula lines and facts about the data as fed
  std::vector<std::string> initiative;    // what was done without being asked (passes, widened scales, ...)
  const std::vector<Diagnostic>& diagnostics;
  std::vector<PhaseTime> times;
  std::uint64_t float_bytes = 0, artifact_bytes = 0;
};

// The report of docs/report.md.
Json report_json(const ReportInput& input);
// Checks that `json` is a report or a comparison that this version reads: whatever its readers ask for is there and of the right kind.
// Errors name `file` and the part.
Status verify_report(const Json& json, const std::string& file);
Status verify_comparison(const Json& json, const std::string& file);

// One measured pair of numbers as in the report; infinite SQNR (no difference) is null.
Json metrics_json(const ErrorMetrics& metrics);
Json comparison_json(const Comparison& comparison);  // for `narrow compare --json` and dumps

}  // namespace narrow
