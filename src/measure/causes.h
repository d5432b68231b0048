// Which layer hurts, and why: reads the comparison together with what the data look like and what was decided, and puts
// the reason and the remedy into words. Nothing is changed.
#pragma once

#include <string>
#include <vector>

#include "calibrate/stats.h"
#include "graph/graph.h"
#include "measure/compare.h"
#include "plan/plan.h"

namespace narrow {

struct Finding {
  std::string layer;   // node of the float graph
  std::string why;     // "12.0 % of the values are clipped: ..."
  std::string advice;  // what to try
  bool operator==(const Finding&) const = default;
};

// Indices into comparison.layers of the integer layers that compute, the most damaged first: by what they cost at the
// outputs where that was measured, else by isolated SQNR; then by cumulative.
std::vector<std::size_t> by_damage(const Comparison& comparison);

// Findings of the `worst` most damaged layers whose isolated SQNR is below 40 dB; every such layer has at least one.
std::vector<Finding> find_causes(const Graph& graph, const Stats& stats, const Plan& plan, const Comparison& comparison, std::size_t worst = 8);

// What stands out about one value: where most of it lies, how far its channels differ.
struct Spread {
  double low = 0, high = 0;        // all but `tail` of the values on each side lie within
  double channel_ratio = 1;        // widest channel range over the median one
};
Spread spread_of(const ValueStats& stats, double tail = 0.0005);

}  // namespace narrow
