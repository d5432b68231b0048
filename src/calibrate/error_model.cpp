#include "calibrate/error_model.h"

#include <algorithm>
#include <cmath>

namespace narrow {
namespace {

using Moments = ErrorModel::Moments;

Moments operator-(const Moments& a, const Moments& b) { return {a.mass - b.mass, a.first - b.first, a.second - b.second}; }

// Sum of (x - v)^2 over the part with these moments; differences of prefix sums may fall a hair below zero.
double spread(const Moments& m, double v) { return std::max(0.0, m.second - 2 * v * m.first + v * v * m.mass); }

}  // namespace

ErrorModel::ErrorModel(const DyadicHistogram& histogram) : width_(histogram.width()), origin_(histogram.empty() ? 0 : histogram.left_edge(0)) {
  const std::size_t bins = histogram.counts().size();
  mass_.resize(bins + 1);
  first_.resize(bins + 1);
  second_.resize(bins + 1);
  for (std::size_t i = 0; i < bins; ++i) {
    const double m = static_cast<double>(histogram.counts()[i]), e = histogram.left_edge(i), w = width_;
    mass_[i + 1] = mass_[i] + m;
    first_[i + 1] = first_[i] + m * (e + w / 2);
    second_[i + 1] = second_[i] + m * (e * e + e * w + w * w / 3);
  }
}

Moments ErrorModel::below(double x) const {
  const double position = (x - origin_) / width_;
  const std::size_t bins = mass_.size() - 1;
  if (!(position > 0)) return {};
  if (position >= static_cast<double>(bins)) return {mass_[bins], first_[bins], second_[bins]};
  const auto i = static_cast<std::size_t>(position);
  const double part = position - static_cast<double>(i), length = part * width_;
  const double m = (mass_[i + 1] - mass_[i]) * part, e = origin_ + static_cast<double>(i) * width_;
  return {mass_[i] + m, first_[i] + m * (e + length / 2), second_[i] + m * (e * e + e * length + length * length / 3)};
}

double ErrorModel::quantile(double mass) const {
  const auto it = std::lower_bound(mass_.begin(), mass_.end(), mass);
  if (it == mass_.begin()) return origin_;
  if (it == mass_.end()) return origin_ + static_cast<double>(mass_.size() - 1) * width_;
  const auto i = static_cast<std::size_t>(it - mass_.begin()) - 1;  // mass_[i] < mass <= mass_[i + 1]
  return origin_ + (static_cast<double>(i) + (mass - mass_[i]) / (mass_[i + 1] - mass_[i])) * width_;
}

double ErrorModel::low_clip_cost(double lo) const { return spread(below(lo), lo); }
double ErrorModel::high_clip_cost(double hi) const { return spread(Moments{mass_.back(), first_.back(), second_.back()} - below(hi), hi); }

double ErrorModel::cost(const QuantParams& params, double clip_weight) const {
  const double lo = params.lowest(), hi = params.highest(), step = static_cast<double>(params.scale[0]);
  double sum = clip_weight * (low_clip_cost(lo) + high_clip_cost(hi));
  if (step <= 2 * width_) return sum + (below(hi) - below(lo)).mass * step * step / 12;
  // Only levels whose cells the histogram reaches.
  const double end = origin_ + static_cast<double>(mass_.size() - 1) * width_;
  const auto levels = static_cast<double>(params.qmax() - params.qmin());
  const double first = std::clamp(std::floor((origin_ - lo) / step), 0.0, levels), last = std::clamp(std::ceil((end - lo) / step), 0.0, levels);
  Moments left = below(lo + std::max(0.0, first - 0.5) * step);
  for (double q = first; q <= last; ++q) {
    const Moments right = below(lo + std::min(q + 0.5, levels) * step);
    sum += spread(right - left, lo + q * step);
    left = right;
  }
  return sum;
}

}  // namespace narrow
