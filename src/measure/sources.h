// Where the noise of a linear layer enters: the layer computed in float with only its inputs rounded to their grids, or with
// only its weights rounded. A remedy for the other source cannot help.
#pragma once

#include <map>
#include <span>
#include <string>

#include "data/dataset.h"
#include "measure/metrics.h"
#include "plan/plan.h"

namespace narrow {

struct NoiseSources {
  ErrorMetrics inputs, weights;
};
using SourcesByLayer = std::map<std::string, NoiseSources>;

// Of those `layers` (nodes of the float graph) that are linear and compute in integers. Error: the plan does not fit the graph.
Result<SourcesByLayer> measure_sources(const Graph& graph, const Plan& plan, std::span<const std::string> layers, std::span<const Sample> samples);

}  // namespace narrow
