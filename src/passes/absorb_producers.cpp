// Nodes that can do the work of the node before them (a convolution pads, a Reshape replaces another) take it over.
#include "ops/op_def.h"
#include "passes/edits.h"
#include "passes/passes.h"

namespace narrow {

std::size_t absorb_producers(Graph& graph) {
  const std::size_t rewrites = everywhere(graph, [](Graph& g, NodeId id) {
    const OpDef& op = op_of(g.node(id));
    return op.absorb_producer != nullptr && op.absorb_producer(g, id);
  });
  if (rewrites > 0) graph.remove_dead();
  return rewrites;
}

}  // namespace narrow
