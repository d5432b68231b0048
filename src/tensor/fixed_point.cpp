#include "tensor/fixed_point.h"

#include <cmath>

#include "base/error.h"

namespace narrow {

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
  if (shift > 62) return {0, 1};
  return {static_cast<std::int32_t>(multiplier), shift};
}

double to_double(FixedPoint value) { return std::ldexp(static_cast<double>(value.multiplier), -value.shift); }

}  // namespace narrow
