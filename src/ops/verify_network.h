// Does every node of a graph that comes from outside (an artifact) fit its operator? What passes can be run: inputs, types,
// shapes and attributes are as the operators rely on.
#pragma once

#include "base/error.h"
#include "graph/graph.h"

namespace narrow {

// Operators must be known. The error names the first node that does not fit, and why.
Status verify_network(const Graph& graph);

}  // namespace narrow
