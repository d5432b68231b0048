#include "plan/explain.h"

#include <optional>

#include "artifact/artifact.h"
#include "base/file.h"
#include "cli/networks.h"

namespace narrow::cli {

Status run(const ExplainCommand& command) {
  std::string text;
  std::optional<Graph> graph;  // knows which value a layer makes
  if (is_artifact(command.file)) {
    Artifact artifact = NARROW_TRY(read_artifact(command.file));
    text = std::move(artifact.contents.plan);
    graph = std::move(artifact.contents.graph);
    if (text.empty()) return error("artifact '{}' carries no plan", command.file).with_help("compile the model again");
  } else {
    text = NARROW_TRY(read_file(command.file));
  }
  const Plan plan = NARROW_TRY(Plan::from_text(text, command.file));
  const Graph* names = graph ? &*graph : nullptr;
  if (command.common.json) return print_result(NARROW_TRY(explain_json(plan, names, command.layer)).dump() + "\n");
  return print_result(NARROW_TRY(explain(plan, names, command.layer)));
}

}  // namespace narrow::cli
