// A per-channel scale and shift in the form of a linear operator.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace narrow {

// y[..., c] = scale[c] * x[..., c] + shift[c] on a channels-last map of rank 4, as a depthwise 1x1 convolution.
NodeSpec make_depthwise_1x1(Graph& graph, ValueId x, const std::string& name, const std::vector<float>& scale, const std::vector<float>& shift);

}  // namespace narrow
