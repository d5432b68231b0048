#include "tensor/fixed_point.h"

#include <cmath>

#include "support.h"

namespace narrow {
namespace {

TEST(FixedPoint, KnownValues) {
  EXPECT_EQ(to_fixed_point(1.0), (FixedPoint{1 << 30, 30}));
  EXPECT_EQ(to_fixed_point(0.5), (FixedPoint{1 << 30, 31}));
  EXPECT_EQ(to_fixed_point(0.75), (FixedPoint{3 << 29, 31}));
  EXPECT_EQ(to_fixed_point(0.0), (FixedPoint{0, 1}));
  EXPECT_EQ(to_fixed_point(0x1p-40), (FixedPoint{1 << 22, 62}));  // gradual underflow
  EXPECT_EQ(to_fixed_point(3 * 0x1p-62), (FixedPoint{3, 62}));
  EXPECT_EQ(to_fixed_point(0x1p-64), (FixedPoint{0, 1}));
  EXPECT_EQ(to_fixed_point(0x1p-32), (FixedPoint{1 << 30, 62}));
  EXPECT_EQ(to_fixed_point(1.0 - 0x1p-40), (FixedPoint{1 << 30, 30}));  // rounds up to a power of two
  EXPECT_EQ(to_fixed_point(1 << 29), (FixedPoint{1 << 30, 1}));
}

TEST(FixedPoint, IsWithinHalfAUnitAndNormalised) {
  NARROW_SEEDED(rng);
  std::uniform_real_distribution<double> exponent(-30, 28);
  for (int i = 0; i < 5000; ++i) {
    const double real = std::exp2(exponent(rng));
    const FixedPoint f = to_fixed_point(real);
    ASSERT_GE(f.multiplier, 1 << 30);
    ASSERT_GE(f.shift, 1);
    ASSERT_LE(f.shift, 62);
    EXPECT_LE(std::abs(std::ldexp(static_cast<double>(f.multiplier), -f.shift) - real), std::ldexp(0.5, -f.shift));
  }
}

}  // namespace
}  // namespace narrow
