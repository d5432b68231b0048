// What must hold between the scales of an operator's inputs and outputs: data, not code. The planner (plan/) solves
// these constraints together with ranges (Stats), wishes (Recipe) and limits (Target), and knows no operator.
#pragma once

#include <string>
#include <vector>

namespace narrow {

// One input or output of a node.
struct Slot {
  bool output = false;
  int index = 0;
  bool operator==(const Slot&) const = default;
};
constexpr Slot input_slot(int index) { return {false, index}; }
constexpr Slot output_slot(int index) { return {true, index}; }

struct QuantRule {
  // Not empty: the node stays float; the text says why, and the report prints it.
  std::string unquantized = {};
  // Moves elements without arithmetic (Reshape, Transpose, Slice, Concat, MaxPool…): computes in whatever its data input
  // carries. Stays float when that is float.
  bool follows_input = false;
  // All slots of a group share one scale and zero point.
  std::vector<std::vector<Slot>> same = {};
  // Slots whose real interval is known and not calibrated: 8 bits asymmetric give scale (hi-lo)/256, so that hi itself is
  // one step out of reach (Softmax [0,1): 1/256, zero point at qmin; Tanh [-1,1): 1/128, 0); 16 bits give bound/32768.
  struct Fixed { Slot slot = {}; double lo = 0; double hi = 1; };
  std::vector<Fixed> fixed = {};
  // A constant input quantized symmetrically, per index of channel_axis where the target can, else per tensor.
  struct Weight { int input = 1; int channel_axis = 0; };
  std::vector<Weight> weights = {};
  // A constant input (bias) whose scale is the product of an activation's and a weight's scale; zero point 0.
  struct Derived { int input = 2; int activation = 0; int weight = 1; };
  std::vector<Derived> derived = {};
};
// Every f32 input that is mentioned nowhere has a scale of its own; so has every output. An f32 *constant* input that is neither weight nor
// derived is quantized like an activation, per tensor, from its own values. Indices and shapes (integer dtypes) are never quantized.

}  // namespace narrow
