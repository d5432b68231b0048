// Exporters write SiLU, HardSwish or GELU as several nodes. As one node they have one quantizer instead of three.
#include "ops/op_def.h"
#include "passes/edits.h"
#include "passes/passes.h"

namespace narrow {

std::size_t recognize_composites(Graph& graph) {
  const std::size_t rewrites = everywhere(graph, [](Graph& g, NodeId id) {
    const OpDef& op = op_of(g.node(id));
    return op.recognize != nullptr && op.recognize(g, id);
  });
  if (rewrites > 0) graph.remove_dead();
  return rewrites;
}

}  // namespace narrow
