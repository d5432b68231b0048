// The vector forms of the rescaling against kernels/requantize.h, on random and extreme accumulators and factors.
#include "kernels/requantize_row.h"

#include <limits>

#include "support.h"

namespace narrow {
namespace {

std::vector<Isa> isas() {
  std::vector<Isa> all;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512Vnni}) {
    if (isa_available(isa)) all.push_back(isa);
  }
  return all;
}

// Rows of accumulators through every form; the expected value is requantize()'s.
void expect_equal(const std::vector<Rescale>& factors, const std::vector<std::int32_t>& acc, std::int64_t rows, Rounding mode, const RowGrid& grid) {
  const auto channels = static_cast<std::int64_t>(factors.size());
  const std::int64_t stride = static_cast<std::int64_t>(acc.size()) / rows;
  for (const Isa isa : isas()) {
    const RowRequantizer requantizer(factors, mode, grid, isa);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(rows * channels), 0xAA);
    std::vector<std::int16_t> words(static_cast<std::size_t>(rows * channels), 0x5555);
    requantizer.run(acc.data(), stride, rows, 0, channels, grid.i16 ? static_cast<void*>(words.data()) : bytes.data(), channels);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int32_t a = acc[static_cast<std::size_t>(r * stride + c)];
        const Rescale& f = factors[static_cast<std::size_t>(c)];
        const auto at = static_cast<std::size_t>(r * channels + c);
        const std::int32_t found = grid.i16 ? words[at] : bytes[at];
        ASSERT_EQ(found, requantize(a, f, mode, grid.zero_point, grid.low, grid.high))
            << name_of(isa) << ' ' << name_of(mode) << " acc " << a << " multiplier " << f.multiplier << " shift " << f.shift << " scale " << f.scale
            << " zero point " << grid.zero_point;
      }
    }
  }
}

RowGrid random_grid(std::mt19937_64& rng, bool i16) {
  const int first = i16 ? INT16_MIN : 0, last = i16 ? INT16_MAX : 255;
  std::uniform_int_distribution<int> pick(first, last);
  int low = pick(rng), high = pick(rng);
  if (rng() % 2 != 0) low = first, high = last;
  return {pick(rng), std::min(low, high), std::max(low, high), i16};
}

// Accumulators of 64 bits and every shift that a network may hold (1 to 62): what does not fit saturates.
TEST(Requantize, LargeAccumulatorsSaturateInEveryMode) {
  constexpr std::int64_t kFar = std::int64_t{1} << 61;
  for (const std::int32_t shift : {1, 15, 30, 31}) {
    const Rescale r{.multiplier = INT32_MAX, .shift = shift, .scale = 0x1p30F};
    for (const Rounding mode : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
      EXPECT_GE(rescale(kFar, r, mode), INT32_MAX - 1) << name_of(mode) << shift;  // the high half of a product loses the last step
      EXPECT_LE(rescale(-kFar, r, mode), INT32_MIN + 1) << name_of(mode) << shift;
    }
  }
  EXPECT_EQ(rescale_double(3, 1 << 30, 30), 3);
  EXPECT_EQ(rescale_double(-5, 1 << 30, 29), -10);
}

// Accumulators of 16-bit activations have 48 bits: in every mode they are rescaled, not cut to 32 bits first.
TEST(Requantize, WideAccumulatorsKeepTheirSize) {
  NARROW_SEEDED(rng);
  std::uniform_real_distribution<double> size(31, 47), code(-32000, 32000);
  for (int i = 0; i < 2000; ++i) {
    const double wanted = code(rng), magnitude = std::exp2(size(rng));
    const auto acc = static_cast<std::int64_t>(std::copysign(magnitude, wanted));
    const double factor = wanted / static_cast<double>(acc);
    const Rescale r = make_rescale(factor);
    for (const Rounding mode : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
      ASSERT_NEAR(rescale(acc, r, mode), wanted, 0.52) << name_of(mode) << " of " << acc << " * " << factor;
    }
  }
}

TEST(RequantizeRow, RandomFactorsAndAccumulators) {
  NARROW_SEEDED(rng);
  for (int round = 0; round < 3000; ++round) {
    const std::int64_t channels = 1 + static_cast<std::int64_t>(rng() % 70), rows = 1 + static_cast<std::int64_t>(rng() % 5);
    const std::int64_t stride = (channels + 31) / 32 * 32;
    std::vector<Rescale> factors;
    // Mostly usual factors; sometimes the whole range, large ones included.
    std::uniform_real_distribution<double> exponent(round % 3 == 0 ? -34 : -16, round % 3 == 0 ? (round % 2 == 0 ? 29 : 8) : -2.5);
    for (std::int64_t c = 0; c < channels; ++c) factors.push_back(make_rescale(std::exp2(exponent(rng))));
    std::vector<std::int32_t> acc(static_cast<std::size_t>(rows * stride));
    for (std::size_t i = 0; i < acc.size(); ++i) {
      // Around what the factor maps onto the grid, and anything at all.
      const double reach = 40000.0 / factors[i % static_cast<std::size_t>(stride) % static_cast<std::size_t>(channels)].scale;
      const auto span = static_cast<std::int64_t>(std::min(reach, 2147483647.0));
      const auto word = static_cast<std::int32_t>(rng());
      acc[i] = rng() % 2 != 0 ? word : static_cast<std::int32_t>(word % std::max<std::int64_t>(span, 1));
    }
    for (const Rounding mode : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
      for (const bool i16 : {false, true}) ASSERT_NO_FATAL_FAILURE(expect_equal(factors, acc, rows, mode, random_grid(rng, i16)));
    }
  }
}

// Products just below, on and above a tie for every shift, and the ends of the accumulator's range.
TEST(RequantizeRow, TiesAndLimits) {
  for (int shift = 1; shift <= 62; ++shift) {
    std::vector<Rescale> factors;
    for (const std::int32_t multiplier : {1 << 30, (1 << 30) + 1, INT32_MAX, 0}) {
      factors.push_back({multiplier, shift, static_cast<float>(std::ldexp(static_cast<double>(multiplier), -shift))});
    }
    std::vector<std::int32_t> values{0, 1, -1, 2, -2, 3, -3, INT32_MAX, INT32_MIN, INT32_MAX - 1, INT32_MIN + 1, 1 << 24, (1 << 24) + 1, -(1 << 24) - 1};
    for (int k = -5; k <= 5; ++k) {
      const std::int64_t tie = shift > 30 && shift < 62 ? (2 * k + 1) * (std::int64_t{1} << (shift - 31)) : 2 * k + 1;  // (k + 1/2) / factor for 2^30
      for (const std::int64_t near : {tie - 1, tie, tie + 1}) values.push_back(saturate32(near));
    }
    const auto rows = static_cast<std::int64_t>(values.size());
    std::vector<std::int32_t> acc(static_cast<std::size_t>(rows) * 32);
    for (std::size_t i = 0; i < acc.size(); ++i) acc[i] = values[i / 32];
    for (const Rounding mode : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
      for (const RowGrid& grid : {RowGrid{128, 0, 255, false}, RowGrid{0, 0, 255, false}, RowGrid{255, 3, 250, false},
                                     RowGrid{0, INT16_MIN, INT16_MAX, true}, RowGrid{INT16_MAX, INT16_MIN, INT16_MAX, true},
                                     RowGrid{INT16_MIN, -5, 7, true}}) {
        ASSERT_NO_FATAL_FAILURE(expect_equal(factors, acc, rows, mode, grid));
      }
    }
  }
}

TEST(RequantizeRow, FloatScalesThatOverflowOrVanish) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<Rescale> factors;
  for (const float scale : {0.0F, 1e-45F, 1e-38F, 1.0F, 0.5F, 3e38F, inf, nan, 65536.0F}) factors.push_back({1 << 30, 40, scale});
  const std::vector<std::int32_t> values{0, 1, -1, 255, 256, -300, INT32_MAX, INT32_MIN};
  std::vector<std::int32_t> acc(values.size() * 32);
  for (std::size_t i = 0; i < acc.size(); ++i) acc[i] = values[i / 32];
  for (const RowGrid& grid : {RowGrid{7, 0, 255, false}, RowGrid{-9, -300, 32767, true}}) {
    expect_equal(factors, acc, static_cast<std::int64_t>(values.size()), Rounding::kFloatRne, grid);
  }
}

}  // namespace
}  // namespace narrow
