#include "tensor/fixed_point.h"

#include <cmath>

#include "base/error.h"

namespace narrow {
namespace {

constexpr int kMostShift = 62;

}  // namespace

FixedPoint to_fixed_point(double real) {
  NARROW_CHECK(real >= 0 && real < static_cast<double>(1 << 30), "multiplier {}", real);
  if (real == 0) return {0, 1};
  int exponent = 0;
  const double fraction = std::frexp(real, &exponent);  // real = fraction * 2^exponent, fraction in [0.5, 1)
  auto multiplier = static_cast<std::int64_t>(std::nearbyint(std::ldexp(fraction, 31)));
  if (multiplier == std::int64_t{1} << 31) {
    multiplier /= 2;
    ++exponent;
  }
  const int shift = 31 - exponent;
  if (shift <= kMostShift) return {static_cast<std::int32_t>(multiplier), shift};
  // Gradual underflow: accumulators of 16-bit activations have 48 bits, so that factors far below 2^-32 still mean something.
  multiplier = static_cast<std::int64_t>(std::nearbyint(std::ldexp(real, kMostShift)));
  return multiplier == 0 ? FixedPoint{0, 1} : FixedPoint{static_cast<std::int32_t>(multiplier), kMostShift};
}

}  // namespace narrow
