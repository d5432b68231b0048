// One operator alone: in float, imported from its ONNX form, and lowered to integers with given grids.
#pragma once

#include <vector>

#include "kernels/requantize.h"
#include "ops/op_def.h"
#include "plan/plan.h"
#include "support.h"

namespace narrow::test {

struct Operand {
  Tensor tensor = {};       // no data: absent
  bool constant = false;    // else a graph input
};
inline Operand constant(Tensor tensor) { return {std::move(tensor), true}; }

// A graph of one node in internal form; inputs x0, x1, ..., node and output named "y".
Graph one_op(const std::string& op, Attrs attrs, const std::vector<Operand>& operands);
// The same from ONNX form: the operator's normalize runs, its result is the graph output.
Result<Graph> normalized_op(const std::string& op, Attrs attrs, const std::vector<Operand>& operands, int opset = 13);
// Every node through its denormalize hook (to ONNX form), or every node back through normalize.
Status rewrite_all(Graph& graph, Status (*OpDef::*hook)(RewriteContext&), int opset = 13);
// Operators in order.
std::vector<std::string> ops_of(const Graph& graph);

Tensor run(const Graph& graph, const std::vector<Tensor>& inputs, bool normative = true);

// Grids for the activations (in order of the node's activation inputs) and the output; weights get i8 symmetric grids from
// their largest magnitudes (per channel), biases the product of scales.
Plan plan_of(const Graph& graph, const std::vector<QuantParams>& inputs, const QuantParams& output);
struct Lowered {
  Graph graph;
  Tensor codes;   // of the output, as the integer network holds them
};
Lowered run_lowered(const Graph& graph, const Plan& plan, const ArithmeticProfile& profile, const std::vector<Tensor>& inputs, bool normative);

// Largest distance, in steps of the output grid, between codes and the exact result: the float loops on dequantized
// inputs, weights and biases, clamped to the grid.
double steps_from_exact(const Graph& graph, const Plan& plan, const std::vector<Tensor>& inputs, const Lowered& lowered);

}  // namespace narrow::test
