#include "calibrate/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support.h"

namespace narrow {
namespace {

using test::must;

DyadicHistogram of(const std::vector<float>& values) {
  DyadicHistogram h;
  const auto [lo, hi] = std::minmax_element(values.begin(), values.end());
  h.cover(*lo, *hi);
  h.add(values);
  return h;
}

TEST(Histogram, BinsArePowersOfTwoAndSpanAtMost4096WithZero) {
  const DyadicHistogram h = of({-1, 0.5F, 3});
  EXPECT_EQ(h.width(), std::ldexp(1.0, -9)) << "at 2^-10 the bins -1024 ... 3072 would be 4097";
  EXPECT_EQ(h.first_bin(), -512);
  EXPECT_EQ(h.counts().size(), 2049U);
}

TEST(Histogram, OneSidedDataStillReachZero) {
  const DyadicHistogram h = of({5, 10});
  EXPECT_EQ(h.width(), std::ldexp(1.0, -8));
  EXPECT_EQ(h.first_bin(), 5 * 256);
  EXPECT_EQ(h.counts().front(), 1U);
  EXPECT_EQ(h.counts().back(), 1U);
}

TEST(Histogram, ExactEdgesAndTinyNegatives) {
  const DyadicHistogram h = of({-1e-38F, 0.0F, 1e-38F, -3e38F, 3e38F});
  EXPECT_EQ(h.exponent(), 117);
  const auto at = [&](std::int64_t bin) { return h.counts()[static_cast<std::size_t>(bin - h.first_bin())]; };
  EXPECT_EQ(at(-1), 1U) << "-1e-38 / 2^117 underflows but is still below zero";
  EXPECT_EQ(at(0), 2U);
  EXPECT_EQ(h.total(), 5U);
}

TEST(Histogram, AllZeroIsOneBin) {
  const DyadicHistogram h = of({0, 0, 0});
  EXPECT_EQ(h.counts().size(), 1U);
  EXPECT_EQ(h.first_bin(), 0);
  EXPECT_EQ(h.total(), 3U);
}

TEST(Histogram, GrowingEqualsHavingKnownTheRange) {
  NARROW_SEEDED(rng);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::vector<float>> batches;
    std::vector<float> all;
    for (int b = 0; b < 5; ++b) {
      std::uniform_real_distribution<float> pick(-std::ldexp(1.0F, static_cast<int>(rng() % 60) - 30), std::ldexp(1.0F, static_cast<int>(rng() % 60) - 30));
      std::vector<float>& batch = batches.emplace_back();
      for (int i = 0; i < 20; ++i) batch.push_back(pick(rng));
      all.insert(all.end(), batch.begin(), batch.end());
    }
    DyadicHistogram grown, merged;
    for (const auto& batch : batches) {
      const DyadicHistogram part = of(batch);
      merged.merge(part);
      const auto [lo, hi] = std::minmax_element(batch.begin(), batch.end());
      grown.cover(*lo, *hi);
      grown.add(batch);
    }
    EXPECT_EQ(grown, of(all));
    EXPECT_EQ(merged, of(all));
  }
}

TEST(Histogram, JsonRoundTrip) {
  NARROW_SEEDED(rng);
  const Tensor t = test::random_tensor({1000}, rng, -0.01F, 4);
  const DyadicHistogram h = of({t.span<float>().begin(), t.span<float>().end()});
  EXPECT_EQ(must(DyadicHistogram::from_json(must(parse_json(h.to_json().dump(), "h.json")))), h);
  Json damaged = h.to_json();
  damaged["counts"] = "1 2x9999999";
  EXPECT_EQ(DyadicHistogram::from_json(damaged).error().message, "damaged histogram counts near '9999999'");
  damaged["counts"] = "1 2x18446744073709551615";  // with the bins before it, the run is 0 modulo 2^64
  EXPECT_EQ(DyadicHistogram::from_json(damaged).error().message, "damaged histogram counts near '18446744073709551615'");
  for (const auto& [exponent, first] : {std::pair{std::int64_t{1} << 32, std::int64_t{0}}, {0, std::numeric_limits<std::int64_t>::max()}, {0, std::numeric_limits<std::int64_t>::min()}, {0, 4096}}) {
    damaged = h.to_json();
    damaged["exponent"] = exponent;
    damaged["first"] = first;
    damaged["counts"] = "1x2";
    EXPECT_EQ(DyadicHistogram::from_json(damaged).error().message, fmt::format("damaged histogram: exponent {}, first bin {}", exponent, first));
  }
}

}  // namespace
}  // namespace narrow
