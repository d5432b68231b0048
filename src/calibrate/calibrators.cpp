#include "calibrate/calibrators.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "calibrate/error_model.h"

namespace narrow {
namespace {

Range observed(const ValueStats& stats) { return {std::min(0.0, static_cast<double>(stats.min)), std::max(0.0, static_cast<double>(stats.max))}; }

Range choose_max(const ValueStats& stats, const CalibratorChoice&, const GridOptions&, std::span<const double>) { return observed(stats); }

// The cut is shared by both ends; all of it falls on one end when the data lie on one side of zero.
Range choose_percentile(const ValueStats& stats, const CalibratorChoice& choice, const GridOptions& grid, std::span<const double>) {
  const ErrorModel model(stats.histogram);
  const double cut = (1 - choice.percentile / 100) * model.total();
  const Range all = observed(stats);
  if (grid.symmetric && all.lo < 0) {  // quantile of |x|, by bisection on the threshold
    double low = 0, high = std::max(-all.lo, all.hi);
    for (int i = 0; i < 60; ++i) {
      const double t = (low + high) / 2;
      (model.below(-t).mass + model.total() - model.below(t).mass > cut ? low : high) = t;
    }
    return {-high, high};
  }
  const bool two_sided = all.lo < 0 && all.hi > 0;
  const double per_side = two_sided ? cut / 2 : cut;
  return {all.lo < 0 ? model.quantile(per_side) : 0, all.hi > 0 ? model.quantile(model.total() - per_side) : 0};
}

// Mean of the samples' own extremes: what an average over batches converges to, but independent of their order.
Range choose_moving_average(const ValueStats& stats, const CalibratorChoice&, const GridOptions&, std::span<const double>) {
  const auto samples = static_cast<double>(stats.samples);
  return {stats.sum_of_min.value() / samples, stats.sum_of_max.value() / samples};
}

constexpr Calibrator kCalibrators[] = {
    {"output_mse", choose_output_mse},          // least expected squared error of what the layers that read the value compute (default)
    {"mse", choose_mse},                        // least expected squared error, both ends jointly
    {"max", choose_max},                        // the exact observed minimum and maximum
    {"percentile", choose_percentile},          // keeps a share of the mass, e.g. 'percentile 99.99'
    {"moving_average", choose_moving_average},  // mean of the samples' own minima and maxima
    {"kl", choose_kl},                          // least Kullback-Leibler divergence of the clipped and quantized distribution
    {"sqnr", choose_sqnr},                      // least error with clipping weighted threefold, 17 steps x 21 offsets
};

}  // namespace

std::span<const Calibrator> calibrators() { return kCalibrators; }

std::string CalibratorChoice::to_string() const {
  std::string text(calibrator->name);
  return calibrator->choose == choose_percentile ? text + " " + exact(percentile) : text;
}

Result<CalibratorChoice> calibrator_from_name(std::string_view name, double percentile) {
  CalibratorChoice choice{&kCalibrators[0], percentile};
  const std::string_view word = trim(name.substr(0, name.find(' ')));
  const std::string rest = word.size() < name.size() ? std::string(trim(name.substr(word.size()))) : "";
  if (!word.empty()) {
    const auto* it = std::find_if(std::begin(kCalibrators), std::end(kCalibrators), [&](const Calibrator& c) { return c.name == word; });
    if (it == std::end(kCalibrators)) {
      std::vector<std::string> names;
      for (const Calibrator& c : kCalibrators) names.emplace_back(c.name);
      const std::string hint = did_you_mean(word, names);
      return error("no calibrator is called '{}'", word).with_help(hint.empty() ? "there are " + join(names, ", ") : hint);
    }
    choice.calibrator = it;
  }
  if (!rest.empty()) {
    char* end = nullptr;
    choice.percentile = std::strtod(rest.c_str(), &end);
    if (*end != '\0' || choice.calibrator->choose != choose_percentile) return error("'{}' after calibrator '{}' has no meaning", rest, word).with_help("only 'percentile' takes a number, e.g. 'percentile 99.9'");
  }
  if (!(choice.percentile > 50 && choice.percentile <= 100)) {
    return error("a percentile of {} was given, wanted more than 50 and at most 100", exact(choice.percentile)).with_help("99.99 keeps all but one in ten thousand elements");
  }
  return choice;
}

Range choose_range(const ValueStats& stats, const CalibratorChoice& choice, const GridOptions& grid, std::span<const double> importance) {
  if (stats.histogram.empty()) return {};
  const Range all = observed(stats);
  const Range wanted = choice.calibrator->choose(stats, choice, grid, importance);
  Range range{std::clamp(wanted.lo, all.lo, 0.0), std::clamp(wanted.hi, 0.0, all.hi)};
  if (range.lo == 0 && range.hi == 0) range = all;  // data too small for the calibrator's resolution
  return range;
}

}  // namespace narrow
