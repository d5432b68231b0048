// What the passes that move Transposes share.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace narrow {

// The permutation that produced `value`; nullopt when it does not come from a Transpose.
std::optional<std::vector<int>> transposed_by(const Graph& graph, ValueId value);
// Of a value that comes from a Transpose: what was transposed.
ValueId transpose_source(const Graph& graph, ValueId value);

// The only input of `node` that is not constant; none when there are several.
ValueId only_computed_input(const Graph& graph, NodeId node);
// Has the operator permute or permute_axes (OpDef)?
bool can_be_permuted(const Node& node);

// True when every way from `value` leads through nodes with one computed input to a node that insists on its order of axes:
// a Transpose sunk from here would only come to stand in front of that node.
bool ends_blocked(const Graph& graph, ValueId value);

}  // namespace narrow
