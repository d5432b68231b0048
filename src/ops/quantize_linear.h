// How a float graph carries a grid: nodes QuantizeLinear and DequantizeLinear, with ONNX's meaning.
#pragma once

#include <string>

#include "graph/graph.h"

namespace narrow {

// Specs with output type, for the caller to place. Scale and zero point become constants NAME.scale and NAME.zero_point of
// `graph`; 32-bit codes have no zero point (ONNX), theirs must be 0.
NodeSpec quantize_linear(Graph& graph, const std::string& name, ValueId real, const QuantParams& params);
NodeSpec dequantize_linear(Graph& graph, const std::string& name, ValueId codes, const QuantParams& params);

}  // namespace narrow
