#include "ops/borders.h"

#include "ops/op_def.h"
#include "run/executor.h"
#include "support.h"

namespace narrow {
namespace {

Tensor run(Graph& graph, NodeSpec spec, const Tensor& x) {
  graph.add_output(test::must(append_inferred(graph, std::move(spec))));
  test::must(graph.verify());
  Executor executor(graph);
  return test::must(executor.run(std::vector<Tensor>{x}))[0];
}

TEST(Borders, QuantizeRoundsHalfToEvenAndSaturates) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, {8});
  const Tensor y = run(graph, quantize_spec(x, QuantParams::per_tensor(DType::kU8, 0.5F, 10)), Tensor::of<float>({8}, {0, 0.25F, 0.75F, -0.25F, 1000, -1000, 122.5F, std::nanf("")}));
  EXPECT_TRUE(y.same_bytes(Tensor::of<std::uint8_t>({8}, {10, 10, 12, 10, 255, 0, 255, 10})));
}

TEST(Borders, DequantizeIsTheAffineFormula) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kI16, {3});
  const Tensor y = run(graph, dequantize_spec(x, QuantParams::per_tensor(DType::kI16, 0.25F, -1)), Tensor::of<std::int16_t>({3}, {-32768, -1, 32767}));
  EXPECT_TRUE(y.same_bytes(Tensor::of<float>({3}, {-8191.75F, 0, 8192})));
}

Tensor requantized(Rounding rounding, const QuantParams& from, const QuantParams& to, const Tensor& x) {
  Graph graph;
  const ValueId in = graph.add_input("x", from.dtype, x.shape());
  const FixedPoint f = to_fixed_point(static_cast<double>(from.scale[0]) / static_cast<double>(to.scale[0]));
  const ValueId m = graph.add_constant("m", Tensor::of<std::int32_t>({1}, {f.multiplier}));
  const ValueId s = graph.add_constant("s", Tensor::of<std::int32_t>({1}, {f.shift}));
  return run(graph, requantize_spec(in, m, s, from, to, rounding), x);
}

TEST(Borders, RequantizeFollowsTheRoundingMode) {
  const QuantParams fine = QuantParams::per_tensor(DType::kU8, 0.25F, 128), coarse = QuantParams::per_tensor(DType::kU8, 0.5F, 3);
  const Tensor x = Tensor::of<std::uint8_t>({5}, {127, 128, 129, 133, 255});  // real -0.25, 0, 0.25, 1.25, 31.75: steps -0.5, 0, 0.5, 2.5, 63.5
  EXPECT_TRUE(requantized(Rounding::kSingleRound, fine, coarse, x).same_bytes(Tensor::of<std::uint8_t>({5}, {3, 3, 4, 6, 67})));   // half up
  EXPECT_TRUE(requantized(Rounding::kDoubleRound, fine, coarse, x).same_bytes(Tensor::of<std::uint8_t>({5}, {3, 3, 4, 6, 67})));   // gemmlowp: half up here
  EXPECT_TRUE(requantized(Rounding::kFloatRne, fine, coarse, x).same_bytes(Tensor::of<std::uint8_t>({5}, {3, 3, 3, 5, 67})));      // half to even
}

TEST(Borders, RequantizeChangesWidth) {
  const QuantParams wide = QuantParams::per_tensor(DType::kI16, 0.001F, 0), narrow = QuantParams::per_tensor(DType::kU8, 0.1F, 128);
  const Tensor x = Tensor::of<std::int16_t>({4}, {-32768, -149, 151, 32767});
  EXPECT_TRUE(requantized(Rounding::kSingleRound, wide, narrow, x).same_bytes(Tensor::of<std::uint8_t>({4}, {0, 127, 130, 255})));
  EXPECT_TRUE(requantized(Rounding::kSingleRound, narrow, wide, Tensor::of<std::uint8_t>({2}, {0, 138})).same_bytes(Tensor::of<std::int16_t>({2}, {-12800, 1000})));
}

TEST(Borders, RequantizeIsWithinHalfAStepOfTheRealResult) {
  NARROW_SEEDED(rng);
  const Tensor x = test::random_ints<std::int16_t>({5000}, rng, -32768, 32767);
  std::uniform_real_distribution<float> pick(0.001F, 10);
  for (int i = 0; i < 20; ++i) {
    const QuantParams from = QuantParams::per_tensor(DType::kI16, pick(rng), 0), to = QuantParams::per_tensor(DType::kI16, pick(rng), static_cast<std::int32_t>(rng() % 100));
    for (const Rounding mode : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
      const Tensor y = requantized(mode, from, to, x);
      for (std::int64_t k = 0; k < x.elements(); ++k) {
        const double real = static_cast<double>(x.data<std::int16_t>()[k]) * from.scale[0] / to.scale[0] + to.zero_point[0];
        const double wanted = std::clamp(real, -32768.0, 32767.0);
        // The first of two roundings is at most half as coarse as the second; floats have 24 bits.
        ASSERT_LE(std::abs(y.data<std::int16_t>()[k] - wanted), mode == Rounding::kDoubleRound ? 0.75 : 0.5 + 0.01) << name_of(mode) << " " << real;
      }
    }
  }
}

// The prepared forms against the plain loops, with extents that are no multiple of any vector.
TEST(Borders, FastFormsGiveTheSameBits) {
  NARROW_SEEDED(rng);
  const QuantParams from = QuantParams::per_tensor(DType::kU8, 0.031F, 77), to = QuantParams::per_tensor(DType::kU8, 0.02F, 130);
  for (const Rounding rounding : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
    Graph graph;
    const ValueId x = graph.add_input("x", DType::kF32, {1237});
    const FixedPoint f = to_fixed_point(static_cast<double>(from.scale[0]) / static_cast<double>(to.scale[0]));
    const ValueId m = graph.add_constant("m", Tensor::of<std::int32_t>({1}, {f.multiplier})), s = graph.add_constant("s", Tensor::of<std::int32_t>({1}, {f.shift}));
    const ValueId q = test::must(append_inferred(graph, quantize_spec(x, from)));
    const ValueId r = test::must(append_inferred(graph, requantize_spec(q, m, s, from, to, rounding)));
    graph.add_output(q);
    graph.add_output(r);
    graph.add_output(test::must(append_inferred(graph, dequantize_spec(r, to))));
    const std::vector<Tensor> inputs{test::random_tensor({1237}, rng, -6, 8)};
    const auto fast = test::must(Executor(graph).run(inputs)), plain = test::must(Executor(graph, {.normative = true}).run(inputs));
    for (std::size_t i = 0; i < fast.size(); ++i) EXPECT_TRUE(fast[i].same_bytes(plain[i])) << "output " << i;
  }
}

}  // namespace
}  // namespace narrow
