// Conv, ConvTranspose, Gemm and MatMul in integers: against the exact result, and the fast kernels against the normative loops.
#include "one_op.h"

namespace narrow {
namespace {

using test::constant;
using test::one_op;
using test::plan_of;
using test::run_lowered;
using test::steps_from_exact;

constexpr Rounding kModes[] = {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne};
// Half a step, plus what float evaluation and a second rounding may add.
double tolerance(Rounding mode) { return mode == Rounding::kDoubleRound ? 0.76 : 0.501; }

Attrs conv_attrs(std::vector<std::int64_t> strides, std::vector<std::int64_t> pads, std::int64_t group) {
  Attrs attrs;
  attrs.set("strides", std::move(strides));
  attrs.set("pads", std::move(pads));
  attrs.set("group", Attr(group));
  return attrs;
}

void expect_exact(const Graph& graph, const Plan& plan, const std::vector<Tensor>& inputs, const std::string& what) {
  for (const Rounding mode : kModes) {
    const auto slow = run_lowered(graph, plan, {.rounding = mode}, inputs, true);
    const auto fast = run_lowered(graph, plan, {.rounding = mode}, inputs, false);
    EXPECT_LE(steps_from_exact(graph, plan, inputs, slow), tolerance(mode)) << what << " " << name_of(mode);
    EXPECT_TRUE(fast.codes.same_bytes(slow.codes)) << what << " " << name_of(mode);
  }
}

TEST(IntegerLinear, ConvIsWithinHalfAStep) {
  NARROW_SEEDED(rng);
  const QuantParams in = QuantParams::per_tensor(DType::kU8, 0.01F, 117), out = QuantParams::per_tensor(DType::kI8, 0.04F, -9);
  const auto conv = [&](const Shape& xs, const Shape& ws, const Attrs& attrs, const char* what) {
    const Tensor x = test::random_tensor(xs, rng), w = test::random_tensor(ws, rng), b = test::random_tensor({ws[0]}, rng);
    const Graph graph = one_op("Conv", attrs, {{x}, constant(w), constant(b)});
    expect_exact(graph, plan_of(graph, {in}, out), {x}, what);
  };
  conv({1, 9, 7, 3}, {16, 3, 3, 3}, conv_attrs({2, 2}, {1, 1, 1, 1}, 1), "3x3 stride 2");
  conv({2, 5, 6, 20}, {33, 1, 1, 20}, conv_attrs({1, 1}, {0, 0, 0, 0}, 1), "1x1");
  conv({1, 8, 9, 24}, {24, 3, 3, 1}, conv_attrs({1, 1}, {1, 1, 1, 1}, 24), "depthwise");
  conv({1, 8, 9, 12}, {8, 3, 2, 3}, conv_attrs({1, 2}, {0, 1, 2, 0}, 4), "groups");
}

TEST(IntegerLinear, ConvTransposeIsWithinHalfAStep) {
  NARROW_SEEDED(rng);
  const Tensor x = test::random_tensor({1, 4, 5, 6}, rng), w = test::random_tensor({4, 3, 3, 3}, rng), b = test::random_tensor({4}, rng);
  Attrs attrs = conv_attrs({2, 2}, {1, 1, 0, 1}, 2);
  attrs.set("output_padding", std::vector<std::int64_t>{0, 1});
  const Graph graph = one_op("ConvTranspose", attrs, {{x}, constant(w), constant(b)});
  expect_exact(graph, plan_of(graph, {QuantParams::per_tensor(DType::kI8, 0.01F, 3)}, QuantParams::per_tensor(DType::kU8, 0.02F, 120)), {x}, "transposed");
}

TEST(IntegerLinear, GemmAndMatMulAreWithinHalfAStep) {
  NARROW_SEEDED(rng);
  const QuantParams in = QuantParams::per_tensor(DType::kI8, 0.008F, -5), out = QuantParams::per_tensor(DType::kI8, 0.05F, 7);
  const Tensor x = test::random_tensor({2, 3, 40}, rng), w = test::random_tensor({19, 40}, rng), b = test::random_tensor({19}, rng);
  const Graph gemm = one_op("Gemm", {}, {{x}, constant(w), constant(b)});
  expect_exact(gemm, plan_of(gemm, {in}, out), {x}, "Gemm");
  const Tensor right = test::random_tensor({3, 40, 11}, rng), left = test::random_tensor({2, 1, 5, 40}, rng);
  const Graph product = one_op("MatMul", {}, {{left}, {right}});
  expect_exact(product, plan_of(product, {in, QuantParams::per_tensor(DType::kU8, 0.009F, 130)}, out), {left, right}, "MatMul");
}

TEST(IntegerLinear, SixteenBitActivationsAreWithinHalfAStep) {
  NARROW_SEEDED(rng);
  const QuantParams in = QuantParams::per_tensor(DType::kI16, 1.0F / 32768, 0), out = QuantParams::per_tensor(DType::kI16, 8.0F / 32768, 0);
  const Tensor x = test::random_tensor({1, 5, 5, 8}, rng), w = test::random_tensor({6, 3, 3, 8}, rng), b = test::random_tensor({6}, rng);
  const Graph graph = one_op("Conv", conv_attrs({1, 1}, {1, 1, 1, 1}, 1), {{x}, constant(w), constant(b)});
  const Plan plan = plan_of(graph, {in}, out);
  // The exact result is known to float precision only: a few thousandths of such a fine step.
  EXPECT_LE(steps_from_exact(graph, plan, {x}, run_lowered(graph, plan, {}, {x}, true)), 0.51);
}

TEST(IntegerLinear, ClampIsCutOnTheOutputGrid) {
  Attrs attrs = conv_attrs({1, 1}, {0, 0, 0, 0}, 1);
  attrs.set("activation", "Relu");
  const Tensor x = Tensor::of<float>({1, 1, 4, 1}, {-1, -0.5F, 0.5F, 1});
  const Graph graph = one_op("Conv", attrs, {{x}, constant(Tensor::of<float>({1, 1, 1, 1}, {1}))});
  const Plan plan = plan_of(graph, {QuantParams::per_tensor(DType::kU8, 0.5F, 100)}, QuantParams::per_tensor(DType::kU8, 0.25F, 50));
  EXPECT_TRUE(run_lowered(graph, plan, {}, {x}, true).codes.same_bytes(Tensor::of<std::uint8_t>({1, 1, 4, 1}, {50, 50, 52, 54})));
}

TEST(IntegerLinear, OtherActivationsGoThroughASixteenBitValueAndATable) {
  NARROW_SEEDED(rng);
  const Tensor x = test::random_tensor({1, 6, 6, 16}, rng, -2, 2), w = test::random_tensor({24, 1, 1, 16}, rng), b = test::random_tensor({24}, rng);
  Attrs attrs = conv_attrs({1, 1}, {0, 0, 0, 0}, 1);
  attrs.set("activation", "SiLU");
  const Graph graph = one_op("Conv", attrs, {{x}, constant(w), constant(b)});
  const Plan plan = plan_of(graph, {QuantParams::per_tensor(DType::kU8, 4.0F / 255, 128)}, QuantParams::per_tensor(DType::kU8, 0.05F, 6));
  const auto lowered = run_lowered(graph, plan, {}, {x}, false);
  EXPECT_EQ(test::ops_of(lowered.graph), (std::vector<std::string>{"qconv", "qlut16"}));
  EXPECT_LE(steps_from_exact(graph, plan, {x}, lowered), 0.53);
}

// acc = 64 x (the second channel of the input is 0), the output's scale makes the factor 1/128: the result is x / 2.
TEST(IntegerLinear, TiesFollowTheRoundingMode) {
  const Tensor x = Tensor::of<float>({1, 1, 5, 2}, {-3, 0, -1, 0, 1, 0, 3, 0, 5, 0});
  const Graph graph = one_op("Conv", conv_attrs({1, 1}, {0, 0, 0, 0}, 1), {{x}, constant(Tensor::of<float>({1, 1, 1, 2}, {64, 127}))});
  const Plan plan = plan_of(graph, {QuantParams::per_tensor(DType::kU8, 1, 10)}, QuantParams::per_tensor(DType::kU8, 128, 20));
  const auto expect = [&](Rounding mode, const std::vector<std::uint8_t>& codes) {
    for (const bool normative : {true, false}) {
      const Tensor got = run_lowered(graph, plan, {.rounding = mode}, {x}, normative).codes;
      EXPECT_TRUE(got.same_bytes(Tensor::of<std::uint8_t>({1, 1, 5, 1}, codes))) << name_of(mode);
    }
  };
  expect(Rounding::kFloatRne, {18, 20, 20, 22, 22});     // -1.5 -> -2, -0.5 -> 0, 0.5 -> 0, 1.5 -> 2, 2.5 -> 2
  expect(Rounding::kSingleRound, {19, 20, 21, 22, 23});  // half up
  expect(Rounding::kDoubleRound, {18, 19, 21, 22, 23});  // half away from zero
}

}  // namespace
}  // namespace narrow
