#include "ops/lut.h"

#include <cmath>

#include "kernels/lut.h"
#include "one_node.h"

namespace narrow {
namespace {

float silu(float x) { return x / (1 + std::exp(-x)); }

TEST(Lut, EntriesAreRoundedFunctionValues) {
  const QuantParams x = QuantParams::per_tensor(DType::kU8, 0.05F, 128), y = QuantParams::per_tensor(DType::kU8, 1.0F / 256, 0);
  const Tensor table = lut_table([](float v) { return 1 / (1 + std::exp(-v)); }, x, y);
  EXPECT_EQ(table.data<std::uint8_t>()[128], 128);  // sigmoid(0) = 1/2
  EXPECT_EQ(table.data<std::uint8_t>()[0], 0);      // sigmoid(-6.4) = 0.00166: 0.42 steps
  EXPECT_EQ(table.data<std::uint8_t>()[255], 255);  // sigmoid(6.35) = 0.99825: 255.6 steps, the grid ends
  EXPECT_EQ(table.data<std::uint8_t>()[148], 187);  // sigmoid(1) = 0.731059: 187.15
}

TEST(Lut, NanBecomesTheZeroPoint) {
  const QuantParams x = QuantParams::per_tensor(DType::kU8, 1, 128), y = QuantParams::per_tensor(DType::kU8, 0.1F, 7);
  const Tensor table = lut_table([](float v) { return std::log(v); }, x, y);
  EXPECT_EQ(table.data<std::uint8_t>()[100], 7);
  EXPECT_EQ(table.data<std::uint8_t>()[128], 0);  // log(0) = -inf
  EXPECT_EQ(table.data<std::uint8_t>()[129], 7);  // log(1) = 0
}

// Limits just above the largest errors that were measured with 513 exact knots, in steps of the 16-bit output.
TEST(Lut16, ErrorsStayBelowTheKnownBounds) {
  struct Row {
    float (*f)(float);
    float bound, y_bound;
    double limit;
  };
  const Row rows[] = {{[](float v) { return 1 / (1 + std::exp(-v)); }, 8, 1, 1.2},
                      {[](float v) { return std::tanh(v); }, 4, 1, 1.4},
                      {silu, 8, 8, 1.1},
                      {[](float v) { return 0.5F * v * (1 + std::erf(v * 0.70710678F)); }, 8, 8.01F, 1.2}};
  for (const Row& row : rows) {
    const QuantParams x = params_from_range(static_cast<double>(-row.bound), static_cast<double>(row.bound), {.dtype = DType::kI16, .symmetric = true});
    const QuantParams y = QuantParams::per_tensor(DType::kI16, row.y_bound / 32768, 0);
    Lut16 table = lut16_table(row.f, x, y);
    std::vector<std::int16_t> codes(65536), out(65536);
    for (int i = 0; i < 65536; ++i) codes[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(i - 32768);
    lut_i16_i16(codes.data(), {table.entries.data<std::int16_t>(), table.fraction_bits, table.middle, -32768, 32767}, out.data(), 65536);
    double worst = 0;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const double want = static_cast<double>(row.f(static_cast<float>(codes[i]) * x.scale[0])) / static_cast<double>(y.scale[0]);
      worst = std::max(worst, std::abs(std::min(want, 32767.0) - out[i]));
    }
    EXPECT_LT(worst, row.limit);
  }
}

TEST(Lut16, ByteOutputsAreNearlyAlwaysTheRoundedValue) {
  const QuantParams x = params_from_range(-10, 10, {.dtype = DType::kI16, .symmetric = true});
  const QuantParams y = params_from_range(-0.28, 10, {.dtype = DType::kU8});
  Lut16 table = lut16_table(silu, x, y);
  int wrong = 0;
  for (int code = -32768; code < 32768; ++code) {
    const auto c = static_cast<std::int16_t>(code);
    std::uint8_t out = 0;
    lut_i16_u8(&c, {table.entries.data<std::int16_t>(), table.fraction_bits, table.middle, 0, 255}, &out, 1);
    const int want = quantize(silu(static_cast<float>(code) * x.scale[0]), y.scale[0], y.zero_point[0], 0, 255);
    ASSERT_LE(std::abs(want - out), 1);
    wrong += want != out ? 1 : 0;
  }
  EXPECT_LT(wrong, 400);  // of 65,536: within 1/128 of a step of a tie
}

TEST(Lut16, InterpolationRoundsHalfUp) {
  // Knots 0 and 1: the value passes 1/2 exactly at fraction 64.
  std::vector<std::int16_t> entries(513, 0);
  entries[257] = 1;
  entries[258] = -1;  // from 1 down to -1: 0.5 at fraction 32, -0.5 at 96
  for (int i = 259; i < 513; ++i) entries[static_cast<std::size_t>(i)] = -1;
  const std::vector<std::int16_t> x{0, 63, 64, 127, 128 + 31, 128 + 32, 128 + 33, 128 + 95, 128 + 96, 128 + 97};
  std::vector<std::int16_t> y(x.size());
  lut_i16_i16(x.data(), {entries.data(), 0, 0, -32768, 32767}, y.data(), static_cast<std::int64_t>(x.size()));
  EXPECT_EQ(y, (std::vector<std::int16_t>{0, 0, 1, 1, 1, 1, 0, 0, 0, -1}));
}

TEST(Lut16, EveryFormGivesTheSameBits) {
  NARROW_SEEDED(rng);
  for (const std::int64_t n : {1, 15, 16, 17, 1000, 40000}) {
    const Tensor x = test::random_ints<std::int16_t>({n}, rng, -32768, 32767);
    const Tensor entries = test::random_ints<std::int16_t>({513}, rng, -32768, 32767);
    for (const bool bytes : {false, true}) {
      test::OneNode node("qlut16", {test::fed(x), test::constant(entries)},
                         test::make_attrs({{"fraction_bits", Attr(std::int64_t{bytes ? 7 : 0})},
                                           {"y_middle", Attr(std::int64_t{bytes ? 128 : 0})},
                                           {"y_min", Attr(std::int64_t{bytes ? 0 : -32768})},
                                           {"y_max", Attr(std::int64_t{bytes ? 255 : 32767})},
                                           {"y_dtype", Attr(std::string(bytes ? "u8" : "i16"))}}));
      const Tensor fast = node.run()[0];
      Executor normative(node.graph, {.normative = true});
      const Tensor slow = test::must(normative.run(node.feed))[0];
      EXPECT_TRUE(fast.same_bytes(slow));
      const Lut16Spec spec{entries.data<std::int16_t>(), bytes ? 7 : 0, bytes ? 128 : 0, bytes ? 0 : -32768, bytes ? 255 : 32767};
      for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512Vnni}) {
        if (!isa_available(isa)) continue;
        Tensor y(slow.dtype(), slow.shape());
        if (bytes) {
          lut_i16_u8(x.data<std::int16_t>(), spec, y.data<std::uint8_t>(), n, isa);
        } else {
          lut_i16_i16(x.data<std::int16_t>(), spec, y.data<std::int16_t>(), n, isa);
        }
        EXPECT_TRUE(y.same_bytes(slow)) << name_of(isa);
      }
    }
  }
}

TEST(Lut, EveryFormGivesTheSameBits) {
  NARROW_SEEDED(rng);
  const Tensor table = test::random_ints<std::uint8_t>({256}, rng, 0, 255);
  for (const std::int64_t n : {1, 63, 64, 65, 5000, 70000}) {
    const Tensor x = test::random_ints<std::uint8_t>({n}, rng, 0, 255);
    Tensor y(DType::kU8, {n}), portable(DType::kU8, {n});
    look_up(x.data<std::uint8_t>(), table.data<std::uint8_t>(), y.data<std::uint8_t>(), n);
    look_up(x.data<std::uint8_t>(), table.data<std::uint8_t>(), portable.data<std::uint8_t>(), n, Isa::kPortable);
    EXPECT_TRUE(y.same_bytes(portable));
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(y.data<std::uint8_t>()[i], table.data<std::uint8_t>()[x.data<std::uint8_t>()[i]]);
  }
}

TEST(Lut, TablesOfSixteenBitCodesGiveTheSameBits) {
  NARROW_SEEDED(rng);
  for (const DType to : {DType::kU8, DType::kI16}) {
    const Tensor table = to == DType::kU8 ? test::random_ints<std::uint8_t>({65536}, rng, 0, 255) : test::random_ints<std::int16_t>({65536}, rng, -32768, 32767);
    Tensor x = test::random_ints<std::int16_t>({40000}, rng, -32768, 32767);
    x.data<std::int16_t>()[0] = -32768;
    x.data<std::int16_t>()[1] = 32767;
    test::OneNode node("qlut", {test::fed(x), test::constant(table)}, {});
    const Tensor fast = node.run()[0];
    Executor normative(node.graph, {.normative = true});
    EXPECT_TRUE(fast.same_bytes(test::must(normative.run(node.feed))[0]));
    const std::vector<std::int64_t> entries = table.to_ints(), y = fast.to_ints();
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], entries[static_cast<std::size_t>(x.data<std::int16_t>()[i] + 32768)]);
  }
}

FusedActivation activation(const char* op) {
  FusedActivation out;
  out.op = find_op(op);
  return out;
}

TEST(Preactivation, ReachesToWhereTheOutputStopsChanging) {
  // SiLU on [-0.28, 10]: above 10 the grid ends; below, the last step away from zero is near -5.4 (|silu| = step/2 = 0.02).
  const QuantParams out = params_from_range(-0.28, 10, {.dtype = DType::kU8});
  const QuantParams pre = preactivation_params(activation("SiLU"), out, DType::kI16, 500);
  EXPECT_EQ(pre.dtype, DType::kI16);
  EXPECT_EQ(pre.zero_point[0], 0);
  EXPECT_NEAR(pre.highest(), 10, 0.3);
  // What cannot be reached needs no codes.
  EXPECT_NEAR(preactivation_params(activation("SiLU"), out, DType::kI16, 3).highest(), 3, 1e-3);
  // Sigmoid on 1/256: constant beyond log(511) = 6.24 on both sides.
  const QuantParams gate = preactivation_params(activation("Sigmoid"), QuantParams::per_tensor(DType::kU8, 1.0F / 256, 0), DType::kI16, 100);
  EXPECT_NEAR(gate.highest(), 6.24, 0.15);
  const QuantParams bytes = preactivation_params(activation("Sigmoid"), QuantParams::per_tensor(DType::kU8, 1.0F / 256, 0), DType::kU8, 100);
  EXPECT_EQ(bytes.zero_point[0], 128);
}

TEST(OutputWindow, CutsTheGridToTheClamp) {
  const QuantParams out = QuantParams::per_tensor(DType::kU8, 0.1F, 20);
  FusedActivation clip = activation("Clip");
  clip.attrs = test::make_attrs({{"min", 0.0}, {"max", 6.0}});
  EXPECT_EQ(output_window(clip, out).low, 20);
  EXPECT_EQ(output_window(clip, out).high, 80);
  EXPECT_EQ(output_window(activation("Relu"), out).high, 255);
  EXPECT_EQ(output_window({}, out).low, 0);
}

TEST(Unary, IntegerFormIsTheRoundedFunctionForEveryCode) {
  for (const char* op : {"Sigmoid", "HardSwish", "LeakyRelu", "Exp", "Sqrt", "Neg", "Abs", "Relu", "Gelu"}) {
    test::OneNode node(op, {test::fed(Tensor::zeros(DType::kF32, {256}))});
    test::must(infer_node(node.graph, node.node));
    const QuantParams x = QuantParams::per_tensor(DType::kU8, 0.03F, 100), y = QuantParams::per_tensor(DType::kU8, 0.05F, 90);
    test::OneLowering lowering(node.graph, node.node, {x}, {y}, {});
    test::must(find_op(op)->lower(lowering));
    Tensor codes(DType::kU8, {256});
    for (int i = 0; i < 256; ++i) codes.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
    const Tensor out = lowering.run({codes}, false);
    for (int i = 0; i < 256; ++i) {
      const float f = find_op(op)->activation->apply(dequantize(i, 0.03F, 100), {});
      ASSERT_EQ(out.data<std::uint8_t>()[i], quantize(f, 0.05F, 90, 0, 255)) << op << " code " << i;
    }
  }
}

// Smooth functions and slight kinks are interpolated. Steps and poles are no chords: such functions have a table of all codes.
TEST(Unary, SixteenBitFormStaysNearTheFunctionForEveryCode) {
  struct Row {
    const char* op;
    float y_scale;
    const char* lowered;
    Attrs attrs = {};
  };
  const Row rows[] = {{"Sigmoid", 1.0F / 32768, "qlut16"},
                      {"Tanh", 1.0F / 32768, "qlut16"},
                      {"Relu", 0x1p-12F, "qlut16"},
                      {"LeakyRelu", 0x1p-12F, "qlut16", test::make_attrs({{"alpha", 0.1}})},
                      {"Sign", 0x1p-15F, "qlut"},
                      {"Round", 0x1p-12F, "qlut"},
                      {"Reciprocal", 0x1p-10F, "qlut"},
                      {"Pow", 0x1p-10F, "qlut", test::make_attrs({{"exponent", -1.0}})},
                      {"Log", 0x1p-11F, "qlut"},
                      {"Sqrt", 0x1p-13F, "qlut"},
                      {"Clip", 0x1p-12F, "qlut16", test::make_attrs({{"min", -1.2345}, {"max", 2.3456}})},
                      {"Neg", 0.00006F, "qlut16"}};  // its ends are cut off
  for (const Row& row : rows) {
    for (const DType to : {DType::kI16, DType::kU8}) {
      test::OneNode node(row.op, {test::fed(Tensor::zeros(DType::kF32, {65536}))}, row.attrs);
      test::must(infer_node(node.graph, node.node));
      const float y_scale = to == DType::kI16 ? row.y_scale : row.y_scale * 256;
      const QuantParams x = QuantParams::per_tensor(DType::kI16, 0x1p-12F, 0), y = QuantParams::per_tensor(to, y_scale, to == DType::kI16 ? 0 : 128);
      test::OneLowering lowering(node.graph, node.node, {x}, {y}, {});
      test::must(find_op(row.op)->lower(lowering));
      const std::string lowered = lowering.integers.node(lowering.integers.order().back()).op;
      EXPECT_TRUE(to == DType::kU8 || lowered == row.lowered) << row.op << " became " << lowered;
      Tensor codes(DType::kI16, {65536});
      for (int i = 0; i < 65536; ++i) codes.data<std::int16_t>()[i] = static_cast<std::int16_t>(i - 32768);
      const std::vector<std::int64_t> out = lowering.run({codes}, false).to_ints();
      for (int i = 0; i < 65536; ++i) {
        const float f = find_op(row.op)->activation->apply(dequantize(i - 32768, 0x1p-12F, 0), row.attrs);
        const auto want = quantize(std::isnan(f) ? 0 : f, y_scale, y.zero_point[0], static_cast<std::int32_t>(y.qmin()), static_cast<std::int32_t>(y.qmax()));
        ASSERT_LE(std::abs(want - out[static_cast<std::size_t>(i)]), to == DType::kI16 ? 64 : 1) << row.op << " code " << i - 32768;
      }
    }
  }
}

}  // namespace
}  // namespace narrow
