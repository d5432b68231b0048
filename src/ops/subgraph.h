// The nodes that compute one value from another, seen as one function: what the recognition of decomposed operators works on.
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.h"

namespace narrow {

// What a function may consist of.
struct Parts {
  int most = 0;  // nodes
  bool (*node)(const Graph& graph, const Node& node) = nullptr;  // may it be one of them?
  bool (*constant)(const Value& value) = nullptr;                // may a node read it?
};

// Values of the shape of the result of `end` that it may be a function of. The farthest first, so that the longest pattern wins.
std::vector<ValueId> possible_sources(const Graph& graph, NodeId end, const Parts& parts);
// Nodes between x and `end` in order, `end` last. None when a path backwards stops elsewhere than at x or a constant, or when an inner
// value is needed elsewhere: nothing would be gained.
std::vector<NodeId> nodes_between(const Graph& graph, ValueId x, NodeId end, const Parts& parts);
// The function's value at `at`. Every value, `at` excepted, has the shape that shape_of gives it.
Tensor evaluate(const Graph& graph, const std::vector<NodeId>& nodes, ValueId x, const Tensor& at, const std::function<Shape(const Value&)>& shape_of);
// The last of the nodes becomes `op`, and what all of them stand for.
void become(Graph& graph, const std::vector<NodeId>& nodes, const std::string& op, std::vector<ValueId> inputs, Attrs attrs);

}  // namespace narrow
