// Between two phases of a compilation: the kept progress line, the dump of what was made, and the wish to stop here.
#pragma once

#include <functional>
#include <string>

#include "compile/compile.h"

namespace narrow {

class Path {
 public:
  Path(const CompileOptions& options, Progress& progress);  // begins the first phase
  // Ends the present phase and begins the next. What `dump` returns is written to DUMP_DIR/N-PHASE.ENDING, if there is such a
  // folder. Returns true when the user wanted to stop after this phase.
  Result<bool> done(const std::string& detail, const std::string& ending = {}, const std::function<std::string()>& dump = {});

  // Texts for the kept lines and dumps.
  static std::string describe(const Graph& graph);
  static std::string describe(const std::vector<PassReport>& passes);
  static std::string print(const Graph& graph);  // large constants elided

 private:
  const CompileOptions& options_;
  Progress& progress_;
  std::size_t phase_ = 0;
};

}  // namespace narrow
