// What operators that only move or choose elements share. They run on any dtype, on floats and on integer codes alike: lowering
// emits the same operator with the same attributes, and all data inputs and the output share one grid.
#pragma once

#include "ops/op_def.h"

namespace narrow {

// Every f32 input and output 0 share one grid.
QuantRule movement_rule(const Graph& graph, const Node& node);
Status lower_movement(LowerContext& ctx);

// One entry per axis moved to where `perm` puts it: entry i of the old list belongs to axis perm[i].
template <typename T>
std::vector<T> permuted_entries(const std::vector<T>& entries, const std::vector<int>& perm) {
  std::vector<T> out(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) out[static_cast<std::size_t>(perm[i])] = entries[i];
  return out;
}
// Constant inputs of full rank are transposed so that they fit a node whose computed inputs are permuted.
void transpose_constant_inputs(Graph& graph, NodeId node, const std::vector<int>& perm);

}  // namespace narrow
