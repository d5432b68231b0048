// The commands of `narrow` as plain functions that take what was asked for. stdout is the result; stderr is progress and
// findings; the returned error carries the exit code.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "compile/compile.h"

namespace narrow::cli {

struct Common {
  bool json = false;     // the result as JSON
  bool quiet = false;    // no progress, no notes
  bool verbose = false;  // all rows, notes too
  int threads = 0;       // 0: as the machine has
};

struct DataChoice {
  std::vector<std::string> paths = {};  // DatasetOptions::paths
  std::string recipe = {};              // file
  std::int64_t first = 0;
  std::int64_t samples = -1;
};

// "sqnr=30", "cosine=0.99", "agreement=95" (compare); "top-1=90", "mAP@.5=0.6" (eval).
struct Gate {
  std::string metric;
  double at_least = 0;
};

struct CompileCommand { Common common; CompileOptions options; std::vector<Gate> gates; };
struct CheckCommand { Common common; std::string model, target, recipe; std::map<std::string, Shape> shapes; };
struct RunCommand { Common common; std::string network, mode, plan, target, output; std::int64_t samples = -1; DataChoice data; std::map<std::string, Shape> shapes; };
struct EvalCommand { Common common; std::vector<std::string> networks; DataChoice data; std::string labels, task, decoder, dictionary; std::optional<std::int64_t> label_offset; std::vector<Gate> gates; std::map<std::string, Shape> shapes; };
struct CompareCommand { Common common; std::string first, second; DataChoice data; bool exact = false; std::int64_t sensitivity = 0; std::vector<Gate> gates; std::map<std::string, Shape> shapes; };
struct InspectCommand { Common common; std::string file; bool layers = false; };
struct ExplainCommand { Common common; std::string file, layer; };
struct ReportCommand { Common common; std::string file, output; };
struct OpsCommand { Common common; };
struct TargetsCommand { Common common; };

using Command = std::variant<CompileCommand, CheckCommand, RunCommand, EvalCommand, CompareCommand, InspectCommand, ExplainCommand, ReportCommand, OpsCommand, TargetsCommand>;

// One file each. The result goes to stdout, progress and findings to stderr; the error carries the exit code.
Status run(const CompileCommand& command);
Status run(const CheckCommand& command);
Status run(const RunCommand& command);
Status run(const EvalCommand& command);
Status run(const CompareCommand& command);
Status run(const InspectCommand& command);
Status run(const ExplainCommand& command);
Status run(const ReportCommand& command);
Status run(const OpsCommand& command);
Status run(const TargetsCommand& command);

}  // namespace narrow::cli
