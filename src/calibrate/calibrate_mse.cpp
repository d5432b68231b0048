// The calibrators that minimise expected error. mse: both ends move on a logarithmic grid, coarse to fine; the objective is
// not convex, hence the grid. output_mse: where mse would leave the layers that read the value with a large error, the same
// search with every channel's error counted by its importance to these layers, so that a few wide channels cannot buy their
// tails with the resolution of all others. sqnr: the fixed grid of 17 steps and 21 offsets with a clipping error that counts
// three times (specs of the candidates: AIMET "TF-enhanced").
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "calibrate/calibrators.h"
#include "calibrate/error_model.h"

namespace narrow {
namespace {

constexpr double kOctaves = 8;       // ends shrink to 1/256 at most
constexpr double kCoarseStep = 0.25;  // octaves
constexpr double kFineStep = 1.0 / 64;
// output_mse keeps the plain range while its readers see a relative error below this (25 dB): clipping what is rare has effects
// that no second-order model sees, so it must buy something.
constexpr double kHarmless = 0.003;

// Sum over channels of importance * expected squared error. Rounding noise is alike in all channels; what is clipped at an end comes from
// the channels that reach beyond it, in proportion to the squares of how far they do. No channel loses more than if it were replaced by
// a constant: its variance, and the square of what its mean is moved by when that lies outside.
class ChannelErrors {
 public:
  ChannelErrors(const ValueStats& stats, std::span<const double> importance) : stats_(&stats), importance_(importance) {
    for (std::size_t c = 0; c < stats.channel_min.size(); ++c) {
      variances_.push_back(stats.channel_variance(c));
      means_.push_back(stats.channel_mean(c));
    }
  }

  // Mean squared errors per element of the whole tensor: of rounding, of clipping below lo and above hi.
  double cost(double rounding, double below, double lo, double above, double hi) const {
    double far_below = 0, far_above = 0;
    for (std::size_t c = 0; c < variances_.size(); ++c) {
      far_below += square(std::max(0.0, lo - static_cast<double>(stats_->channel_min[c])));
      far_above += square(std::max(0.0, static_cast<double>(stats_->channel_max[c]) - hi));
    }
    const auto channels = static_cast<double>(variances_.size());
    const double low_share = far_below > 0 ? below * channels / far_below : 0, high_share = far_above > 0 ? above * channels / far_above : 0;
    double sum = 0;
    for (std::size_t c = 0; c < variances_.size(); ++c) {
      const double error = rounding + low_share * square(std::max(0.0, lo - static_cast<double>(stats_->channel_min[c]))) +
                           high_share * square(std::max(0.0, static_cast<double>(stats_->channel_max[c]) - hi));
      sum += importance_[c] * std::min(error, variances_[c] + square(std::max({0.0, lo - means_[c], means_[c] - hi})));
    }
    return sum;
  }

 private:
  static double square(double x) { return x * x; }
  const ValueStats* stats_;
  std::span<const double> importance_;
  std::vector<double> variances_, means_;
};

class Search {
 public:
  // importance: empty for the plain mean square.
  Search(const ValueStats& stats, const GridOptions& grid, std::span<const double> importance)
      : model_(stats.histogram), grid_(grid), all_{std::min(0.0, static_cast<double>(stats.min)), std::max(0.0, static_cast<double>(stats.max))} {
    if (!importance.empty()) channels_ = std::make_unique<const ChannelErrors>(stats, importance);
  }

  // Octaves by which the ends are moved inwards -> range.
  Range range_at(double lo_octaves, double hi_octaves) const {
    if (grid_.symmetric) {
      const double bound = std::max(-all_.lo, all_.hi) * std::exp2(-hi_octaves);
      return {std::max(all_.lo, -bound), std::min(all_.hi, bound)};
    }
    return {all_.lo * std::exp2(-lo_octaves), all_.hi * std::exp2(-hi_octaves)};
  }

  void look(double lo_octaves, double hi_octaves) {
    if (lo_octaves < 0 || hi_octaves < 0) return;
    const QuantParams params = params_from_range(range_at(lo_octaves, hi_octaves).lo, range_at(lo_octaves, hi_octaves).hi, grid_);
    const double below = model_.low_clip_cost(params.lowest()), above = model_.high_clip_cost(params.highest()), n = model_.total();
    if (found_ && !channels_ && below + above >= best_cost_) return;
    double cost = model_.cost(params);
    if (channels_) cost = channels_->cost((cost - below - above) / n, below / n, params.lowest(), above / n, params.highest());
    if (found_ && !(cost < best_cost_)) return;
    found_ = true;
    best_cost_ = cost;
    lo_ = lo_octaves;
    hi_ = hi_octaves;
  }

  // Error of a range as its readers see it (relative when the importance is that of linear readers).
  double weighed_error(const Range& range) const {
    const QuantParams params = params_from_range(range.lo, range.hi, grid_);
    const double below = model_.low_clip_cost(params.lowest()), above = model_.high_clip_cost(params.highest()), n = model_.total();
    return channels_->cost((model_.cost(params) - below - above) / n, below / n, params.lowest(), above / n, params.highest());
  }

  Range run() {
    const bool lo_moves = all_.lo < 0 && !grid_.symmetric;
    const bool hi_moves = all_.hi > 0 || grid_.symmetric;
    look(0, 0);  // ties keep the wider range
    for (double lo = 0; lo <= (lo_moves ? kOctaves : 0); lo += kCoarseStep) {
      for (double hi = 0; hi <= (hi_moves ? kOctaves : 0); hi += kCoarseStep) look(lo, hi);
    }
    for (double step = kCoarseStep / 2; step >= kFineStep; step /= 2) {
      for (bool moved = true; moved;) {
        const double lo = lo_, hi = hi_;
        for (int i = -1; i <= 1; ++i) {
          for (int j = -1; j <= 1; ++j) look(lo + (lo_moves ? i * step : 0), hi + (hi_moves ? j * step : 0));
        }
        moved = lo_ != lo || hi_ != hi;
      }
    }
    return range_at(lo_, hi_);
  }

 private:
  ErrorModel model_;
  std::unique_ptr<const ChannelErrors> channels_;  // nullptr: plain mean square
  GridOptions grid_;
  Range all_;
  bool found_ = false;
  double best_cost_ = 0, lo_ = 0, hi_ = 0;
};

}  // namespace

Range choose_mse(const ValueStats& stats, const CalibratorChoice&, const GridOptions& grid, std::span<const double>) { return Search(stats, grid, {}).run(); }
Range choose_output_mse(const ValueStats& stats, const CalibratorChoice&, const GridOptions& grid, std::span<const double> importance) {
  const Range plain = Search(stats, grid, {}).run();
  if (importance.empty()) return plain;
  Search weighed(stats, grid, importance);
  return weighed.weighed_error(plain) <= kHarmless ? plain : weighed.run();
}

Range choose_sqnr(const ValueStats& stats, const CalibratorChoice&, const GridOptions& grid, std::span<const double>) {
  constexpr double kGamma = 3;
  const ErrorModel model(stats.histogram);
  const double min = std::min(0.0, static_cast<double>(stats.min)), max = std::max(0.0, static_cast<double>(stats.max));
  const QuantParams whole = params_from_range(min, max, grid);
  const double steps = static_cast<double>(whole.qmax() - whole.qmin());
  Range best{min, max};
  double best_cost = model.cost(whole, kGamma);
  // Ends, not codes: the grid that is made of the chosen range later must be the one that was measured here.
  const auto consider = [&](double lo, double hi) {
    const double cost = model.cost(params_from_range(lo, hi, grid), kGamma);
    if (cost < best_cost) {
      best_cost = cost;
      best = {lo, hi};
    }
  };
  if (grid.symmetric) {
    const auto above_zero = static_cast<double>(whole.qmax() - whole.zero_point[0]);
    const double full = std::max(-min, max) / (whole.zero_point[0] == whole.qmin() ? steps : steps / 2);
    for (int f = 1; f <= 101; ++f) {
      const double end = full * f / 100 * above_zero;
      consider(min < 0 ? -end : 0, end);
    }
    return best;
  }
  const double full = static_cast<double>(whole.scale[0]);
  for (int f = 1; f <= 17; ++f) {
    const double step = full * f / 16;
    for (int i = 0; i <= 20; ++i) {
      const double offset = std::trunc(-steps + steps / 20 * i);  // real = step * (code + offset)
      const double lo = step * offset, hi = step * (offset + steps);
      if (lo < whole.lowest() && hi > whole.highest()) continue;  // wider than the data on both sides
      const double lower = std::max(lo, min), upper = std::min(hi, max);  // contain 0, as offset is in [-steps, 0]
      if (upper > lower) consider(lower, upper);
    }
  }
  return best;
}

}  // namespace narrow
