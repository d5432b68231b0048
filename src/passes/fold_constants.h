// Results that are known before the network runs become constants. Used node by node during import (shape arithmetic
// must be gone before the next operator looks at its parameters) and as a pass.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace narrow {

// When every input of `node` is constant (or its operator only looks at the input's shape): runs it, replaces its
// outputs by constants of the same names and erases it. Returns the constants, one per output; empty: not foldable.
std::vector<ValueId> fold_node(Graph& graph, NodeId node);

}  // namespace narrow
