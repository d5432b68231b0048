#include "kernels/softmax_fixed.h"

#include "kernels/requantize.h"

namespace narrow {
namespace {

constexpr std::int32_t kOne = INT32_MAX;  // Q0.31

// exp on [-1/4, 0) by a Taylor polynomial of degree 4 around -1/8; x in Q0.31.
std::int32_t exp_near_zero(std::int32_t x) {
  constexpr std::int32_t kExpOfMinusEighth = 1895147668, kThird = 715827883;
  const std::int32_t t = x + (1 << 28);
  const std::int32_t t2 = high_product(t, t), t3 = high_product(t2, t), t4 = high_product(t2, t2);
  const std::int32_t upper = divide_by_power(high_product(divide_by_power(t4, 2) + t3, kThird) + t2, 1);  // t^4/24 + t^3/6 + t^2/2
  return saturate32(static_cast<std::int64_t>(kExpOfMinusEighth) + high_product(kExpOfMinusEighth, t + upper));
}

}  // namespace

std::int32_t exp_q31(std::int32_t x) {
  if (x == 0) return kOne;
  constexpr std::int32_t kQuarter = 1 << 24;  // Q5.26
  // x = near + rest with near in [-1/4, 0) and rest a multiple of -1/4, whose bits pick factors exp(-2^k).
  const std::int32_t near = (x & (kQuarter - 1)) - kQuarter;
  const std::int32_t rest = near - x;
  std::int32_t result = exp_near_zero(near * 32);
  constexpr std::int32_t kFactors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};  // exp(-1/4) ... exp(-16) in Q0.31
  for (int k = 0; k < 7; ++k) {
    if ((rest & (1 << (24 + k))) != 0) result = high_product(result, kFactors[k]);
  }
  return result;
}

std::int32_t reciprocal_q31(std::int32_t x) {
  // Newton's iteration for 1 / d with d = (1 + x) / 2 in [1/2, 1); r in Q2.29.
  constexpr std::int32_t k48Over17 = 1515870810, kMinus32Over17 = -1010580540, kOneQ29 = 1 << 29;
  const auto d = static_cast<std::int32_t>((static_cast<std::int64_t>(x) + kOne + 1) / 2);
  std::int32_t r = k48Over17 + high_product(d, kMinus32Over17);
  for (int i = 0; i < 3; ++i) {
    const std::int32_t rest = kOneQ29 - high_product(d, r);
    r = saturate32(static_cast<std::int64_t>(r) + saturate32(static_cast<std::int64_t>(high_product(r, rest)) * 4));
  }
  return saturate32(static_cast<std::int64_t>(r) * 2);  // r / 2 in Q0.31
}

}  // namespace narrow
