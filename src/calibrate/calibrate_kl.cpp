// The entropy calibrator: the threshold t on |x| whose clipped and quantized distribution Q is nearest to the clipped one P,
// in Kullback-Leibler divergence (Migacz, "8-bit inference with TensorRT", GTC 2017), with four
// differences (docs/calibration.md): fractional groups, as wide as the real step of the candidate range; the mass of a group spread over
// its non-empty bins; the spike at zero replaced by its neighbour; ties prefer the larger threshold.
#include <algorithm>
#include <cmath>
#include <limits>

#include "calibrate/calibrators.h"

namespace narrow {
namespace {

constexpr int kFewestBins = 30;  // occupied bins under which a divergence means nothing
constexpr double kNever = std::numeric_limits<double>::infinity();

class Entropy {
 public:
  // counts of |x|, bin i covering [i, i+1) bin widths.
  explicit Entropy(std::vector<double> counts) : counts_(std::move(counts)), mass_(counts_.size() + 1), occupied_(counts_.size() + 1), log_(counts_.size() + 1) {
    for (std::size_t k = 0; k < counts_.size(); ++k) {
      const double c = counts_[k];
      mass_[k + 1] = mass_[k] + c;
      occupied_[k + 1] = occupied_[k] + (c > 0 ? 1 : 0);
      log_[k + 1] = log_[k] + (c > 0 ? c * std::log(c) : 0);
    }
  }

  // KL(P || Q) of keeping the first `bins` bins in groups of `group` bins (>= 1).
  //   P: counts, all mass beyond added to the last bin;  Q: group means over occupied bins. Both normalised:
  //   KL = (sum P ln P - sum P ln Q) / total + ln(total of Q / total of P)
  double divergence(std::size_t bins, double group) const {
    const double total = mass_.back(), outliers = total - mass_[bins];
    const double last = counts_[bins - 1];
    if (last == 0 && outliers > 0) return kNever;  // P has mass where Q has none
    double p_log_p = log_[bins] - (last > 0 ? last * std::log(last) : 0);
    if (last + outliers > 0) p_log_p += (last + outliers) * std::log(last + outliers);
    double p_log_q = 0;
    const double end = static_cast<double>(bins);
    const auto value_at = [&](const std::vector<double>& prefix, double x) {  // prefix sum at a fractional bin
      const auto k = static_cast<std::size_t>(x);
      return k >= bins ? prefix[bins] : prefix[k] + (x - static_cast<double>(k)) * (prefix[k + 1] - prefix[k]);
    };
    double border_density = 0;  // of the part of the bin under the left border, from the previous group
    for (double left = 0; left < end; left += group) {
      const double right = std::min(left + group, end);
      const double mass = value_at(mass_, right) - value_at(mass_, left), filled = value_at(occupied_, right) - value_at(occupied_, left);
      const double density = filled > 0 ? mass / filled : 0;
      auto first = static_cast<std::size_t>(left);
      const double cut = left - static_cast<double>(first);
      if (cut > 0) {  // bin `first` is shared with the previous group
        const double here = std::min(1 - cut, right - left);
        add(first, border_density + here * density, bins, outliers, &p_log_q);
        ++first;
      }
      const auto whole_end = static_cast<std::size_t>(right);
      if (whole_end > first) {
        const double inside = mass_[whole_end] - mass_[first] + (whole_end == bins ? outliers : 0);
        if (inside > 0) p_log_q += inside * std::log(density);
      }
      border_density = (right - static_cast<double>(whole_end)) * density;
    }
    return (p_log_p - p_log_q) / total + std::log(mass_[bins] / total);
  }

 private:
  void add(std::size_t bin, double q, std::size_t bins, double outliers, double* p_log_q) const {
    const double p = counts_[bin] + (bin + 1 == bins ? outliers : 0);
    if (counts_[bin] > 0 || p > 0) *p_log_q += p * std::log(q);
  }

  std::vector<double> counts_, mass_, occupied_, log_;
};

}  // namespace

Range choose_kl(const ValueStats& stats, const CalibratorChoice&, const GridOptions& grid, std::span<const double>) {
  const DyadicHistogram& histogram = stats.histogram;
  const Range all{std::min(0.0, static_cast<double>(stats.min)), std::max(0.0, static_cast<double>(stats.max))};
  std::vector<double> counts;
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    const std::int64_t bin = histogram.first_bin() + static_cast<std::int64_t>(i);
    const auto k = static_cast<std::size_t>(bin >= 0 ? bin : -bin - 1);
    if (counts.size() <= k) counts.resize(k + 1);
    counts[k] += static_cast<double>(histogram.counts()[i]);
  }
  if (std::count_if(counts.begin(), counts.end(), [](double c) { return c > 0; }) < kFewestBins) return all;
  counts[0] = counts[1];
  const Entropy entropy(counts);
  const std::size_t stride = std::max<std::size_t>(1, counts.size() / 1024);
  Range best = all;
  double least = kNever;
  for (std::size_t bins = counts.size() % stride == 0 ? stride : counts.size() % stride; bins <= counts.size(); bins += stride) {
    const double threshold = static_cast<double>(bins) * histogram.width();
    const Range range{std::max(all.lo, -threshold), std::min(all.hi, threshold)};
    const double step = static_cast<double>(params_from_range(range.lo, range.hi, grid).scale[0]) / histogram.width();
    if (step < 1) continue;  // finer than the histogram: it cannot tell
    const double divergence = entropy.divergence(bins, step);
    if (divergence <= least) {
      least = divergence;
      best = range;
    }
  }
  return best;
}

}  // namespace narrow
