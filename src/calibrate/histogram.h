// Dyadic histogram: bin width 2^exponent, bin i covers [i, i+1) * 2^exponent for signed i = floor(x / 2^exponent). At
// most kMaxBins bins are spanned; when data exceed the span the exponent grows and indices shift right by one, which is
// an exact merge (floor(floor(x/w)/2) = floor(x/2w)). The final histogram is therefore a function of the set of samples:
// independent of order, batch size and threads, and partial results merge exactly. 64-bit counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"

namespace narrow {

class DyadicHistogram {
 public:
  static constexpr std::int64_t kMaxBins = 4096;
  static constexpr int kMinExponent = -100;

  // Makes room for [lo, hi] (finite): the smallest exponent, not below the present one, at which the span fits.
  void cover(float lo, float hi);
  // Counts finite values; all of them must lie in a covered interval.
  void add(std::span<const float> values);
  void add_count(std::int64_t bin, std::uint64_t count);  // bin index at the present exponent; must be covered
  void merge(const DyadicHistogram& other);

  bool empty() const { return counts_.empty(); }
  int exponent() const { return exponent_; }
  double width() const;                       // 2^exponent
  std::int64_t first_bin() const { return first_; }   // index of counts()[0]
  std::span<const std::uint64_t> counts() const { return counts_; }
  double left_edge(std::size_t i) const { return static_cast<double>(first_ + static_cast<std::int64_t>(i)) * width(); }
  double center(std::size_t i) const { return left_edge(i) + width() / 2; }
  std::uint64_t total() const;
  bool operator==(const DyadicHistogram&) const = default;

  Json to_json() const;
  static Result<DyadicHistogram> from_json(const Json& json);

 private:
  void coarsen(int exponent);
  void extend(std::int64_t first, std::int64_t last);
  int exponent_ = kMinExponent;
  std::int64_t first_ = 0;
  std::vector<std::uint64_t> counts_;
};

}  // namespace narrow
