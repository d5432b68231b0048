// Nodes that can do the work of the node before them (a convolution pads, a Reshape replaces another) take it over.
#include "ops/op_def.h"
#include "passes/passes.h"

namespace narrow {

std::size_t absorb_producers(Graph& graph) {
  std::size_t rewrites = 0;
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) {
    if (!graph.node(id).alive) continue;
    const OpDef& op = op_of(graph.node(id));
    if (op.absorb_producer != nullptr && op.absorb_producer(graph, id)) ++rewrites;
  }
  if (rewrites > 0) graph.remove_dead();
  return rewrites;
}

}  // namespace narrow
