// Exporters write SiLU, HardSwish or GELU as several nodes. As one node they have one quantizer instead of three.
#include "ops/op_def.h"
#include "passes/passes.h"

namespace narrow {

std::size_t recognize_composites(Graph& graph) {
  std::size_t rewrites = 0;
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) {
    if (!graph.node(id).alive) continue;
    const OpDef& op = op_of(graph.node(id));
    if (op.recognize != nullptr && op.recognize(graph, id)) ++rewrites;
  }
  if (rewrites > 0) graph.remove_dead();
  return rewrites;
}

}  // namespace narrow
