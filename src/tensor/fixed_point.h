// Real multipliers as integers: real = multiplier * 2^-shift with multiplier in [2^30, 2^31), less where the
// shift would exceed 62. Derived once, in double, by the compiler, and stored; no consumer recomputes it.
#pragma once

#include <cstdint>

namespace narrow {

struct FixedPoint {
  std::int32_t multiplier = 0;  // 0 means the real value underflows: everything becomes 0
  std::int32_t shift = 0;       // right shift of the 64-bit product, in [1, 62]
  bool operator==(const FixedPoint&) const = default;
};

// real >= 0 and < 2^30. Below 2^-32 precision is lost bit by bit; what rounds to 0 at 2^-62 gives {0, 1}.
FixedPoint to_fixed_point(double real);

}  // namespace narrow
