// Edits that several passes make.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace narrow {

// Calls rewrite(graph, node), true when it changed something, for every node that was there at the start and still is, in order; returns
// how often it did.
template <typename Rewrite>
std::size_t everywhere(Graph& graph, const Rewrite& rewrite) {
  std::size_t rewrites = 0;
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) {
    if (graph.node(id).alive && rewrite(graph, id)) ++rewrites;
  }
  return rewrites;
}

// Types of a node that is known to be well-formed.
void must_infer(Graph& graph, NodeId node);

// `value` now computes what the only output of `node` did: takes over its users, its name and its origin; `node` is erased.
void take_over(Graph& graph, ValueId value, NodeId node);

// The constant at input `slot` of `node` becomes `tensor`, for this node alone; an absent input gets a new constant `name`.
void set_parameter(Graph& graph, NodeId node, std::size_t slot, Tensor tensor, const std::string& name);

// May `value` be replaced by a value of another name in every place? False for graph outputs whose name the other
// value could not take.
bool can_replace(const Graph& graph, ValueId value, ValueId by);

}  // namespace narrow
