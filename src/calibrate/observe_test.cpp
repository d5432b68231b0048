#include "calibrate/observe.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "support.h"

namespace narrow {
namespace {

using test::must;

ValueStats stats_of(const std::vector<Tensor>& samples) {
  ValueStats stats;
  stats.value = "x";
  for (const Tensor& t : samples) observe(t, stats);
  return stats;
}

// Samples whose magnitudes differ by many powers of two, so that the histogram has to coarsen.
std::vector<Tensor> uneven_samples(std::mt19937_64& rng, int count, const Shape& shape) {
  std::vector<Tensor> samples;
  for (int i = 0; i < count; ++i) {
    const float scale = std::ldexp(1.0F, static_cast<int>(rng() % 20) - 10);
    samples.push_back(test::random_tensor(shape, rng, -scale, scale * static_cast<float>(1 + rng() % 3)));
  }
  return samples;
}

TEST(Observe, ExactExtremesAndMeansPerChannel) {
  NARROW_SEEDED(rng);
  for (const Shape& shape : {Shape{1, 7, 5, 3}, Shape{1, 90, 90, 17}, Shape{1, 40, 40, 130}, Shape{5}, Shape{}, Shape{2, 9000}}) {
    const Tensor t = test::random_tensor(shape, rng, -3, 9);
    const ValueStats s = stats_of({t});
    const auto x = t.span<float>();
    EXPECT_EQ(s.min, *std::min_element(x.begin(), x.end()));
    EXPECT_EQ(s.max, *std::max_element(x.begin(), x.end()));
    EXPECT_EQ(s.elements, x.size());
    EXPECT_EQ(s.samples, 1U);
    const std::size_t channels = shape.empty() ? 1 : static_cast<std::size_t>(shape.back());
    if (channels > static_cast<std::size_t>(ValueStats::kMaxChannels)) {
      EXPECT_TRUE(s.channel_min.empty());
      continue;
    }
    ASSERT_EQ(s.channel_min.size(), channels);
    for (std::size_t c = 0; c < channels; ++c) {
      float lo = x[c], hi = x[c];
      double sum = 0, squares = 0;
      for (std::size_t i = c; i < x.size(); i += channels) {
        lo = std::min(lo, x[i]);
        hi = std::max(hi, x[i]);
        sum += static_cast<double>(x[i]);
        squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      }
      const double count = static_cast<double>(x.size()) / static_cast<double>(channels), mean = sum / count;
      EXPECT_EQ(s.channel_min[c], lo);
      EXPECT_EQ(s.channel_max[c], hi);
      EXPECT_NEAR(s.channel_mean(c), mean, 1e-5) << "float sums of at most 256 rows";
      EXPECT_NEAR(s.channel_variance(c), squares / count - mean * mean, 1e-4);
    }
  }
}

TEST(Observe, SmallTensorsAreCountedFully) {
  NARROW_SEEDED(rng);
  const Tensor t = test::random_tensor({1, 10, 10, 33}, rng, -2, 5);
  const ValueStats s = stats_of({t});
  DyadicHistogram expected;
  expected.cover(s.min, s.max);
  for (const float x : t.span<float>()) expected.add_count(static_cast<std::int64_t>(std::floor(static_cast<double>(x) / expected.width())), 1);
  EXPECT_EQ(s.histogram, expected);
}

TEST(Observe, LargeTensorsEnterWithAQuarterThatHitsAllChannels) {
  // Every channel has a value of its own, so the histogram says how often each was taken.
  for (const std::int64_t channels : {3, 16, 64, 128, 192}) {
    Tensor t(DType::kF32, {1, 64, 4096 / channels * 8, channels});
    auto x = t.span<float>();
    ASSERT_GT(static_cast<std::int64_t>(x.size()), kFullHistogramLimit);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % static_cast<std::size_t>(channels)) + 0.5F;
    const ValueStats s = stats_of({t});
    const auto total = static_cast<double>(s.histogram.total());
    EXPECT_NEAR(total, static_cast<double>(x.size()) / 4, 64);
    for (std::int64_t c = 0; c < channels; ++c) {
      double hits = 0;
      for (std::size_t b = 0; b < s.histogram.counts().size(); ++b) {
        if (std::floor(s.histogram.center(b)) == static_cast<double>(c)) hits += static_cast<double>(s.histogram.counts()[b]);
      }
      EXPECT_NEAR(hits * static_cast<double>(channels) / total, 1.0, 0.02) << channels << " channels, channel " << c;
    }
  }
}

TEST(Observe, AnyOrderGivesTheSameStats) {
  NARROW_SEEDED(rng);
  std::vector<Tensor> samples = uneven_samples(rng, 12, {1, 9, 9, 24});
  const ValueStats expected = stats_of(samples);
  for (int round = 0; round < 8; ++round) {
    std::shuffle(samples.begin(), samples.end(), rng);
    EXPECT_EQ(stats_of(samples), expected);
  }
}

TEST(Observe, MergedPartsEqualTheWholeInAnyGrouping) {
  NARROW_SEEDED(rng);
  const std::vector<Tensor> samples = uneven_samples(rng, 9, {1, 70, 70, 24});
  const ValueStats expected = stats_of(samples);
  for (int round = 0; round < 8; ++round) {
    std::vector<ValueStats> parts;
    for (const Tensor& t : samples) parts.push_back(stats_of({t}));
    while (parts.size() > 1) {  // merge two random parts, in a random direction
      std::shuffle(parts.begin(), parts.end(), rng);
      const ValueStats last = parts.back();
      parts.pop_back();
      parts.back().merge(last);
    }
    EXPECT_EQ(parts[0], expected);
  }
}

TEST(Observe, ThreadsDoNotMatter) {
  NARROW_SEEDED(rng);
  const std::vector<Tensor> samples = uneven_samples(rng, 3, {1, 200, 200, 40});
  const int before = thread_count();
  set_thread_count(1);
  const ValueStats expected = stats_of(samples);
  for (const int threads : {2, 7}) {
    set_thread_count(threads);
    EXPECT_EQ(stats_of(samples), expected) << threads << " threads";
  }
  set_thread_count(before);
}

TEST(Observe, NanAndInfinityAreCountedNotAveraged) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const ValueStats s = stats_of({Tensor::of<float>({4, 2}, {1, nan, 2, 5, inf, 7, -inf, -3})});
  EXPECT_EQ(s.nan_count, 1U);
  EXPECT_EQ(s.inf_count, 2U);
  EXPECT_EQ(s.min, -3);
  EXPECT_EQ(s.max, 7);
  EXPECT_EQ(s.histogram.total(), 5U);
  EXPECT_DOUBLE_EQ(s.channel_mean(0), 1.5);
  EXPECT_DOUBLE_EQ(s.channel_mean(1), 3);
}

TEST(Observe, HugeFiniteValuesAreNotTakenForInfinity) {
  const float huge = 3e38F;
  const ValueStats s = stats_of({Tensor::of<float>({5, 1}, {huge, huge, huge, -huge, huge})});
  EXPECT_EQ(s.inf_count, 0U);
  EXPECT_EQ(s.max, huge);
  EXPECT_EQ(s.histogram.total(), 5U);
}

TEST(Observe, NegativeZeroDoesNotShow) {
  const ValueStats a = stats_of({Tensor::of<float>({2}, {0.0F, 1.0F}), Tensor::of<float>({2}, {-0.0F, 1.0F})});
  const ValueStats b = stats_of({Tensor::of<float>({2}, {-0.0F, 1.0F}), Tensor::of<float>({2}, {0.0F, 1.0F})});
  EXPECT_EQ(a, b);
  EXPECT_FALSE(std::signbit(a.min));
}

TEST(Observe, MemoryDoesNotGrowWithSamples) {
  NARROW_SEEDED(rng);
  ValueStats s;
  s.value = "x";
  for (int i = 0; i < 200; ++i) {
    observe(test::random_tensor({1, 4, 4, 8}, rng, -1, std::ldexp(1.0F, i % 40)), s);
    ASSERT_LE(s.histogram.counts().size(), static_cast<std::size_t>(DyadicHistogram::kMaxBins));
    ASSERT_EQ(s.channel_sum.size(), 8U);
  }
}

}  // namespace
}  // namespace narrow
