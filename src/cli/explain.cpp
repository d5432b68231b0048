#include "plan/explain.h"

#include "artifact/artifact.h"
#include "base/file.h"
#include "cli/networks.h"

namespace narrow::cli {

Status run(const ExplainCommand& command) {
  std::string text;
  if (is_artifact(command.file)) {
    text = NARROW_TRY(read_artifact(command.file)).contents.plan;
    if (text.empty()) return error("artifact '{}' carries no plan", command.file).with_help("compile the model again");
  } else {
    text = NARROW_TRY(read_file(command.file));
  }
  const Plan plan = NARROW_TRY(Plan::from_text(text, command.file));
  if (command.common.json) return print_result(NARROW_TRY(explain_json(plan, nullptr, command.layer)).dump() + "\n");
  return print_result(NARROW_TRY(explain(plan, nullptr, command.layer)));
}

}  // namespace narrow::cli
