// Which layer hurts, and why: reads the comparison together with what the data look like and what was decided, and puts
// the reason and the remedies into words. Nothing is changed; measure/trials.h tells which remedies help.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/stats.h"
#include "graph/graph.h"
#include "measure/compare.h"
#include "measure/sources.h"
#include "plan/plan.h"

namespace narrow {

struct Finding {
  std::string layer;                 // node of the float graph
  std::string why;                   // "12.0 % of the values are clipped: ..."
  std::vector<std::string> wishes;   // entries of the recipe's `layers`, the likeliest remedy first; empty: none is known
  std::optional<double> output_db = std::nullopt;  // of the outputs with wishes[0], once tried
  std::string advice() const;        // the first wish; empty without one
  bool operator==(const Finding&) const = default;
};

// What an advice must bring at the outputs, in dB, to be worth following.
constexpr double kHelps = 0.1;

// What to try, and what it was measured to bring at the outputs (SQNR of the worst one in dB; nullopt: not tried, or refused).
struct Advice {
  std::vector<Finding> findings;
  std::optional<double> before_db, together_db, weights_only_db;  // weights_only: nothing but the weights rounded
  std::int64_t samples = 0;
  std::vector<std::string> points;  // values measured instead of outputs that were squeezed into [0, 1]
};

// Indices into comparison.layers of the integer layers that compute, the most damaged first: by what they cost at the
// outputs where that was measured, else by isolated SQNR; then by cumulative.
std::vector<std::size_t> by_damage(const Comparison& comparison);
// Names of the `worst` most damaged layers: those below 40 dB at the outputs where that was measured, else alone.
std::vector<std::string> damaged_layers(const Comparison& comparison, std::size_t worst = 8);

// One finding for each of damaged_layers(). `sources` may be empty.
std::vector<Finding> find_causes(const Graph& graph, const Stats& stats, const Plan& plan, const Comparison& comparison, const SourcesByLayer& sources, std::size_t worst = 8);

// What stands out about one value: where most of it lies, how far its channels differ.
struct Spread {
  double low = 0, high = 0;        // all but `tail` of the values on each side lie within
  double channel_ratio = 1;        // widest channel range over the median one
};
Spread spread_of(const ValueStats& stats, double tail = 0.0005);

}  // namespace narrow
