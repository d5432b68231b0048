#include "measure/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace narrow {
namespace {

Tensor vec(const std::vector<float>& values) { return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values); }

TEST(ErrorMetrics, KnownVectors) {
  ErrorMetrics m;
  m.add(vec({3, 4}), vec({3, 3.5F}));  // signal 25, noise 0.25: a ratio of 100
  EXPECT_NEAR(m.sqnr_db(), 20, 1e-12);
  EXPECT_NEAR(m.cosine(), (9 + 14) / (5 * std::sqrt(9 + 12.25)), 1e-12);
  EXPECT_DOUBLE_EQ(m.max_abs(), 0.5);
  EXPECT_EQ(m.elements(), 2U);
}

TEST(ErrorMetrics, PiecesAddUpToTheWhole) {
  ErrorMetrics whole, pieces;
  whole.add(vec({1, -2, 3, 0.5F}), vec({1.1F, -2, 2.5F, 0}));
  pieces.add(vec({1, -2}), vec({1.1F, -2}));
  pieces.add(vec({3, 0.5F}), vec({2.5F, 0}));
  EXPECT_NEAR(pieces.sqnr_db(), whole.sqnr_db(), 1e-12);
  EXPECT_NEAR(pieces.cosine(), whole.cosine(), 1e-12);
  EXPECT_EQ(pieces.max_abs(), whole.max_abs());
}

TEST(ErrorMetrics, OppositeAndOrthogonal) {
  ErrorMetrics opposite, orthogonal;
  opposite.add(vec({1, 2}), vec({-1, -2}));
  EXPECT_NEAR(opposite.cosine(), -1, 1e-12);
  EXPECT_NEAR(opposite.sqnr_db(), -20 * std::log10(2.0), 1e-12);
  orthogonal.add(vec({1, 0}), vec({0, 1}));
  EXPECT_EQ(orthogonal.cosine(), 0);
}

TEST(ErrorMetrics, ExtremesAreDefined) {
  const double inf = std::numeric_limits<double>::infinity();
  ErrorMetrics equal, zero, both_zero, none;
  equal.add(vec({1, 2}), vec({1, 2}));
  EXPECT_EQ(equal.sqnr_db(), inf);
  EXPECT_NEAR(equal.cosine(), 1, 1e-15);
  zero.add(vec({0, 0}), vec({1, 0}));
  EXPECT_EQ(zero.sqnr_db(), -inf);
  EXPECT_EQ(zero.cosine(), 0);
  both_zero.add(vec({0}), vec({0}));
  EXPECT_EQ(both_zero.sqnr_db(), inf);
  EXPECT_EQ(both_zero.cosine(), 1);
  EXPECT_EQ(none.sqnr_db(), inf);
}

TEST(ErrorMetrics, NonFiniteIsCountedNotAveraged) {
  ErrorMetrics m;
  m.add(vec({1, NAN, INFINITY, -INFINITY}), vec({1, 1, INFINITY, 2}));
  EXPECT_EQ(m.elements(), 1U);
  EXPECT_EQ(m.non_finite(), 3U);
  EXPECT_EQ(m.lost(), 0U);
  EXPECT_EQ(m.sqnr_db(), std::numeric_limits<double>::infinity());
}

// One element in a million that the other network turned into NaN or infinity must not hide behind the others.
TEST(ErrorMetrics, LostElementsAreNeverForgiven) {
  for (const float lost : {NAN, INFINITY, -INFINITY}) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{8191}, std::size_t{99998}}) {
      std::vector<float> reference(99999, 1.0F), other(99999, 1.0F);
      other[at] = lost;
      ErrorMetrics m;
      m.add(reference, other);
      m.add(vec({1, 2}), vec({1, 2}));
      EXPECT_EQ(m.lost(), 1U);
      EXPECT_EQ(m.sqnr_db(), -std::numeric_limits<double>::infinity());
      EXPECT_EQ(m.cosine(), 0);
    }
  }
}

TEST(ErrorMetrics, NothingFiniteIsNoAgreement) {
  ErrorMetrics m;
  m.add(vec({INFINITY, NAN}), vec({INFINITY, NAN}));
  EXPECT_EQ(m.sqnr_db(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(m.cosine(), 0);
}

TEST(ErrorMetrics, QuantizedOperandIsDequantized) {
  ErrorMetrics m;
  const QuantParams params = QuantParams::per_tensor(DType::kU8, 0.5F, 10);
  m.add_quantized(vec({0, 1.25F}), Tensor::of<std::uint8_t>({2}, {10, 12}), params);  // means 0 and 1
  EXPECT_DOUBLE_EQ(m.max_abs(), 0.25);
}

TEST(ClipMeter, CountsWhatSaturates) {
  const QuantParams params = QuantParams::per_tensor(DType::kI8, 0.1F, 0);  // [-12.8, 12.7], a step more is allowed
  ClipMeter meter;
  meter.add(vec({-12.89F, -12.91F, 0, 12.79F}), params);
  EXPECT_DOUBLE_EQ(meter.share(), 0.25);
  meter.add(vec({12.81F, 100, -100, 1}), params);
  EXPECT_DOUBLE_EQ(meter.share(), 0.5);
}

}  // namespace
}  // namespace narrow
