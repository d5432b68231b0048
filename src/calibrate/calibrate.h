// One pass over the data: the float network runs sample by sample, one sample per thread, and an observer adds every site's tensor
// to its statistics. Memory per thread is packed weights, live activations, statistics and a sample, whatever the number of samples.
#pragma once

#include <span>
#include <string>

#include "base/diagnostics.h"
#include "base/progress.h"
#include "calibrate/stats.h"
#include "data/dataset.h"
#include "graph/graph.h"

namespace narrow {

struct CalibrateOptions {
  std::int64_t limit = -1;             // at most this many samples; -1: all
  Progress* progress = nullptr;        // steps of the phase that the caller has begun; may be nullptr
  Diagnostics* diagnostics = nullptr;  // warnings: samples that cannot be read, infinities; may be nullptr
};

// Statistics of the f32 values among `sites` (quantizer_sites() in plan/plan.h). Samples that cannot be read are named in a
// warning and skipped. Errors: none remains; a NaN in an activation (names the layer and the sample); interrupted.
Result<Stats> calibrate(const Graph& graph, std::span<const ValueId> sites, const Dataset& dataset, const CalibrateOptions& options = {});

// From the file of Stats::to_json(): JSON with a version and the hash of the graph. Errors: unreadable, or made for another graph.
Result<Stats> load_stats(const std::string& path, const Graph& graph);

}  // namespace narrow
