// Finds activation functions that a model spells out in elementary operators (x * sigmoid(x), x * clip(x + 3, 0, 6) / 6,
// x / 2 * (1 + erf(x / sqrt 2))...), whatever the order of the factors: by evaluating the sub-graph.
#pragma once

#include "graph/graph.h"

namespace narrow {

// The OpDef::recognize of the operators that such a sub-graph can end in. On success the node has become that activation of one
// input; the nodes it stands for are dead and counted into its origin.
bool recognize_activation(Graph& graph, NodeId node);

}  // namespace narrow
