// What the data look like: per observed value exact min/max over every element, per-channel min, max and mean, a dyadic
// histogram (of a fixed, deterministic subset of large tensors), and counts of what cannot be quantized. A function of
// the set of samples only: order, batch size, threads do not matter, and Stats of two halves merge to the Stats of the
// whole, bit for bit. Sums are therefore kept as integers (fixed point), never as floats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "calibrate/histogram.h"
#include "graph/graph.h"

namespace narrow {

// A sum of doubles in fixed point (quantum 2^-40): exact, associative, commutative.
struct ExactSum {
  __int128 quanta = 0;
  void add(double x);
  void merge(const ExactSum& other) { quanta += other.quanta; }
  double value() const;
  bool operator==(const ExactSum&) const = default;
};

struct ValueStats {
  std::string value;                       // name in the graph
  std::uint64_t elements = 0;              // seen, over all samples
  std::uint64_t samples = 0;
  std::uint64_t nan_count = 0, inf_count = 0;  // counted and reported, never averaged in
  float min = 0, max = 0;                  // of the finite elements
  std::vector<float> channel_min, channel_max;  // along the last axis; empty when that axis is longer than kMaxChannels
  std::vector<ExactSum> channel_sum;       // of per-sample channel means: mean = value() / samples
  std::vector<ExactSum> channel_squares;   // of per-sample channel means of x^2
  ExactSum sum_of_min, sum_of_max;         // of per-sample extremes, for the moving-average calibrator
  DyadicHistogram histogram;
  static constexpr std::int64_t kMaxChannels = 8192;
  double channel_mean(std::size_t c) const { return samples == 0 ? 0 : channel_sum[c].value() / static_cast<double>(samples); }
  double channel_variance(std::size_t c) const;  // over all samples, >= 0
  void merge(const ValueStats& other);     // same value
  bool operator==(const ValueStats&) const = default;
};

struct Stats {
  std::uint64_t graph_hash = 0;
  std::uint64_t samples = 0;
  std::vector<ValueStats> values;          // in graph order
  const ValueStats* find(std::string_view value) const;
  Status merge(const Stats& other);        // error when made for another graph
  std::uint64_t hash() const;
  Json to_json() const;
  static Result<Stats> from_json(const Json& json);
  bool operator==(const Stats&) const = default;
};

}  // namespace narrow
