// Layer by layer: the float graph against a network made from it (same value names), on samples. Views of every layer:
//   cumulative  the value as the network runs end to end: what all layers up to here have done
//   isolated    the layer alone, fed with the float network's values quantized on the layer's own input grids: what this
//               layer does
//   output      the network's outputs when this layer alone is quantized and all others stay float: what it costs in the end (on
//               request: one more float run per layer)
// Samples stream: memory holds the float values of one sample, never of all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/error.h"
#include "base/progress.h"
#include "data/dataset.h"
#include "graph/graph.h"
#include "measure/metrics.h"

namespace narrow {

struct LayerComparison {
  std::string node, op, value;          // of the float graph
  std::vector<std::string> origin;      // names in the original model
  bool integer = false;                 // does the network hold integers here?
  bool moves = false;                   // passes one input on without arithmetic (Reshape): what it shows is its input's damage
  QuantParams params = {};              // when it does: the grid of `value` in the network
  ErrorMetrics cumulative = {}, isolated = {};
  ErrorMetrics output = {};             // empty unless asked for
  ClipMeter clipped = {};
  double min = 0, max = 0;              // of the float value on these samples
  bool has_output() const { return output.elements() + output.non_finite() > 0; }
};

struct OutputComparison {
  std::string name;
  ErrorMetrics metrics;
  bool scores = false;                  // one row of numbers, as a classifier gives them: the largest one is the answer
  std::int64_t same_argmax = 0;         // of scores: samples with the same answer
};

struct Comparison {
  std::int64_t samples = 0;
  std::vector<LayerComparison> layers;  // in the float graph's order
  std::vector<OutputComparison> outputs;
  double lowest_output_sqnr() const;    // over the outputs; +inf when all are equal
  double lowest_output_cosine() const;  // 1 without outputs
  double argmax_agreement() const;      // in percent, of the first output; 100 when that is not a row of scores
};

struct CompareOptions {
  std::int64_t first = 0;
  std::int64_t samples = 8;             // at most
  std::int64_t output_samples = 0;      // of these, how many measure every layer's cost at the outputs
  Diagnostics* diagnostics = nullptr;   // gets a warning for every sample that is passed over
};

// Warns of the first layer whose values are NaN or infinite in the network and not in the float graph.
void report_lost(const Graph& reference, const Comparison& comparison, Diagnostics& diagnostics);

// Samples that cannot be read are passed over. Error: inputs of the two differ, no sample can be read, interrupted.
Result<Comparison> compare_layers(const Graph& reference, const Graph& network, const Dataset& dataset, const CompareOptions& options, Progress& progress);

}  // namespace narrow
