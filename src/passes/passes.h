// Graph -> graph, float, meaning-preserving. Each pass is a free function that returns how many rewrites it made; the
// table in passes.cpp gives their order and why. No pass names an operator: they read the descriptors of ops/op_def.h.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"

namespace narrow {

std::size_t fold_constants(Graph& graph);

}  // namespace narrow
