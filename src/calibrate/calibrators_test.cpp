#include "calibrate/calibrators.h"

#include <algorithm>
#include <cmath>

#include "calibrate/error_model.h"
#include "calibrate/observe.h"
#include "support.h"

namespace narrow {
namespace {

using test::must;

ValueStats stats_of(const std::vector<float>& values) {
  ValueStats stats;
  stats.value = "x";
  observe(Tensor::of<float>({static_cast<std::int64_t>(values.size()), 1}, values), stats);
  return stats;
}

template <typename Distribution>
std::vector<float> draw(Distribution d, std::size_t n, std::uint64_t seed = 5) {
  std::mt19937_64 rng(seed);
  std::vector<float> values(n);
  for (float& x : values) x = static_cast<float>(d(rng));
  return values;
}

Range choose(const ValueStats& stats, std::string_view name, const GridOptions& grid = {}) {
  return choose_range(stats, must(calibrator_from_name(name, 99.99)), grid);
}

// Independent oracle: quantize every value.
double mean_squared_error(const std::vector<float>& values, Range range, const GridOptions& grid) {
  const QuantParams p = params_from_range(range.lo, range.hi, grid);
  const auto n = static_cast<std::int64_t>(values.size());
  const Tensor x = Tensor::of<float>({n}, values), y = dequantize(quantize(x, p), p);
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::pow(static_cast<double>(x.data<float>()[i]) - static_cast<double>(y.data<float>()[i]), 2);
  return sum / static_cast<double>(n);
}

const GridOptions kSymmetric{.symmetric = true};

TEST(ErrorModel, EqualsQuantizingEveryValue) {
  const std::vector<float> values = draw(std::normal_distribution<double>(0.4, 1.1), 30000);
  const ErrorModel model(stats_of(values).histogram);
  for (const int bits : {4, 8}) {
    for (const Range range : {Range{-4, 5}, Range{-1, 3}, Range{-0.3, 1.5}, Range{0, 2}}) {
      const GridOptions grid{.bits = bits};
      const double exact = mean_squared_error(values, range, grid);
      EXPECT_NEAR(model.cost(params_from_range(range.lo, range.hi, grid)) / 30000, exact, 0.02 * exact) << bits << " bits, " << range.lo << " " << range.hi;
    }
  }
}

TEST(ErrorModel, SixteenBitsUseTheNoiseFormula) {
  const std::vector<float> values = draw(std::normal_distribution<double>(0, 1), 30000);
  const GridOptions grid{.dtype = DType::kI16};
  const double exact = mean_squared_error(values, {-3, 3}, grid);
  EXPECT_NEAR(ErrorModel(stats_of(values).histogram).cost(params_from_range(-3, 3, grid)) / 30000, exact, 0.03 * exact);
}

// The best symmetric clip of a normal distribution, by integrating x^2-error over a dense grid of thresholds.
double best_gaussian_clip(int bits) {
  const double levels = std::pow(2, bits - 1) - 1;
  double best = 0, least = 1e9;
  for (double clip = 1; clip < 6; clip += 0.01) {
    const double step = clip / levels;
    double sum = 0;
    constexpr double kDx = 1e-3;
    for (double x = kDx / 2; x < 8; x += kDx) {
      const double q = std::min(std::round(x / step), levels) * step;
      sum += std::exp(-x * x / 2) * (x - q) * (x - q);
    }
    if (sum < least) {
      least = sum;
      best = clip;
    }
  }
  return best;
}

TEST(Mse, FindsTheKnownClipOfAGaussian) {
  const std::vector<float> values = draw(std::normal_distribution<double>(0, 1), 400000);
  const ValueStats stats = stats_of(values);
  for (const int bits : {4, 6, 8}) {
    const double expected = best_gaussian_clip(bits);
    const Range range = choose(stats, "mse", {.bits = bits, .symmetric = true});
    EXPECT_NEAR(range.hi, expected, 0.05 * expected) << bits << " bits; the optimum is flat";
  }
}

TEST(Mse, BothEndsMoveIndependently) {
  // A short dense negative side and a thin positive tail, as SiLU gives; in 4 bits the lone outlier is not worth its price.
  const GridOptions grid{.bits = 4};
  std::vector<float> values = draw(std::normal_distribution<double>(0, 1), 20000);
  for (float& x : values) x = x / (1 + std::exp(-x));
  values.push_back(20);
  const ValueStats stats = stats_of(values);
  const Range range = choose(stats, "mse", grid);
  EXPECT_LT(range.hi, 5);
  EXPECT_LT(range.lo, -0.1);
  const double found = mean_squared_error(values, range, grid);
  for (double hi = 1; hi <= 20; hi *= 1.1) {
    for (double lo = static_cast<double>(stats.min); lo < -1e-2; lo *= 0.8) EXPECT_LE(found, 1.03 * mean_squared_error(values, {lo, hi}, grid)) << lo << " " << hi;
  }
}

TEST(Mse, KeepsAnOutlierThatCostsLessThanItsClipping) {
  std::vector<float> values = draw(std::normal_distribution<double>(0, 1), 20000);
  values.push_back(30);  // clipped to 4: 26^2; kept: 20000 (34/255)^2 / 12 = 30
  EXPECT_GT(choose(stats_of(values), "mse").hi, 29);
}

TEST(Mse, KeepsTheRangeOfUniformData) {
  const ValueStats stats = stats_of(draw(std::uniform_real_distribution<double>(-3, 5), 50000));
  const Range range = choose(stats, "mse");
  EXPECT_NEAR(range.lo, -3, 0.03);
  EXPECT_NEAR(range.hi, 5, 0.05);
}

// Two channels that quiet data share with a loud one: only importance tells that the quiet ones matter.
TEST(OutputMse, WideChannelsDoNotBuyTheirTailsWithTheOthersResolution) {
  std::mt19937_64 rng(5);
  std::normal_distribution<float> normal;
  Tensor t(DType::kF32, {4000, 4});
  for (std::int64_t i = 0; i < t.elements(); ++i) t.data<float>()[i] = normal(rng) * (i % 4 == 0 ? 10.0F : 0.02F) * (i % 4 == 0 && i % 100 == 0 ? 4.0F : 1.0F);
  ValueStats stats;
  stats.value = "x";
  observe(t, stats);
  const CalibratorChoice choice = must(calibrator_from_name("output_mse", 99.99));
  std::vector<double> importance;
  for (std::size_t c = 0; c < 4; ++c) importance.push_back(0.25 / stats.channel_variance(c));
  const Range weighed = choose_range(stats, choice, {}, importance), plain = choose_range(stats, choice, {});
  EXPECT_EQ(plain, choose(stats, "mse")) << "without importance it is the plain mean square";
  EXPECT_LT(weighed.hi - weighed.lo, 0.7 * (plain.hi - plain.lo));
  // By its own measure the weighed range is the better one.
  const auto relative = [&](Range range) {
    const QuantParams p = params_from_range(range.lo, range.hi, {});
    const Tensor y = dequantize(quantize(t, p), p);
    double sum = 0;
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      const auto c = static_cast<std::size_t>(i % 4);
      sum += importance[c] * std::min(stats.channel_variance(c) * 50, std::pow(static_cast<double>(t.data<float>()[i] - y.data<float>()[i]), 2));
    }
    return sum;
  };
  EXPECT_LT(relative(weighed), 0.8 * relative(plain));
}

// A channel that hardly varies, but far from zero: clipping it away would shift whatever reads it by its mean.
TEST(OutputMse, ChannelsThatAreNearlyConstantAreNotClippedAway) {
  for (const float mean : {30.0F, -30.0F, 300.0F}) {
    SCOPED_TRACE(mean);
    std::mt19937_64 rng(6);
    std::normal_distribution<float> normal;
    Tensor t(DType::kF32, {2000, 16});
    for (std::int64_t i = 0; i < t.elements(); ++i) t.data<float>()[i] = i % 16 == 0 ? mean + 0.1F * normal(rng) : std::abs(normal(rng));
    ValueStats stats;
    stats.value = "x";
    observe(t, stats);
    std::vector<double> importance;
    for (std::size_t c = 0; c < 16; ++c) importance.push_back(1 / stats.channel_variance(c) / 16);
    const Range range = choose_range(stats, must(calibrator_from_name("output_mse", 99.99)), {}, importance);
    const double far_end = mean > 0 ? range.hi : range.lo;
    EXPECT_NEAR(far_end, static_cast<double>(mean), 0.02 * std::abs(static_cast<double>(mean)));
  }
}

TEST(Percentile, CutsHalfAtEachEndOrAllAtOne) {
  const std::vector<float> two_sided = draw(std::uniform_real_distribution<double>(-1, 1), 30000);
  const Range a = choose(stats_of(two_sided), "percentile 90");
  EXPECT_NEAR(a.lo, -0.9, 0.01);
  EXPECT_NEAR(a.hi, 0.9, 0.01);
  const Range b = choose(stats_of(draw(std::uniform_real_distribution<double>(0, 1), 30000)), "percentile 90");
  EXPECT_EQ(b.lo, 0);
  EXPECT_NEAR(b.hi, 0.9, 0.01);
  const Range c = choose(stats_of(draw(std::uniform_real_distribution<double>(-1, 3), 30000)), "percentile 90", kSymmetric);
  EXPECT_NEAR(c.lo, -1, 1e-3) << "clamped to the data";
  EXPECT_NEAR(c.hi, 2.6, 0.02) << "10 % of the mass of |x| lies above";
  const Range all = choose(stats_of(two_sided), "percentile 100");
  EXPECT_EQ(all, choose(stats_of(two_sided), "max"));
}

TEST(MovingAverage, IsTheMeanOfTheSamplesExtremes) {
  ValueStats stats;
  stats.value = "x";
  observe(Tensor::of<float>({2}, {-1, 4}), stats);
  observe(Tensor::of<float>({2}, {-3, 10}), stats);
  EXPECT_EQ(choose(stats, "moving_average"), (Range{-2, 7}));
}

// KL divergence straight from the definition: explicit P and Q over bins.
double plain_divergence(std::vector<double> counts, std::size_t bins, double group) {
  double outliers = 0, total = 0, kept = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    total += counts[k];
    if (k >= bins) outliers += counts[k];
    else kept += counts[k];
  }
  std::vector<double> p(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(bins)), q(bins);
  p.back() += outliers;
  for (double left = 0; left < static_cast<double>(bins); left += group) {
    const double right = std::min(left + group, static_cast<double>(bins));
    double mass = 0, filled = 0;
    const auto part = [&](std::size_t k) { return std::max(0.0, std::min(right, static_cast<double>(k + 1)) - std::max(left, static_cast<double>(k))); };
    for (std::size_t k = 0; k < bins; ++k) {
      mass += part(k) * counts[k];
      filled += counts[k] > 0 ? part(k) : 0;
    }
    for (std::size_t k = 0; k < bins; ++k) {
      if (counts[k] > 0 && filled > 0) q[k] += part(k) * mass / filled;
    }
  }
  double sum = 0;
  for (std::size_t k = 0; k < bins; ++k) {
    if (p[k] > 0) sum += p[k] / total * std::log(p[k] / total / (q[k] / kept));
  }
  return sum;
}

TEST(Kl, FindsTheLeastDivergenceByDefinition) {
  std::vector<float> values = draw(std::exponential_distribution<double>(4), 20000);
  values.push_back(7.9F);
  const ValueStats stats = stats_of(values);
  std::vector<double> counts(stats.histogram.counts().begin(), stats.histogram.counts().end());
  ASSERT_EQ(stats.histogram.first_bin(), 0);
  counts[0] = counts[1];
  const Range range = choose(stats, "kl");
  const auto found_bins = static_cast<std::size_t>(std::round(range.hi / stats.histogram.width()));
  const auto divergence = [&](std::size_t bins) { return plain_divergence(counts, bins, static_cast<double>(bins) / 255); };
  const double found = divergence(found_bins);
  for (std::size_t bins = 256; bins < counts.size(); bins += 37) {
    if (counts[bins - 1] > 0) {
      EXPECT_GE(divergence(bins), found - 1e-4) << bins;
    }
  }
  EXPECT_LT(range.hi, 4);
  EXPECT_GT(range.hi, 1);
}

TEST(Kl, FewOccupiedBinsKeepTheRange) {
  const ValueStats stats = stats_of({0, 1, 2, 3, 100});
  EXPECT_EQ(choose(stats, "kl"), (Range{0, 100}));
}

TEST(Sqnr, NeverWorseThanTheObservedRangeByItsOwnMeasure) {
  std::vector<float> values = draw(std::normal_distribution<double>(0.5, 1), 32000);
  values.push_back(25);
  const ValueStats stats = stats_of(values);
  const ErrorModel model(stats.histogram);
  for (const GridOptions& grid : {GridOptions{.bits = 4}, GridOptions{.bits = 4, .symmetric = true}, GridOptions{.dtype = DType::kU8, .bits = 4}}) {
    const Range range = choose(stats, "sqnr", grid);
    EXPECT_LT(model.cost(params_from_range(range.lo, range.hi, grid), 3), 0.5 * model.cost(params_from_range(stats.min, stats.max, grid), 3));
    EXPECT_LT(range.hi, 10);
  }
}

// An oracle that follows the published description: candidates as step and offset, every element rounded and clipped on its own.
TEST(Sqnr, TheGridIsTheBestOfThePublishedCandidates) {
  NARROW_SEEDED(rng);
  for (int round = 0; round < 12; ++round) {
    std::vector<float> values = draw(std::normal_distribution<double>(round % 3 - 1, 1), 3000);
    for (int i = 0; i < round; ++i) values.push_back(static_cast<float>(std::uniform_real_distribution<double>(-20, 20)(rng)));
    const ValueStats stats = stats_of(values);
    const double min = std::min(0.0F, stats.min), max = std::max(0.0F, stats.max);
    const auto cost = [&](double step, double offset) {
      double sum = 0;
      for (const float v : values) {
        const double x = static_cast<double>(v), code = std::nearbyint(x / step - offset), error = step * (std::clamp(code, 0.0, 255.0) + offset) - x;
        sum += (code < 0 || code > 255 ? 3 : 1) * error * error;
      }
      return sum;
    };
    for (const bool symmetric : {false, true}) {
      double least = symmetric ? 1e300 : cost((max - min) / 255, std::nearbyint(min * 255 / (max - min)));
      for (int f = 1; symmetric && f <= 101; ++f) least = std::min(least, cost(std::max(-min, max) / 127.5 * f / 100, -128));
      for (int f = 1; !symmetric && f <= 17; ++f) {
        for (int i = 0; i <= 20; ++i) {
          const double step = (max - min) / 255 * f / 16, offset = std::trunc(-255 + 255.0 / 20 * i);
          const double lo = std::max(min, step * offset), hi = std::min(max, step * (offset + 255));
          if ((step * offset < min && step * (offset + 255) > max) || hi <= lo) continue;
          least = std::min(least, cost((hi - lo) / 255, std::nearbyint(lo * 255 / (hi - lo))));
        }
      }
      const GridOptions grid{.symmetric = symmetric};
      const Range range = choose(stats, "sqnr", grid);
      const QuantParams chosen = params_from_range(range.lo, range.hi, grid);
      EXPECT_LE(cost(static_cast<double>(chosen.scale[0]), -128.0 - chosen.zero_point[0]), 1.02 * least) << round << (symmetric ? " symmetric" : "");
    }
  }
}

// Data on the ends of the range: what is returned must make the very grid that was measured, not one whose ends are a step apart.
TEST(Sqnr, ReturnsWhatItMeasured) {
  std::vector<float> values(4000, -3.0F);
  values.insert(values.end(), 4000, 5.0F);
  EXPECT_EQ(choose(stats_of(values), "sqnr"), (Range{-3, 5}));
}

// The values the published search gives for 4096 samples of a standard normal distribution lie close to the extremes.
TEST(Sqnr, ClipsAGaussianOnlyALittle) {
  const ValueStats stats = stats_of(draw(std::normal_distribution<double>(0, 1), 4096));
  const Range range = choose(stats, "sqnr");
  EXPECT_GT(range.hi, 0.9 * static_cast<double>(stats.max));
  EXPECT_LT(range.lo, 0.9 * static_cast<double>(stats.min));
}

TEST(Calibrators, DegenerateData) {
  for (const Calibrator& c : calibrators()) {
    SCOPED_TRACE(std::string(c.name));
    EXPECT_EQ(choose(ValueStats{}, c.name), (Range{0, 0}));
    EXPECT_EQ(choose(stats_of({0, 0, 0, 0}), c.name), (Range{0, 0}));
    const Range single = choose(stats_of(std::vector<float>(100, 4.0F)), c.name);
    EXPECT_EQ(single.lo, 0);
    EXPECT_NEAR(single.hi, 4, 0.05);
    const Range negative = choose(stats_of(std::vector<float>(100, -5.0F)), c.name);
    EXPECT_NEAR(negative.lo, -5, 0.05);
    EXPECT_EQ(negative.hi, 0);
    const Range tiny = choose(stats_of({1e-30F, 3e-30F, -2e-30F}), c.name);
    EXPECT_TRUE(tiny.lo < 0 && tiny.hi > 0 && tiny.hi <= 3.1e-30) << tiny.lo << " " << tiny.hi;
    const std::vector<float> relu = draw(std::exponential_distribution<double>(1), 5000);
    const Range one_sided = choose(stats_of(relu), c.name);
    EXPECT_EQ(one_sided.lo, 0);
    EXPECT_GT(one_sided.hi, 3);
    for (const GridOptions& grid : {GridOptions{}, kSymmetric, GridOptions{.dtype = DType::kI16, .symmetric = true}, GridOptions{.dtype = DType::kU8}}) {
      std::vector<float> outlier = draw(std::normal_distribution<double>(0, 1), 5000);
      outlier.push_back(1e6F);
      const ValueStats stats = stats_of(outlier);
      const Range range = choose(stats, c.name, grid);
      EXPECT_TRUE(range.lo >= static_cast<double>(stats.min) && range.hi <= 1e6 && range.lo <= 0 && range.hi > 0) << range.lo << " " << range.hi;
    }
  }
}

TEST(Calibrators, NamesAndShares) {
  EXPECT_EQ(must(calibrator_from_name("", 99.99)).to_string(), "output_mse");
  EXPECT_EQ(must(calibrator_from_name("percentile", 99.9)).to_string(), "percentile 99.9");
  EXPECT_EQ(must(calibrator_from_name("percentile 99.5", 99.9)).to_string(), "percentile 99.5");
  EXPECT_EQ(calibrator_from_name("msee", 99).error().to_string(), "error: no calibrator is called 'msee'\n  help: did you mean 'mse'?");
  EXPECT_EQ(calibrator_from_name("percentile", 12).error().message, "a percentile of 12 was given, wanted more than 50 and at most 100");
  EXPECT_EQ(calibrator_from_name("kl 5", 99).error().message, "'5' after calibrator 'kl' has no meaning");
}

}  // namespace
}  // namespace narrow
