// Which nodes compute in integers, and why the others do not.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "graph/graph.h"
#include "ops/op_def.h"
#include "plan/wishes.h"
#include "target/target.h"

namespace narrow {

struct NodeChoice {
  bool integer = false;
  std::string reason;  // why it stays float; empty for integer nodes and for nodes that touch no f32 at all
  QuantRule rule;      // of integer nodes
};

// The f32 inputs and outputs that carry data on a quantized grid: not weights, biases and ignored inputs.
struct DataSlots {
  std::vector<ValueId> inputs, outputs;  // an input may occur twice
};
DataSlots data_slots(const Graph& graph, const Node& node, const QuantRule& rule);
// The values of a group of tied slots that exist and are f32.
DataSlots group_values(const Graph& graph, const Node& node, const std::vector<Slot>& group);

// By node index. `default_type`: activations where the recipe has no wish for the layer.
std::vector<NodeChoice> choose_islands(const Graph& graph, const Wishes& wishes, const Target& target, DType default_type);

// Movement nodes between the last computing nodes and the graph's outputs: no arithmetic follows, so that joining
// branches of different scales would only cost accuracy. By node index; only integer nodes that follow their input. A node
// with a wish for its integers is none, and neither is what leads to it.
std::vector<char> output_tail(const Graph& graph, const std::vector<NodeChoice>& choices, const Wishes& wishes);

// Warns of entries of the recipe without effect: integers wanted of a layer that stays float; a key that concerns none of
// the layers that the entry names.
void tell_unheeded(const Graph& graph, const std::vector<NodeChoice>& choices, const Wishes& wishes, Diagnostics& diagnostics);

// Re-establishes that movement follows its producers after some nodes have become float; reasons name the producer.
void follow_float(const Graph& graph, std::vector<NodeChoice>* choices);

}  // namespace narrow
