// MaxPool, AveragePool, the reductions: float against hand-made values, import from ONNX form, integers in every rounding mode.
#include "one_op.h"

namespace narrow {
namespace {

using test::normalized_op;
using test::one_op;
using test::plan_of;
using test::run;
using test::run_lowered;
using test::steps_from_exact;

Attrs window(std::vector<std::int64_t> kernel, std::vector<std::int64_t> strides, std::vector<std::int64_t> pads) {
  Attrs attrs;
  attrs.set("kernel_shape", std::move(kernel));
  attrs.set("strides", std::move(strides));
  attrs.set("pads", std::move(pads));
  return attrs;
}

const Tensor kMap = Tensor::of<float>({1, 3, 3, 1}, {-1, -2, -3, -4, -5, -6, 7, 8, 9});

TEST(MaxPool, PaddingDoesNotTakePart) {
  const Graph graph = one_op("MaxPool", window({2, 2}, {2, 2}, {1, 1, 0, 0}), {{kMap}});
  EXPECT_TRUE(run(graph, {kMap}).same_bytes(Tensor::of<float>({1, 2, 2, 1}, {-1, -2, 7, 9})));
}

TEST(MaxPool, CeilModeAddsAPartialWindowButNoneBeyondTheMap) {
  Attrs attrs = window({2, 2}, {2, 2}, {0, 0, 0, 0});
  attrs.set("ceil_mode", 1);
  EXPECT_TRUE(run(one_op("MaxPool", attrs, {{kMap}}), {kMap}).same_bytes(Tensor::of<float>({1, 2, 2, 1}, {-1, -3, 8, 9})));
  Attrs beyond = window({1, 1}, {3, 3}, {0, 0, 1, 1});  // a third window would begin at 3, beyond the map
  beyond.set("ceil_mode", 1);
  EXPECT_EQ(run(one_op("MaxPool", beyond, {{kMap}}), {kMap}).shape(), (Shape{1, 2, 2, 1}));
}

TEST(MaxPool, DilationSkipsCells) {
  Attrs attrs = window({2, 2}, {1, 1}, {0, 0, 0, 0});
  attrs.set("dilations", std::vector<std::int64_t>{2, 2});
  EXPECT_TRUE(run(one_op("MaxPool", attrs, {{kMap}}), {kMap}).same_bytes(Tensor::of<float>({1, 1, 1, 1}, {9})));
}

TEST(MaxPool, ImportsChannelsFirstAndOneSpatialAxis) {
  Attrs attrs;
  attrs.set("kernel_shape", std::vector<std::int64_t>{2});
  attrs.set("auto_pad", "SAME_UPPER");
  const Tensor x = Tensor::of<float>({1, 2, 3}, {1, 3, 2, -1, -3, -2});
  const Graph graph = test::must(normalized_op("MaxPool", attrs, {{x}}));
  EXPECT_TRUE(run(graph, {x}).same_bytes(Tensor::of<float>({1, 2, 3}, {3, 3, 2, -1, -2, -2})));
}

TEST(MaxPool, CodesStayCodes) {
  const Graph graph = one_op("MaxPool", window({3, 3}, {1, 1}, {1, 1, 1, 1}), {{kMap}});
  const Plan plan = plan_of(graph, {QuantParams::per_tensor(DType::kI8, 0.1F, 3)}, QuantParams::per_tensor(DType::kI8, 0.1F, 3));
  const auto lowered = run_lowered(graph, plan, {}, {kMap}, true);
  EXPECT_EQ(test::ops_of(lowered.graph), std::vector<std::string>{"MaxPool"});
  EXPECT_LE(steps_from_exact(graph, plan, {kMap}, lowered), 1e-4);
}

TEST(AveragePool, CountsPaddingOnlyWhenAsked) {
  Attrs attrs = window({2, 2}, {2, 2}, {1, 1, 0, 0});
  EXPECT_TRUE(run(one_op("AveragePool", attrs, {{kMap}}), {kMap}).same_bytes(Tensor::of<float>({1, 2, 2, 1}, {-1, -2.5F, 1.5F, 1.5F})));
  attrs.set("count_include_pad", 1);
  EXPECT_TRUE(run(one_op("AveragePool", attrs, {{kMap}}), {kMap}).same_bytes(Tensor::of<float>({1, 2, 2, 1}, {-0.25F, -1.25F, 0.75F, 1.5F})));
}

TEST(AveragePool, CeilModeNeverCountsWhatLiesBeyondThePadding) {
  Attrs attrs = window({2, 2}, {2, 2}, {0, 0, 0, 0});
  attrs.set("ceil_mode", 1);
  attrs.set("count_include_pad", 1);
  EXPECT_TRUE(run(one_op("AveragePool", attrs, {{kMap}}), {kMap}).same_bytes(Tensor::of<float>({1, 2, 2, 1}, {-3, -4.5F, 7.5F, 9})));
}

TEST(AveragePool, SwallowsAZeroPadWhenNoPaddingStandsYet) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, {1, 3, 3, 1});
  NodeSpec pad{.name = "pad", .op = "Pad", .inputs = {x}};
  pad.attrs.set("pads", std::vector<std::int64_t>{0, 1, 1, 0, 0, 0, 0, 0});
  const ValueId padded = test::must(append_inferred(graph, std::move(pad)));
  const ValueId y = test::must(append_inferred(graph, {.name = "y", .op = "AveragePool", .inputs = {padded}, .attrs = window({2, 2}, {2, 2}, {0, 0, 0, 0})}));
  graph.add_output(y);
  const Tensor before = run(graph, {kMap});
  EXPECT_TRUE(find_op("AveragePool")->absorb_producer(graph, graph.value(y).producer));
  graph.remove_dead();
  test::must(infer_node(graph, graph.value(y).producer));
  EXPECT_EQ(test::ops_of(graph), std::vector<std::string>{"AveragePool"});
  EXPECT_TRUE(run(graph, {kMap}).same_bytes(before));
}

// As in TOSA: every reachable sum of codes without their zero point, halves away from zero, whatever the count.
TEST(AveragePool, HalvesGoAwayFromZeroForEveryCount) {
  NARROW_SEEDED(rng);
  for (std::int64_t n = 1; n <= 16; ++n) {
    const Tensor noise = test::random_tensor({1, 1, 200 * n, 1}, rng, -100, 100);
    std::vector<float> codes;
    for (const float v : noise.span<float>()) codes.push_back(std::round(v));
    const Tensor x = Tensor::of<float>({1, 1, 200 * n, 1}, codes);
    const Graph graph = one_op("AveragePool", window({1, n}, {1, n}, {0, 0, 0, 0}), {{x}});
    const QuantParams grid = QuantParams::per_tensor(DType::kI8, 1, 3);
    const Tensor t = run_lowered(graph, plan_of(graph, {grid}, grid), {.rounding = Rounding::kSingleRound}, {x}, true).codes;
    for (std::int64_t i = 0; i < 200; ++i) {
      float sum = 0;
      for (std::int64_t k = 0; k < n; ++k) sum += codes[static_cast<std::size_t>(i * n + k)];
      const int wanted = static_cast<int>(std::round(static_cast<double>(sum) / static_cast<double>(n)));
      ASSERT_EQ(static_cast<int>(t.data<std::uint8_t>()[i]) - 131, wanted) << "sum " << sum << " of " << n;
    }
  }
}

// Windows of two cells on one grid: sums of codes 10+11, 11+12, 8+7 and 9+8 around the zero point 10; every mean is a tie.
TEST(AveragePool, TiesFollowTheRoundingMode) {
  const Tensor x = Tensor::of<float>({1, 1, 8, 1}, {0, 1, 1, 2, -2, -3, -1, -2});
  const Graph graph = one_op("AveragePool", window({1, 2}, {1, 2}, {0, 0, 0, 0}), {{x}});
  const QuantParams grid = QuantParams::per_tensor(DType::kU8, 1, 10);
  const Plan plan = plan_of(graph, {grid}, grid);
  const auto codes = [&](const ArithmeticProfile& profile) {
    const Tensor t = run_lowered(graph, plan, profile, {x}, true).codes;
    return std::vector<int>(t.data<std::uint8_t>(), t.data<std::uint8_t>() + 4);
  };
  EXPECT_EQ(codes({.rounding = Rounding::kSingleRound}), (std::vector<int>{11, 12, 7, 8}));  // 0.5, 1.5, -2.5, -1.5: away from zero
  EXPECT_EQ(codes({.rounding = Rounding::kDoubleRound}), (std::vector<int>{11, 12, 7, 8}));  // by its first rounding, too
  EXPECT_EQ(codes({.rounding = Rounding::kFloatRne}), (std::vector<int>{10, 12, 8, 8}));     // 10.5, 11.5, 7.5, 8.5: to even, zero point included
  // Raw signed codes -117.5, -116.5, -120.5, -119.5: away from zero.
  EXPECT_EQ(codes({.rounding = Rounding::kDoubleRound, .average_raw_codes = true}), (std::vector<int>{10, 11, 7, 8}));
}

TEST(AveragePool, IntegersAreWithinHalfAStepForEveryCount) {
  NARROW_SEEDED(rng);
  const Tensor x = test::random_tensor({1, 7, 8, 5}, rng);
  for (const bool include : {false, true}) {
    Attrs attrs = window({3, 3}, {2, 1}, {1, 1, 1, 1});
    attrs.set("count_include_pad", include ? 1 : 0);
    const Graph graph = one_op("AveragePool", attrs, {{x}});
    for (const DType dtype : {DType::kI8, DType::kI16}) {
      const QuantParams grid = dtype == DType::kI8 ? QuantParams::per_tensor(dtype, 0.01F, 20) : QuantParams::per_tensor(dtype, 1.0F / 16384, 0);
      const Plan plan = plan_of(graph, {grid}, grid);
      for (const Rounding mode : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
        EXPECT_LE(steps_from_exact(graph, plan, {x}, run_lowered(graph, plan, {.rounding = mode}, {x}, true)), mode == Rounding::kDoubleRound ? 0.76 : 0.51) << name_of(mode);
      }
    }
  }
}

TEST(ReduceMean, ReducesAnyAxesAndDropsThemOnImport) {
  const Tensor x = Tensor::of<float>({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  Attrs attrs;
  attrs.set("axes", std::vector<std::int64_t>{-1, 0});
  attrs.set("keepdims", Attr(std::int64_t{0}));
  EXPECT_TRUE(run(test::must(normalized_op("ReduceMean", attrs, {{x}})), {x}).same_bytes(Tensor::of<float>({2}, {5, 8})));
  attrs.set("keepdims", 1);
  EXPECT_TRUE(run(test::must(normalized_op("ReduceMean", attrs, {{x}})), {x}).same_bytes(Tensor::of<float>({1, 2, 1}, {5, 8})));
  EXPECT_TRUE(run(test::must(normalized_op("GlobalAveragePool", {}, {{x}})), {x}).same_bytes(Tensor::of<float>({2, 2, 1}, {2, 5, 8, 11})));
}

TEST(ReduceSum, SumsRealsAndCodes) {
  const Tensor x = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto axes = test::constant(Tensor::of<std::int64_t>({1}, {1}));
  EXPECT_TRUE(run(test::must(normalized_op("ReduceSum", {}, {{x}, axes})), {x}).same_bytes(Tensor::of<float>({2, 1}, {6, 15})));
  Attrs attrs;
  attrs.set("axes", std::vector<std::int64_t>{1});
  const Graph graph = one_op("ReduceSum", attrs, {{x}});
  const Plan plan = plan_of(graph, {QuantParams::per_tensor(DType::kU8, 0.5F, 7)}, QuantParams::per_tensor(DType::kU8, 0.25F, 100));
  EXPECT_TRUE(run_lowered(graph, plan, {}, {x}, true).codes.same_bytes(Tensor::of<std::uint8_t>({2, 1}, {124, 160})));
}

TEST(ReduceMax, ChoosesAmongRealsAndCodes) {
  const Tensor x = Tensor::of<float>({2, 3}, {1, -2, 3, -4, -5, -6});
  const auto axes = test::constant(Tensor::of<std::int64_t>({1}, {-1}));
  EXPECT_TRUE(run(test::must(normalized_op("ReduceMax", {}, {{x}, axes}, 18)), {x}).same_bytes(Tensor::of<float>({2, 1}, {3, -4})));
  EXPECT_TRUE(run(test::must(normalized_op("ReduceMin", {}, {{x}, axes}, 18)), {x}).same_bytes(Tensor::of<float>({2, 1}, {-2, -6})));
  EXPECT_TRUE(run(test::must(normalized_op("ReduceMax", {}, {{x}})), {x}).same_bytes(Tensor::of<float>({1, 1}, {3})));
  const Tensor nan = Tensor::of<float>({1, 3}, {1, std::numeric_limits<float>::quiet_NaN(), 3});
  EXPECT_TRUE(std::isnan(run(test::must(normalized_op("ReduceMax", {}, {{nan}}, 18)), {nan}).data<float>()[0])) << "a NaN is not passed over";
  Attrs attrs;
  attrs.set("axes", std::vector<std::int64_t>{0});
  for (const char* op : {"ReduceMax", "ReduceMin"}) {
    for (const DType dtype : {DType::kU8, DType::kI8, DType::kI16}) {
      const Graph graph = one_op(op, attrs, {{x}});
      const QuantParams grid = QuantParams::per_tensor(dtype, 0.25F, dtype == DType::kI16 ? 0 : 40);
      const Plan plan = plan_of(graph, {grid}, grid);
      const auto lowered = run_lowered(graph, plan, {}, {x}, true);
      EXPECT_EQ(test::ops_of(lowered.graph), std::vector<std::string>{op});
      EXPECT_LE(steps_from_exact(graph, plan, {x}, lowered), 1e-4) << op << " " << name_of(dtype);
    }
  }
}

TEST(LayerNormalization, NormalizesTheTrailingAxes) {
  const Tensor x = Tensor::of<float>({2, 2}, {1, 3, -4, 4});
  Attrs attrs;
  attrs.set("epsilon", Attr(0.0));
  const Graph graph = test::must(normalized_op("LayerNormalization", attrs, {{x}, test::constant(Tensor::of<float>({2}, {2, 10})), test::constant(Tensor::of<float>({2}, {1, 0}))}, 17));
  EXPECT_TRUE(run(graph, {x}).same_bytes(Tensor::of<float>({2, 2}, {-1, 10, -1, 10})));
}

TEST(ReduceMean, PermutedAxesGiveThePermutedResult) {
  NARROW_SEEDED(rng);
  const Tensor x = test::random_tensor({2, 3, 4, 5}, rng);  // channels last
  Attrs attrs;
  attrs.set("axes", std::vector<std::int64_t>{2, 3});
  const std::vector<int> to_first{0, 3, 1, 2};
  Graph direct = one_op("ReduceMean", attrs, {{transposed(x, to_first)}});
  const Tensor want = run(direct, {transposed(x, to_first)});
  Graph moved = one_op("ReduceMean", attrs, {{x}});
  EXPECT_TRUE(find_op("ReduceMean")->permute(moved, moved.order()[0], to_first));
  test::must(infer_node(moved, moved.order()[0]));
  EXPECT_TRUE(transposed(run(moved, {x}), to_first).same_bytes(want));
}

TEST(ReduceMean, IntegersAreWithinHalfAStep) {
  NARROW_SEEDED(rng);
  const Tensor x = test::random_tensor({1, 7, 7, 12}, rng);
  Attrs attrs;
  attrs.set("axes", std::vector<std::int64_t>{1, 2});
  const Graph graph = one_op("ReduceMean", attrs, {{x}});
  const Plan plan = plan_of(graph, {QuantParams::per_tensor(DType::kI8, 0.008F, 5)}, QuantParams::per_tensor(DType::kU8, 0.002F, 128));
  for (const Rounding mode : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
    EXPECT_LE(steps_from_exact(graph, plan, {x}, run_lowered(graph, plan, {.rounding = mode}, {x}, true)), mode == Rounding::kDoubleRound ? 0.75 : 0.501) << name_of(mode);  // the first of two roundings adds up to 1/4
  }
}

TEST(BatchNormalization, BecomesScaleAndShift) {
  Attrs attrs;
  attrs.set("epsilon", Attr(0.0));
  const auto c = [](std::vector<float> v) { return test::constant(Tensor::of<float>({2}, v)); };
  const Tensor x = Tensor::of<float>({1, 2, 2}, {1, 2, 3, 4});
  const Graph graph = test::must(normalized_op("BatchNormalization", attrs, {{x}, c({2, 3}), c({1, 0}), c({1, 4}), c({4, 9})}));
  EXPECT_TRUE(run(graph, {x}).same_bytes(Tensor::of<float>({1, 2, 2}, {1, 2, -1, 0})));
  const auto affine = find_op("BatchNormalization")->affine(graph, graph.node(graph.order()[0]));
  ASSERT_TRUE(affine.has_value());
  EXPECT_EQ(affine->scale, (std::vector<float>{1, 1}));
  EXPECT_EQ(affine->shift, (std::vector<float>{0, -4}));
  EXPECT_EQ(affine->axis, 1);
}

}  // namespace
}  // namespace narrow
