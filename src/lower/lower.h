// Graph + Plan + Target -> the integer network. Inserts Quantize, Dequantize and Requantize where dtypes or scales
// change; every operator lowers itself (ops/).
#pragma once

#include "base/error.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "target/target.h"

namespace narrow {

// Inputs and outputs of the result: same names and order; quantized ones have the integer dtype of the network (u8, i16) and
// Value::quant says what the integers mean. Error: the plan does not fit the graph.
Result<Graph> lower(const Graph& graph, const Plan& plan, const Target& target);

}  // namespace narrow
