// Fake quantization: the float graph with QuantizeLinear and DequantizeLinear exactly where the integer network rounds.
// Our float executor runs it, other tools read it as ONNX (model/export), and their integer kernels give what our
// integer network gives, up to rounding.
#pragma once

#include "base/error.h"
#include "graph/graph.h"
#include "plan/plan.h"

namespace narrow {

// Activations get a pair behind their producer (the dequantized value keeps the name, what it was before is NAME.raw);
// weights, biases and constant operands become integer constants behind a DequantizeLinear; 64-bit biases stay real, for ONNX
// cannot dequantize them. Where a node wants another grid than its producer gives (untied branches), and where an integer node
// reads real numbers, that edge has its own pair. Float islands are untouched. Grids are the planned ones (i8 stays i8). Inputs
// and outputs keep their names. network: what lower() made of the same plan; with it, the codes between a linear layer and the
// table of its activation function, which no plan holds, have their pair too. Error: the plan does not fit the graph.
Result<Graph> build_qdq(const Graph& graph, const Plan& plan, const Graph* network = nullptr);

}  // namespace narrow
