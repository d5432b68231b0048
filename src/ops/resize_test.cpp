#include "one_op.h"

namespace narrow {
namespace {

using test::constant;
using test::normalized_op;
using test::one_op;
using test::plan_of;
using test::run;
using test::run_lowered;
using test::steps_from_exact;

// ONNX form with scales; one row of four pixels.
Tensor resized(const char* mode, const char* coordinates, const char* nearest, float scale, const std::vector<float>& row = {1, 2, 3, 4}) {
  Attrs attrs;
  attrs.set("mode", mode);
  attrs.set("coordinate_transformation_mode", coordinates);
  attrs.set("nearest_mode", nearest);
  const Tensor x = Tensor::of<float>({1, 1, 1, static_cast<std::int64_t>(row.size())}, row);
  const Graph graph = test::must(normalized_op("Resize", attrs, {{x}, {}, constant(Tensor::of<float>({4}, {1, 1, 1, scale}))}));
  return run(graph, {x});
}
std::vector<float> values(const Tensor& t) { return {t.data<float>(), t.data<float>() + t.elements()}; }

TEST(Resize, NearestPicksByTheStatedRule) {
  using V = std::vector<float>;
  // Positions of 4 -> 6, half_pixel: (i + 0.5) * 2/3 - 0.5 = -1/6, 1/2, 7/6, 11/6, 5/2, 19/6: two exact ties.
  EXPECT_EQ(values(resized("nearest", "half_pixel", "round_prefer_floor", 1.5F)), (V{1, 1, 2, 3, 3, 4}));
  EXPECT_EQ(values(resized("nearest", "half_pixel", "round_prefer_ceil", 1.5F)), (V{1, 2, 2, 3, 4, 4}));
  EXPECT_EQ(values(resized("nearest", "half_pixel", "floor", 1.5F)), (V{1, 1, 2, 2, 3, 4}));
  EXPECT_EQ(values(resized("nearest", "half_pixel", "ceil", 1.5F)), (V{1, 2, 3, 3, 4, 4}));
  EXPECT_EQ(values(resized("nearest", "asymmetric", "floor", 2)), (V{1, 1, 2, 2, 3, 3, 4, 4}));
}

TEST(Resize, LinearInterpolatesBetweenClampedPositions) {
  using V = std::vector<float>;
  EXPECT_EQ(values(resized("linear", "half_pixel", "floor", 2, {1, 3})), (V{1, 1.5F, 2.5F, 3}));
  EXPECT_EQ(values(resized("linear", "asymmetric", "floor", 2, {1, 3})), (V{1, 2, 3, 3}));
  EXPECT_EQ(values(resized("linear", "align_corners", "floor", 1.5F, {1, 3})), (V{1, 2, 3}));
  EXPECT_EQ(values(resized("linear", "pytorch_half_pixel", "floor", 0.25F)), (V{1}));  // one pixel: position 0
  EXPECT_EQ(values(resized("linear", "half_pixel", "floor", 0.25F)), (V{2.5F}));
}

TEST(Resize, CubicWithACoefficientOfMinusThreeQuarters) {
  // Position 1.25 of a ramp with Keys' kernel: weights far(1.25), near(0.25), near(0.75), far(1.75).
  const auto got = values(resized("cubic", "half_pixel", "floor", 2, {0, 0, 64, 0, 0}));
  EXPECT_NEAR(got[4], 64 * 0.8789062, 1e-4);
  EXPECT_NEAR(got[3], 64 * 0.2617188, 1e-4);
  EXPECT_NEAR(got[1], 64 * -0.0351562, 1e-4);
}

TEST(Resize, RefusesOtherAxesThanHeightAndWidth) {
  const Tensor x = Tensor::zeros(DType::kF32, {1, 2, 3, 4});
  const auto graph = normalized_op("Resize", {}, {{x}, {}, constant(Tensor::of<float>({4}, {2, 1, 2, 1}))});
  ASSERT_FALSE(graph.has_value());
  EXPECT_EQ(graph.error().message, "resizes [1,2,3,4] to [2,2,6,4], wanted only two spatial axes to change");
}

Attrs internal(const char* mode, const char* coordinates, std::int64_t h, std::int64_t w, double sh, double sw) {
  Attrs attrs;
  attrs.set("mode", mode);
  attrs.set("coordinate_transformation_mode", coordinates);
  attrs.set("sizes", std::vector<std::int64_t>{h, w});
  attrs.set("scales", std::vector<double>{sh, sw});
  return attrs;
}

TEST(Resize, LinearCodesAreWithinHalfAStep) {
  NARROW_SEEDED(rng);
  const Tensor x = test::random_tensor({1, 4, 5, 3}, rng);
  const QuantParams grid = QuantParams::per_tensor(DType::kU8, 0.009F, 120);
  for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners"}) {
    for (const auto& [h, w] : {std::pair{8, 10}, std::pair{6, 7}, std::pair{2, 3}}) {
      const Graph graph = one_op("Resize", internal("linear", coordinates, h, w, h / 4.0, w / 5.0), {{x}});
      const Plan plan = plan_of(graph, {grid}, grid);
      for (const Rounding mode : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
        EXPECT_LE(steps_from_exact(graph, plan, {x}, run_lowered(graph, plan, {.rounding = mode}, {x}, true)), mode == Rounding::kDoubleRound ? 0.76 : 0.501) << coordinates << " " << h << " " << name_of(mode);
      }
    }
  }
}

TEST(Resize, NearestCodesArePickedAlike) {
  NARROW_SEEDED(rng);
  const Tensor x = test::random_tensor({1, 4, 4, 2}, rng);
  const QuantParams grid = QuantParams::per_tensor(DType::kI16, 1.0F / 32768, 0);
  const Graph graph = one_op("Resize", internal("nearest", "half_pixel", 6, 3, 1.5, 0.75), {{x}});
  const Plan plan = plan_of(graph, {grid}, grid);
  EXPECT_LE(steps_from_exact(graph, plan, {x}, run_lowered(graph, plan, {}, {x}, true)), 1e-3);
}

// Half-pixel doubling weighs by 3/4 and 1/4: codes 0 and 2 give 0, 0.5, 1.5, 2.
TEST(Resize, TiesOfCodesRoundUp) {
  const Tensor x = Tensor::of<float>({1, 1, 2, 1}, {0, 2});
  const QuantParams grid = QuantParams::per_tensor(DType::kU8, 1, 0);
  const Graph graph = one_op("Resize", internal("linear", "half_pixel", 1, 4, 1, 2), {{x}});
  EXPECT_TRUE(run_lowered(graph, plan_of(graph, {grid}, grid), {}, {x}, true).codes.same_bytes(Tensor::of<std::uint8_t>({1, 1, 4, 1}, {0, 1, 2, 2})));
}

// Where the exact sum is half-way between codes, float sums decide: those of ONNX Runtime 1.20, which gave these codes.
TEST(Resize, FloatRneDecidesTiesAsOnnxRuntime) {
  const QuantParams grid = QuantParams::per_tensor(DType::kU8, 0.0137F, 31);
  const Tensor x = dequantize(Tensor::of<std::uint8_t>({1, 3, 4, 1}, {207, 21, 45, 60, 46, 205, 222, 149, 10, 24, 85, 110}), grid);
  const Graph graph = one_op("Resize", internal("linear", "half_pixel", 6, 8, 2, 2), {{x}});
  const Tensor wanted = Tensor::of<std::uint8_t>({1, 6, 8, 1}, {207, 160, 67, 27, 39, 49, 56, 60, 167, 142, 92, 73, 84, 87, 84, 82, 86, 104, 141, 164, 173, 165, 139, 127,
                                                                37, 68, 129, 167, 181, 176, 151, 139, 19, 32, 57, 82, 107, 119, 120, 120, 10, 14, 21, 39, 70, 91, 104, 110});
  EXPECT_TRUE(run_lowered(graph, plan_of(graph, {grid}, grid), {.rounding = Rounding::kFloatRne}, {x}, true).codes.same_bytes(wanted));
}

}  // namespace
}  // namespace narrow
