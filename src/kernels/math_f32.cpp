#include "kernels/math_f32.h"

#include "base/clones.h"

#include <bit>
#include <limits>

namespace narrow {
namespace {

#define NARROW_INLINE inline __attribute__((always_inline))

// exp(x) = 2^n * exp(r), |r| <= ln(2)/2, r by a two-part ln 2, exp(r) by its Taylor polynomial of degree 7 (remainder
// r^8/8! < 6e-9). Infinity where exp(x) is beyond the largest float; exp(-87), the smallest normal one, from there down.
NARROW_INLINE float exp_of(float argument) {
  constexpr float kOverflow = 88.7228394F, kLargest = 88.722F;  // up to the latter p stays below 1 where n is 128
  float x = argument < -87.0F ? -87.0F : argument;
  x = x > kLargest ? kLargest : x;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  const float shifted = x * 1.44269504F + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.0F / 5040.0F;
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const std::int32_t exponent = static_cast<std::int32_t>(static_cast<std::uint32_t>(std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound)) << 23);
  const float y = std::bit_cast<float>(static_cast<std::int32_t>(static_cast<std::uint32_t>(std::bit_cast<std::int32_t>(p)) + static_cast<std::uint32_t>(exponent)));
  return argument > kOverflow ? std::numeric_limits<float>::infinity() : y;
}

NARROW_INLINE float sigmoid_of(float x) { return 1.0F / (1.0F + exp_of(-x)); }
NARROW_INLINE float absolute(float x) { return x < 0 ? -x : x; }
NARROW_INLINE float with_sign(float magnitude, float sign) { return sign < 0 ? -magnitude : magnitude; }

// erf by formula 7.1.26 of Abramowitz and Stegun (|error| <= 1.5e-7).
NARROW_INLINE float erf_of(float x) {
  const float a = absolute(x);
  const float t = 1.0F / (1.0F + 0.3275911F * a);
  const float p = ((((1.061405429F * t - 1.453152027F) * t + 1.421413741F) * t - 0.284496736F) * t + 0.254829592F) * t;
  return with_sign(1.0F - p * exp_of(-a * a), x);
}

}  // namespace

NARROW_CLONES void exp_f32(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = exp_of(x[i]);
}

NARROW_CLONES void sigmoid_f32(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = sigmoid_of(x[i]);
}

NARROW_CLONES void tanh_f32(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = 1.0F - 2.0F / (1.0F + exp_of(2.0F * x[i]));
}

NARROW_CLONES void silu_f32(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] * sigmoid_of(x[i]);
}

NARROW_CLONES void gelu_erf_f32(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = 0.5F * x[i] * (1.0F + erf_of(x[i] * 0.707106781F));
}

NARROW_CLONES void gelu_tanh_f32(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] * sigmoid_of(1.595769122F * (x[i] + 0.044715F * x[i] * x[i] * x[i]));
}

NARROW_CLONES void erf_f32(float* x, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) x[i] = erf_of(x[i]);
}

}  // namespace narrow
