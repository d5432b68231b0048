#include "plan/explain.h"

#include <optional>

#include "artifact/artifact.h"
#include "base/file.h"
#include "cli/networks.h"
#include "compile/products.h"

namespace narrow::cli {

Status run(const ExplainCommand& command) {
  std::string text;
  std::optional<Graph> graph;  // knows which value a layer makes
  const std::string file = product_at(command.file);
  if (is_artifact(file)) {
    Artifact artifact = NARROW_TRY(read_artifact(file));
    text = std::move(artifact.contents.plan);
    graph = std::move(artifact.contents.graph);
    if (text.empty()) return error("artifact '{}' carries no plan", file).with_help("compile the model again");
  } else {
    text = NARROW_TRY(read_file(file));
  }
  const Plan plan = NARROW_TRY(Plan::from_text(text, file));
  const Graph* names = graph ? &*graph : nullptr;
  if (command.common.json) return print_result(NARROW_TRY(explain_json(plan, names, command.layer)).dump() + "\n");
  return print_result(NARROW_TRY(explain(plan, names, command.layer)));
}

}  // namespace narrow::cli
