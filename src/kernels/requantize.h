// The normative rounding of narrow: the only place where an integer result is rescaled and rounded. Every integer operator, fast or
// slow, goes through these functions or through SIMD forms that are tested to give the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "tensor/fixed_point.h"

namespace narrow {

enum class Rounding : std::uint8_t {
  kSingleRound,  // (acc * m + 2^(t-1)) >> t: one rounding, half up, 64-bit product
  kDoubleRound,  // TFLite reference kernels: high half with rounding, then a rounding right shift, each half away from zero
  kFloatRne,     // float(acc) * float scale, half to even: tracks ONNX Runtime
};

// One output channel's rescaling factor, in both forms; the mode decides which is read.
struct Rescale {
  std::int32_t multiplier = 0;  // FixedPoint
  std::int32_t shift = 1;
  float scale = 0;
};
inline Rescale make_rescale(double real, float scale) {
  const FixedPoint fixed = to_fixed_point(real);
  return {fixed.multiplier, fixed.shift, scale};
}
inline Rescale make_rescale(double real) { return make_rescale(real, static_cast<float>(real)); }

constexpr std::int32_t saturate32(std::int64_t x) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(x, INT32_MIN, INT32_MAX));
}

// round(acc * multiplier * 2^-shift), saturated to 32 bits.
inline std::int32_t rescale_single(std::int64_t acc, std::int32_t multiplier, std::int32_t shift) {
  // 32-bit accumulators need 63 bits; the wide form serves the 48-bit accumulators of int16 activations.
  if (acc >= INT32_MIN && acc <= INT32_MAX) {
    const std::int64_t product = acc * multiplier + (std::int64_t{1} << (shift - 1));
    return saturate32(product >> shift);
  }
  const __int128 product = static_cast<__int128>(acc) * multiplier + (static_cast<__int128>(1) << (shift - 1));
  const __int128 shifted = product >> shift;
  return static_cast<std::int32_t>(std::clamp<__int128>(shifted, INT32_MIN, INT32_MAX));
}

// gemmlowp's pair: SaturatingRoundingDoublingHighMul, then RoundingDivideByPOT (exponent = shift - 31; when that is
// negative the accumulator is shifted left first). The pair is defined on 32 bits: accumulators of 16-bit activations that exceed
// them are rounded once.
inline std::int32_t rescale_double(std::int64_t acc, std::int32_t multiplier, std::int32_t shift) {
  if (acc < INT32_MIN || acc > INT32_MAX) return rescale_single(acc, multiplier, shift);
  const int right = shift - 31;
  std::int64_t a = acc;
  if (right < 0) a = saturate32(a * (std::int64_t{1} << -right));
  const std::int64_t product = a * multiplier;
  const std::int64_t nudge = product >= 0 ? (std::int64_t{1} << 30) : 1 - (std::int64_t{1} << 30);
  const std::int32_t high = saturate32((product + nudge) / (std::int64_t{1} << 31));
  if (right <= 0) return high;
  if (right > 31) return 0;
  const std::int64_t mask = (std::int64_t{1} << right) - 1;
  const std::int64_t remainder = high & mask;
  const std::int64_t threshold = (mask >> 1) + (high < 0 ? 1 : 0);
  return static_cast<std::int32_t>((high >> right) + (remainder > threshold ? 1 : 0));
}

// float(acc) * scale, half to even, saturated to 32 bits; NaN gives INT32_MIN.
inline std::int32_t rescale_float(std::int64_t acc, float scale) {
  const float real = static_cast<float>(acc) * scale;
  if (!(real > -2147483648.0F)) return INT32_MIN;
  return real >= 2147483648.0F ? INT32_MAX : static_cast<std::int32_t>(std::nearbyintf(real));
}

// By the mode; acc times the factor, saturated to 32 bits.
inline std::int32_t rescale(std::int64_t acc, const Rescale& r, Rounding mode) {
  switch (mode) {
    case Rounding::kSingleRound: return rescale_single(acc, r.multiplier, r.shift);
    case Rounding::kDoubleRound: return rescale_double(acc, r.multiplier, r.shift);
    case Rounding::kFloatRne: return rescale_float(acc, r.scale);
  }
  return 0;
}

// Rescale, add the zero point, clamp: the last step of every integer operator.
inline std::int32_t requantize(std::int64_t acc, const Rescale& r, Rounding mode, std::int32_t zero_point, std::int32_t low, std::int32_t high) {
  const std::int64_t q = static_cast<std::int64_t>(rescale(acc, r, mode)) + zero_point;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(q, low, high));
}

// float -> integer grid with rounding half to even (float_rne operators that ONNX Runtime evaluates in float).
inline std::int32_t round_to_grid(float real, std::int32_t zero_point, std::int32_t low, std::int32_t high) {
  const float q = std::nearbyintf(real) + static_cast<float>(zero_point);
  if (!(q > static_cast<float>(low))) return low;
  return q >= static_cast<float>(high) ? high : static_cast<std::int32_t>(q);
}

// The two halves of the double rounding, for fixed-point functions (softmax_fixed.h). High half of 2ab, half away from zero.
inline std::int32_t high_product(std::int32_t a, std::int32_t b) { return rescale_double(a, b, 31); }
// x * 2^-exponent, half away from zero; exponent in [0, 31].
inline std::int32_t divide_by_power(std::int32_t x, int exponent) {
  const std::int64_t mask = (std::int64_t{1} << exponent) - 1;
  const std::int64_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return static_cast<std::int32_t>((static_cast<std::int64_t>(x) >> exponent) + ((x & mask) > threshold ? 1 : 0));
}
// sum / count, half away from zero; count > 0.
inline std::int64_t divide_by_count(std::int64_t sum, std::int64_t count) { return (sum >= 0 ? sum + count / 2 : sum - count / 2) / count; }

// Names in target files and node attributes: single_round, double_round, float_rne.
constexpr std::string_view name_of(Rounding mode) {
  return mode == Rounding::kSingleRound ? "single_round" : mode == Rounding::kDoubleRound ? "double_round" : "float_rne";
}

}  // namespace narrow
