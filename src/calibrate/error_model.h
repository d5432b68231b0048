// Expected squared error of a quantizer over a histogram, from prefix sums of the mass and its first two moments: exact up
// to the distribution within a bin, which is taken as uniform. O(levels) per candidate, whatever the number of bins; O(1)
// where a step is not wider than two bins, so that the error inside is step^2 / 12 (Bennett 1948).
#pragma once

#include <vector>

#include "calibrate/histogram.h"
#include "tensor/quant_params.h"

namespace narrow {

class ErrorModel {
 public:
  explicit ErrorModel(const DyadicHistogram& histogram);

  struct Moments { double mass = 0, first = 0, second = 0; };
  Moments below(double x) const;  // of the part of the distribution under x
  double total() const { return mass_.back(); }
  double quantile(double mass) const;  // the x under which this much mass lies
  // Sums over all elements of (x - clamp(x, lo, hi))^2, at either end.
  double low_clip_cost(double lo) const;
  double high_clip_cost(double hi) const;
  // Sum over all elements of (x - Q(x))^2; errors of clipped elements count clip_weight times. Per tensor.
  double cost(const QuantParams& params, double clip_weight = 1) const;

 private:
  double width_;
  double origin_;                              // left edge of bin 0
  std::vector<double> mass_, first_, second_;  // prefix sums; entry i: bins before i
};

}  // namespace narrow
