// The fixed-point functions of the 8-bit softmax: the exponential of gemmlowp (fixedpoint.h) and its reciprocal by Newton
// steps. Everything is integer and exactly specified, so that any implementation gives the same bits.
#pragma once

#include <cstdint>

namespace narrow {

// exp(x) for x <= 0: x in Q5.26, result in Q0.31 (1 becomes 2^31 - 1).
std::int32_t exp_q31(std::int32_t x);

// 1 / (1 + x) for x in [0, 1): both in Q0.31.
std::int32_t reciprocal_q31(std::int32_t x);

}  // namespace narrow
