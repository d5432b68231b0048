// Finds functions that a model spells out in elementary operators, whatever the order of the factors: by evaluating the sub-graph.
#pragma once

#include "graph/graph.h"

namespace narrow {

// The OpDef::recognize of the operators that such a sub-graph can end in. On success the node has become the operator that it
// stands for; the other nodes are dead and counted into its origin.
bool recognize_composite(Graph& graph, NodeId node);

// Activations: x * sigmoid(x), x * clip(x + 3, 0, 6) / 6, x / 2 * (1 + erf(x / sqrt 2))...
bool recognize_activation(Graph& graph, NodeId node);
// (x - mean) / sqrt(variance + epsilon) * scale + bias, a part of it for a start: what follows is taken in when it is looked at.
bool recognize_normalization(Graph& graph, NodeId node);

}  // namespace narrow
