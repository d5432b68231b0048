#include "tensor/quant_params.h"

#include <cmath>
#include <limits>

#include "support.h"

namespace narrow {
namespace {

QuantParams from_range(double lo, double hi, DType dtype, bool symmetric = false) {
  return params_from_range(lo, hi, {.dtype = dtype, .symmetric = symmetric});
}

TEST(QuantParams, GridsOfEveryType) {
  QuantParams p = QuantParams::per_tensor(DType::kI8, 0.5F, -3);
  EXPECT_EQ(p.qmin(), -128);
  EXPECT_EQ(p.qmax(), 127);
  EXPECT_EQ(p.lowest(), 0.5 * -125);
  EXPECT_EQ(p.highest(), 0.5 * 130);
  p.narrow_range = true;
  EXPECT_EQ(p.qmin(), -127);
  p.bits = 4;
  EXPECT_EQ(p.qmin(), -7);
  EXPECT_EQ(p.qmax(), 7);
  p = QuantParams::per_tensor(DType::kU8, 1, 0);
  EXPECT_EQ(p.qmin(), 0);
  EXPECT_EQ(p.qmax(), 255);
  p.dtype = DType::kI16;
  EXPECT_EQ(p.qmin(), -32768);
  p.dtype = DType::kI64;
  EXPECT_EQ(p.qmax(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(p.qmin(), std::numeric_limits<std::int64_t>::min());
  p.narrow_range = true;
  EXPECT_EQ(p.qmin(), -std::numeric_limits<std::int64_t>::max());
}

TEST(QuantParams, Prints) {
  EXPECT_EQ(QuantParams::per_tensor(DType::kI8, 0.01F, -3).to_string(), "i8 scale=0.01 zp=-3");
  QuantParams p;
  p.axis = 0;
  p.scale = {0.02F, 0.001F, 0.01F};
  p.zero_point = {0, 0, 0};
  EXPECT_EQ(p.to_string(), "i8 axis=0 scale[3]=0.001..0.02 zp=0");
}

TEST(QuantParams, RoundsHalvesToEvenAndSaturates) {
  const auto q = [](float x) { return quantize(x, 1.0F, 10, -128, 127); };
  EXPECT_EQ(q(0), 10);
  EXPECT_EQ(q(0.5F), 10);
  EXPECT_EQ(q(1.5F), 12);
  EXPECT_EQ(q(-0.5F), 10);
  EXPECT_EQ(q(-2.5F), 8);
  EXPECT_EQ(q(1e30F), 127);
  EXPECT_EQ(q(-1e30F), -128);
  EXPECT_EQ(q(std::numeric_limits<float>::infinity()), 127);
  EXPECT_EQ(q(-std::numeric_limits<float>::infinity()), -128);
  EXPECT_EQ(q(std::numeric_limits<float>::quiet_NaN()), 10);
  EXPECT_EQ(dequantize(12, 0.5F, 10), 1.0F);
  EXPECT_EQ(dequantize(INT32_MIN, 1.0F, 1), -2147483649.0F);
}

TEST(QuantParams, TensorsPerChannel) {
  QuantParams p;
  p.dtype = DType::kI8;
  p.axis = 1;
  p.scale = {1, 0.5F};
  p.zero_point = {0, 0};
  const Tensor real = Tensor::of<float>({2, 2, 2}, {1, 2, 1, 2, -3, 300, -3, 0.2F});
  const Tensor q = quantize(real, p);
  EXPECT_TRUE(q.same_bytes(Tensor::of<std::int8_t>({2, 2, 2}, {1, 2, 2, 4, -3, 127, -6, 0})));
  EXPECT_TRUE(dequantize(q, p).same_bytes(Tensor::of<float>({2, 2, 2}, {1, 2, 1, 2, -3, 127, -3, 0})));
}

TEST(QuantParams, BiasesKeepAll32Bits) {
  const QuantParams p = QuantParams::per_tensor(DType::kI32, 0x1p-20F, 0);
  const Tensor q = quantize(Tensor::of<float>({3}, {1000.5F, 1e9F, -1e9F}), p);
  EXPECT_TRUE(q.same_bytes(Tensor::of<std::int32_t>({3}, {1049100288, INT32_MAX, INT32_MIN})));
}

TEST(ParamsFromRange, ZeroIsExactAndTheRangeIsCovered) {
  const QuantParams p = from_range(-1, 3, DType::kU8);
  EXPECT_EQ(p.scale[0], 4.0F / 255);
  EXPECT_EQ(p.zero_point[0], 64);
  const QuantParams s = from_range(-1, 3, DType::kI8);
  EXPECT_EQ(s.zero_point[0], 64 - 128);
  EXPECT_EQ(from_range(2, 6, DType::kU8).zero_point[0], 0);            // widened down to 0
  EXPECT_EQ(from_range(2, 6, DType::kU8).scale[0], 6.0F / 255);
  EXPECT_EQ(from_range(-6, -2, DType::kI8).zero_point[0], 127);        // widened up to 0
  EXPECT_EQ(from_range(-1, 3, DType::kI8, true).scale[0], 3.0F / 127);
  EXPECT_EQ(from_range(-1, 3, DType::kI8, true).zero_point[0], 0);
  EXPECT_EQ(from_range(-1, 1, DType::kU8, true).zero_point[0], 128);
  EXPECT_EQ(from_range(0, 1, DType::kU8, true).zero_point[0], 0);      // unsigned data keep the whole grid
  EXPECT_EQ(params_from_range(-2, 1, {.dtype = DType::kI8, .bits = 4, .symmetric = true, .narrow_range = true}).scale[0], 2.0F / 7);
}

TEST(ParamsFromRange, GuardsGiveUsableScales) {
  EXPECT_EQ(from_range(0, 0, DType::kI8).scale[0], 1.0F / 255);
  EXPECT_EQ(from_range(0, 0, DType::kI8).zero_point[0], -128);
  EXPECT_EQ(from_range(0, 1e-40, DType::kI8).scale[0], 1.0F / 255);  // denormal
  EXPECT_EQ(from_range(-1e308, 1e308, DType::kI8).scale[0], std::numeric_limits<float>::max());
  NARROW_SEEDED(rng);
  std::uniform_real_distribution<double> exponent(-30, 30), sign(-1, 1);
  for (int i = 0; i < 2000; ++i) {
    const double a = sign(rng) * std::exp2(exponent(rng)), b = sign(rng) * std::exp2(exponent(rng));
    const double lo = std::min(a, b), hi = std::max(a, b);
    for (const DType dtype : {DType::kI8, DType::kU8, DType::kI16}) {
      const QuantParams p = from_range(lo, hi, dtype);
      ASSERT_GE(p.zero_point[0], p.qmin());
      ASSERT_LE(p.zero_point[0], p.qmax());
      ASSERT_TRUE(std::isnormal(p.scale[0]));
      // The grid covers the range but for half a step at either end, and for what its width loses when the scale becomes a float.
      const double step = static_cast<double>(p.scale[0]), slack = (0.5 + static_cast<double>(p.qmax() - p.qmin()) * 0x1p-24) * step;
      EXPECT_LE(p.lowest(), std::min(lo, 0.0) + slack);
      EXPECT_GE(p.highest(), std::max(hi, 0.0) - slack);
    }
  }
}

}  // namespace
}  // namespace narrow
