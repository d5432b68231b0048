// Weight scales are widened where the sums they lead to would not fit the accumulator.
#include <cmath>

#include "planning.h"

namespace narrow {
namespace {

using test::Case;

TEST(PlanWeights, BiasThatWouldOverflowWidensItsChannel) {
  Case c(R"(
graph "g"
in %x: f32[1,4]
const %w: f32[2,4] = {1, 1, 1, 1, 1e-9, 0, 0, 0}
const %b: f32[2] = {1, 7}
%y = Gemm(%x, %w, %b) node "fc"
out %y
)", {{"x", -1.0F, 1.55F}, {"y", 0.0F, 9.0F}});
  const Plan p = c.plan();
  ASSERT_EQ(p.notes.size(), 1U);
  EXPECT_EQ(p.notes[0], "weight scale of 'fc' widened in channel 1 so that bias and accumulator fit 32 bits");
  EXPECT_EQ(p.constants[0].params.scale[0], static_cast<float>(1.0 / 127));
  const double bias = 7.0 / static_cast<double>(p.constants[1].params.scale[1]);
  EXPECT_LE(bias, 2147483647.0);
  EXPECT_GT(bias, 2147483647.0 * 0.99) << "no wider than needed";
  EXPECT_EQ(p.constants[0].decided_by, "largest magnitude per channel, widened against overflow");
}

TEST(PlanWeights, AccumulatorThatWouldOverflowWidensItsScale) {
  // 70000 weights at the largest code: 70000 * 127 * 255 > 2^31.
  Case c(R"(
graph "g"
in %x: f32[1,70000]
const %w: f32[1,70000] = fill(0.5)
%y = Gemm(%x, %w) node "fc"
out %y
)", {{"x", 0.0F, 2.55F}, {"y", 0.0F, 9.0F}});
  const Plan p = c.plan();
  const double code = std::nearbyint(0.5 / static_cast<double>(p.constants[0].params.scale[0]));
  EXPECT_LE(70000 * code * 255, 2147483647.0);
  EXPECT_EQ(p.notes.size(), 1U);
}

TEST(PlanWeights, NarrowAccumulatorsHoldEverySum) {
  Case c(R"(
graph "g"
in %x: f32[1,700]
const %w: f32[96,700] = rand(3)
const %b: f32[96] = rand(4)
%y = Gemm(%x, %w, %b) node "fc"
out %y
)", {{"x", -1.0F, 1.55F}, {"y", -9.0F, 9.0F}});
  const Tensor& bias = c.graph.value(c.graph.find_value("b")).constant;
  for (const bool per_channel : {true, false}) {
    for (const int bits : {16, 17, 18, 19, 20, 21, 22, 24, 32}) {
      c.target.accumulator_bits = bits;
      c.target.bias_bits = std::min(bits, 32);
      c.recipe.per_channel_weights = per_channel;
      const Plan p = c.plan();
      const Tensor codes = quantize(c.graph.value(c.graph.find_value("w")).constant, p.constants[0].params), biases = quantize(bias, p.constants[1].params);
      const double most = std::exp2(bits - 1) - 1;
      double largest = 0;
      for (std::int64_t row = 0; row < 96; ++row) {
        double sum = std::abs(static_cast<double>(biases.data<std::int32_t>()[row]));
        EXPECT_LE(sum, most);
        for (std::int64_t i = 0; i < 700; ++i) sum += (127 + 28) * std::abs(static_cast<double>(codes.data<std::int8_t>()[row * 700 + i]));
        EXPECT_LE(sum, most) << bits << " bits, channel " << row;
        largest = std::max(largest, sum);
      }
      EXPECT_EQ(p.notes.size(), bits < 24 ? 1U : 0U);
      EXPECT_GT(largest, bits < 24 ? 0.5 * most : 0) << bits << " bits: no wider than needed";
    }
  }
}

}  // namespace
}  // namespace narrow
