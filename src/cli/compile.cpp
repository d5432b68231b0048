#include "base/text.h"
#include "cli/networks.h"
#include "compile/products.h"
#include "report/summary.h"

namespace narrow::cli {

Status run(const CompileCommand& command) {
  NARROW_TRY(check_comparison_gates(command.gates));  // before the minutes that a compilation may take
  if (!command.gates.empty()) NARROW_TRY(check_compares(command.options, "--min-metric"));
  Progress progress(static_cast<int>(kPhases.size()), command.common.quiet);
  const CompileResult result = NARROW_TRY(compile(command.options, progress));
  print_diagnostics(result.diagnostics, command.common);
  if (command.common.json) {
    NARROW_TRY(print_result(result.report.dump() + "\n"));
  } else if (result.report.find("stopped_after") == nullptr) {
    std::string text = summary_text(result.report, {.rows = command.common.verbose ? SIZE_MAX : 12});
    if (!command.options.output.empty()) {
      const ProductPaths paths = product_paths(command.options.output);
      text += fmt::format("wrote     {}\n", join({paths.artifact, paths.qdq, paths.plan, paths.report, paths.page}, ", "));
    }
    NARROW_TRY(print_result(text));
  }
  const Comparison& comparison = result.comparison;
  return check_gates(command.gates, gate_values(comparison));
}

}  // namespace narrow::cli
