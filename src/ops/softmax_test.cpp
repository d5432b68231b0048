#include <cmath>

#include "kernels/softmax_fixed.h"
#include "one_op.h"

namespace narrow {
namespace {

using test::normalized_op;
using test::one_op;
using test::plan_of;
using test::run;
using test::run_lowered;
using test::steps_from_exact;

Attrs along(std::int64_t axis) {
  Attrs attrs;
  attrs.set("axis", Attr(axis));
  return attrs;
}

TEST(Softmax, SumsToOneAlongItsAxis) {
  const Tensor x = Tensor::of<float>({2, 2}, {0, std::log(3.0F), 0, std::log(7.0F)});
  const Tensor rows = run(one_op("Softmax", along(1), {{x}}), {x});
  EXPECT_NEAR(rows.data<float>()[1], 0.75, 1e-6);
  EXPECT_NEAR(rows.data<float>()[3], 0.875, 1e-6);
  const Tensor columns = run(one_op("Softmax", along(0), {{x}}), {x});
  EXPECT_NEAR(columns.data<float>()[0], 0.5, 1e-6);
  EXPECT_NEAR(columns.data<float>()[3], 0.7, 1e-6);
}

TEST(Softmax, BeforeOpset13FlattensTheAxesFromItsAxisOn) {
  const Tensor x = Tensor::zeros(DType::kF32, {2, 3, 4});
  EXPECT_NEAR(run(test::must(normalized_op("Softmax", {}, {{x}}, 11)), {x}).data<float>()[0], 1.0 / 12, 1e-6);
  EXPECT_NEAR(run(test::must(normalized_op("Softmax", {}, {{x}}, 13)), {x}).data<float>()[0], 1.0 / 4, 1e-6);
  EXPECT_NEAR(run(test::must(normalized_op("Softmax", along(1), {{x}}, 13)), {x}).data<float>()[0], 1.0 / 3, 1e-6);
  EXPECT_EQ(test::ops_of(test::must(normalized_op("Softmax", along(2), {{x}}, 11))), std::vector<std::string>{"Softmax"});
}

TEST(Softmax, ReadsNothingFarBelowTheLargestOfARow) {
  const float inf = std::numeric_limits<float>::infinity();
  const Graph graph = one_op("Softmax", along(1), {{Tensor::zeros(DType::kF32, {3, 3})}});
  const Node* reader = selective_reader(graph, graph.inputs()[0]);
  ASSERT_NE(reader, nullptr);
  Tensor x = Tensor::of<float>({3, 3}, {5, -1e9F, -10.5F, 1, -inf, -20, -100, -101, -117});
  op_of(*reader).as_read(*reader, x);
  const auto seen = x.span<float>();
  EXPECT_EQ(std::vector<float>(seen.begin(), seen.end()), (std::vector<float>{5, -11, -10.5F, 1, -15, -15, -100, -101, -116}));
}

TEST(Softmax, BoundsTheMaskThatIsAddedInFront) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto mask_of = [&](std::vector<float> mask, bool read_twice) {
    Graph graph;
    const ValueId x = graph.add_input("x", DType::kF32, {1, 3}), m = graph.add_constant("m", Tensor::of<float>({1, 3}, mask));
    const ValueId z = test::must(append_inferred(graph, {.name = "z", .op = "Add", .inputs = {x, m}}));
    graph.add_output(test::must(append_inferred(graph, {.name = "y", .op = "Softmax", .inputs = {z}, .attrs = along(1)})));
    if (read_twice) graph.add_output(test::must(append_inferred(graph, {.name = "w", .op = "Relu", .inputs = {z}})));
    const NodeId softmax = graph.find_node("y");
    const bool changed = op_of(graph.node(softmax)).absorb_producer(graph, softmax);
    if (changed) {
      EXPECT_FALSE(op_of(graph.node(softmax)).absorb_producer(graph, softmax)) << "once is enough";
    }
    const auto now = graph.value(graph.node(graph.find_node("z")).inputs[1]).constant.span<float>();
    return std::pair(changed, std::vector<float>(now.begin(), now.end()));
  };
  EXPECT_EQ(mask_of({0, -1e9F, -inf}, false), std::pair(true, std::vector<float>{0, -1e4F, -1e4F}));
  EXPECT_EQ(mask_of({0, -1e4F, 3}, false), std::pair(false, std::vector<float>{0, -1e4F, 3}));
  EXPECT_EQ(mask_of({0, -1e9F, 3}, true), std::pair(false, std::vector<float>{0, -1e9F, 3})) << "something else reads the sum";
}

TEST(Softmax, FixedPointFunctionsFollowTheRealOnes) {
  for (int i = 0; i <= 2000; ++i) {
    const std::int32_t x = -(i * 65536 * 16);  // Q5.26: steps of 1/64
    EXPECT_NEAR(exp_q31(x) * 0x1p-31, std::exp(x * 0x1p-26), 3e-7) << i;
    const auto u = static_cast<std::int32_t>(i * 1073741L);
    EXPECT_NEAR(reciprocal_q31(u) * 0x1p-31, 1 / (1 + u * 0x1p-31), 3e-9) << i;
  }
  EXPECT_EQ(exp_q31(0), INT32_MAX);
}

TEST(Softmax, CodesAreWithinHalfAStep) {
  NARROW_SEEDED(rng);
  const Tensor x = test::random_tensor({40, 33}, rng, -6, 6), column = test::random_tensor({3, 9, 2}, rng, -6, 6);
  const QuantParams in = QuantParams::per_tensor(DType::kI8, 12.0F / 255, -1), out = QuantParams::per_tensor(DType::kI8, 1.0F / 256, -128);
  for (const Rounding mode : {Rounding::kSingleRound, Rounding::kFloatRne}) {
    const Graph graph = one_op("Softmax", along(1), {{x}});
    EXPECT_LE(steps_from_exact(graph, plan_of(graph, {in}, out), {x}, run_lowered(graph, plan_of(graph, {in}, out), {.rounding = mode}, {x}, true)), 0.501);
    const Graph inner = one_op("Softmax", along(1), {{column}});
    EXPECT_LE(steps_from_exact(inner, plan_of(inner, {in}, out), {column}, run_lowered(inner, plan_of(inner, {in}, out), {.rounding = mode}, {column}, true)), 0.501);
  }
}

TEST(Softmax, SixteenBitCodesAreWithinTheirBound) {
  NARROW_SEEDED(rng);
  const QuantParams in = QuantParams::per_tensor(DType::kI16, 8.0F / 32767, 0), out = QuantParams::per_tensor(DType::kI16, 1.0F / 32768, 0);
  for (const std::int64_t count : {2, 65, 400}) {
    const Tensor x = test::random_tensor({50, count}, rng, -8, 8);
    const Graph graph = one_op("Softmax", along(1), {{x}});
    const Plan plan = plan_of(graph, {in}, out);
    EXPECT_LE(steps_from_exact(graph, plan, {x}, run_lowered(graph, plan, {}, {x}, true)), 0.5 + 0.125 + 0.004 * static_cast<double>(count)) << count;
  }
}

// A symmetric plan, an edited one, another width than the input's: rescaled from the grid of the fixed-point form, which costs
// another half step of that grid.
TEST(Softmax, TheOutputMayHaveAnyGrid) {
  NARROW_SEEDED(rng);
  const Tensor x = test::random_tensor({40, 12}, rng, -4, 4);
  const QuantParams narrow_in = QuantParams::per_tensor(DType::kI8, 8.0F / 255, 0), wide_in = QuantParams::per_tensor(DType::kI16, 4.0F / 32767, 0);
  const Graph graph = one_op("Softmax", along(1), {{x}});
  for (const QuantParams& out : {QuantParams::per_tensor(DType::kI8, 1.0F / 127, 0), QuantParams::per_tensor(DType::kU8, 0.003F, 10), QuantParams::per_tensor(DType::kI8, 0.9F / 255, -128)}) {
    for (const QuantParams& in : {narrow_in, wide_in}) {
      const Plan plan = plan_of(graph, {in}, out);
      const double finer = in == wide_in ? 0.01 : 0.51 / 256 / static_cast<double>(out.scale[0]);
      EXPECT_LE(steps_from_exact(graph, plan, {x}, run_lowered(graph, plan, {}, {x}, true)), 0.501 + finer) << out.to_string();
    }
  }
}

TEST(Softmax, LongRowsDoNotOverflow) {
  const Tensor x = Tensor::zeros(DType::kF32, {1, 20000});
  const Graph graph = one_op("Softmax", along(1), {{x}});
  const Plan plan = plan_of(graph, {QuantParams::per_tensor(DType::kU8, 0.1F, 0)}, QuantParams::per_tensor(DType::kU8, 1.0F / 256, 0));
  EXPECT_EQ(run_lowered(graph, plan, {}, {x}, true).codes.data<std::uint8_t>()[0], 0);  // 1/20000 is 0.01 of a step
}

}  // namespace
}  // namespace narrow
