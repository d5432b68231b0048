// How much an error in each channel of a value matters to the linear layers that read it.
#pragma once

#include <vector>

#include "calibrate/stats.h"
#include "graph/graph.h"
#include "plan/islands.h"

namespace narrow {

// Weights l[c] such that sum over c of l[c] * e[c], for squared errors e[c] per element of channel c, is the relative squared
// error (error / variance, mean over output channels, mean over readers) of what the linear readers compute, inputs taken as
// independent:  l[c] = mean over o of W[o,c]^2 / sum over c' of W[o,c']^2 * variance[c'], with W^2 summed over the kernel.
// A depthwise reader whose result only linear layers read stands for these: they see its channels weighed by its kernels. Where
// other operators read the value too (a residual sum, a concatenation), its own relative error counts as much. Empty when nothing
// tells channels apart: no channel statistics, no linear reader.
std::vector<double> channel_importance(const Graph& graph, ValueId value, const ValueStats& stats, const std::vector<NodeChoice>& choices);

}  // namespace narrow
