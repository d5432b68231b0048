// Does every node of a graph that comes from outside (an artifact), or that lowering has made, fit its operator? What passes can
// be run: inputs, types, shapes and attributes are as the operators rely on.
#pragma once

#include "base/error.h"
#include "graph/graph.h"

namespace narrow {

// What infer of the node's operator (which must be known) relies on: inputs are there, of the right type where it must be f32,
// and attributes are of the right kind.
Status check_operands(const Graph& graph, const Node& node);

// Operators must be known. The error names the first node that does not fit, and why.
Status verify_network(const Graph& graph);

}  // namespace narrow
