// What a plan means for every edge of its float graph: which nodes compute in integers, on which grid a value is
// carried, and which grid a node wants at each input. Lowering and QDQ export both read it, so that they cannot differ.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "ops/op_def.h"
#include "plan/plan.h"

namespace narrow {

class Grids {
 public:
  // The graph and the plan must outlive it. Error: made for another graph, or a scale is missing (all are listed).
  static Result<Grids> make(const Graph& graph, const Plan& plan);

  bool integer(NodeId node) const { return nodes_[node.index].integer; }
  const QuantRule& rule(NodeId node) const { return nodes_[node.index].rule; }
  // Grid on which `value` arrives from its producer or from outside; nullptr: as real numbers (or not f32).
  const QuantParams* carried(ValueId value) const;
  enum class Role { kAbsent, kActivation, kWeight, kBias, kOther };  // kOther: indices, shapes
  Role role(NodeId node, std::size_t slot) const;
  // Grid that the integer node wants at an input of role kActivation: that of the slots it is tied to, else the value's own.
  const QuantParams& wanted(NodeId node, std::size_t slot) const;
  const QuantParams& constant(NodeId node, std::size_t slot) const;  // of a weight or bias

 private:
  explicit Grids(const Graph& graph) : graph_(&graph), nodes_(graph.node_slots()), planned_(graph.value_slots()) {}
  const QuantParams* find_wanted(NodeId node, std::size_t slot) const;
  const QuantParams* find_constant(NodeId node, std::size_t slot) const;
  struct NodeInfo {
    bool integer = false;
    bool island = false;
    QuantRule rule;
    std::vector<std::pair<int, const QuantParams*>> constants;  // by slot
  };
  const Graph* graph_;
  std::vector<NodeInfo> nodes_;                 // by node index
  std::vector<const QuantParams*> planned_;     // by value index; nullptr: not planned
};

}  // namespace narrow
