// Graph -> graph, float, meaning-preserving. Each pass is a free function that returns how many rewrites it made; the
// table in passes.cpp gives their order and the reason for it. No pass names an operator: they read the hooks and
// descriptors of ops/op_def.h.
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

struct Pass {
  std::string_view name;
  std::size_t (*run)(Graph& graph) = nullptr;
  bool to_fixed_point = false;  // repeated until it finds nothing
};
std::span<const Pass> all_passes();

struct PassOptions {
  std::vector<std::string> only = {};      // names, in the table's order; empty: all
  std::vector<std::string> disabled = {};
  // Called after each pass that changed something; for dumps.
  std::function<void(std::string_view pass, const Graph& graph)> observer = {};
};

struct PassReport {
  std::string name;
  std::size_t rewrites = 0;
  double seconds = 0;
};

// Goes through the table until a whole round changes nothing. The graph is verified after each pass that changed it.
// Error: a pass name that does not exist.
Result<std::vector<PassReport>> run_passes(Graph& graph, const PassOptions& options = {});

// --- the passes, in the order of the table
std::size_t fold_constants(Graph& graph);         // what is known now becomes a constant
std::size_t recognize_composites(Graph& graph);   // x * sigmoid(x) becomes one node (OpDef::recognize)
std::size_t sink_transposes(Graph& graph);        // Transposes move towards the outputs and cancel in pairs
std::size_t lift_transposes(Graph& graph);        // those behind the preparation of a graph input move in front of it
std::size_t absorb_producers(Graph& graph);       // Pad into a convolution, Reshape into Reshape (OpDef::absorb_producer)
std::size_t fold_affine(Graph& graph);            // y = s x + t goes into the weights beside it
std::size_t standalone_affine(Graph& graph);      // what is left of these becomes a depthwise 1x1 convolution
std::size_t fuse_activation(Graph& graph);        // an elementwise function becomes part of its producer
std::size_t dead_code(Graph& graph);              // nodes and constants that no output needs

}  // namespace narrow
