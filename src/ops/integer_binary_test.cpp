// qadd and qmul against independent oracles, with hand-made ties for every rounding mode.
#include <cmath>

#include "one_node.h"

namespace narrow {
namespace {

struct Setting {
  QuantParams a, b, y;
};

// Runs the float operator `op` lowered to integers on codes; checks that the fast form gives the same bits.
Tensor run_integer(const std::string& op, const Setting& s, const Tensor& a, const Tensor& b, Rounding mode, Attrs attrs = {}) {
  test::OneNode node(op, {test::fed(Tensor::zeros(DType::kF32, a.shape())), test::fed(Tensor::zeros(DType::kF32, b.shape()))}, std::move(attrs));
  test::must(infer_node(node.graph, node.node));
  test::OneLowering lowering(node.graph, node.node, {s.a, s.b}, {s.y}, {.rounding = mode});
  test::must(find_op(op)->lower(lowering));
  const Tensor fast = lowering.run({a, b}, false), normative = lowering.run({a, b}, true);
  EXPECT_TRUE(fast.same_bytes(normative));
  return normative;
}

template <typename T>
Tensor codes(const std::vector<T>& values) { return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values); }

QuantParams grid(double scale, int zero_point, DType dtype = DType::kU8) { return QuantParams::per_tensor(dtype, static_cast<float>(scale), zero_point); }

std::int64_t code_at(const Tensor& t, std::int64_t i) { return t.dtype() == DType::kU8 ? t.data<std::uint8_t>()[i] : t.data<std::int16_t>()[i]; }

TEST(IntegerAdd, TiesPerRoundingMode) {
  // y = (a + b) / 2 in steps: sums of 1, 3, -1, -3 steps are ties.
  const Setting s{grid(0.5, 100), grid(0.5, 100), grid(1, 100)};
  const Tensor a = codes<std::uint8_t>({101, 103, 99, 97}), b = codes<std::uint8_t>({100, 100, 100, 100});
  const auto y = [&](Rounding mode) { return run_integer("Add", s, a, b, mode); };
  EXPECT_TRUE(y(Rounding::kSingleRound).same_bytes(codes<std::uint8_t>({101, 102, 100, 99})));  // half up
  EXPECT_TRUE(y(Rounding::kFloatRne).same_bytes(codes<std::uint8_t>({100, 102, 100, 98})));     // half to even, zero point included
  // The second rounding decides here, and takes halves away from zero.
  EXPECT_TRUE(y(Rounding::kDoubleRound).same_bytes(codes<std::uint8_t>({101, 102, 99, 98})));
}

TEST(IntegerMul, TiesPerRoundingMode) {
  const Setting s{grid(0.5, 100), grid(1, 99), grid(1, 101)};
  const Tensor a = codes<std::uint8_t>({101, 103, 99, 97}), b = codes<std::uint8_t>({100, 100, 100, 100});  // products 0.5, 1.5, -0.5, -1.5
  const auto y = [&](Rounding mode) { return run_integer("Mul", s, a, b, mode); };
  EXPECT_TRUE(y(Rounding::kSingleRound).same_bytes(codes<std::uint8_t>({102, 103, 101, 100})));
  EXPECT_TRUE(y(Rounding::kDoubleRound).same_bytes(codes<std::uint8_t>({102, 103, 101, 100})));  // the first rounding takes halves up, and decides here
  EXPECT_TRUE(y(Rounding::kFloatRne).same_bytes(codes<std::uint8_t>({102, 102, 100, 100})));  // 101.5 and 102.5 to even, 100.5 and 99.5 too
}

TEST(IntegerBinary, StaysWithinHalfAStepOfTheRealResult) {
  NARROW_SEEDED(rng);
  std::uniform_real_distribution<double> log_scale(-4, 0);
  for (int round = 0; round < 60; ++round) {
    const DType dtype = round % 3 == 2 ? DType::kI16 : DType::kU8;
    const auto zero = [&] { return dtype == DType::kU8 ? static_cast<int>(rng() % 256) : 0; };
    const char* op = round % 2 == 0 ? "Mul" : round % 4 == 1 ? "Add" : "Sub";
    const Shape shape_a{3, 40, 7}, shape_b = round % 5 == 0 ? Shape{7} : round % 5 == 1 ? Shape{3, 1, 7} : shape_a;
    Setting s{grid(std::exp2(log_scale(rng)), zero(), dtype), grid(std::exp2(log_scale(rng)), zero(), dtype), {}};
    const double reach = dtype == DType::kU8 ? 256 : 32768, sa = static_cast<double>(s.a.scale[0]), sb = static_cast<double>(s.b.scale[0]);
    s.y = grid(op[0] == 'M' ? sa * sb * reach * 0.7 : sa + sb, zero(), dtype);
    const auto random = [&](const Shape& shape) { return dtype == DType::kU8 ? test::random_ints<std::uint8_t>(shape, rng, 0, 255) : test::random_ints<std::int16_t>(shape, rng, -32768, 32767); };
    const Tensor a = random(shape_a), b = random(shape_b);
    const std::vector<std::int64_t> strides = broadcast_strides(shape_b, shape_a);
    for (const Rounding mode : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
      const Tensor y = run_integer(op, s, a, b, mode);
      for (std::int64_t i = 0; i < y.elements(); ++i) {
        const std::int64_t at_b = i / 280 * strides[0] + i / 7 % 40 * strides[1] + i % 7 * strides[2];
        const double ra = sa * static_cast<double>(code_at(a, i) - s.a.zero_point[0]), rb = sb * static_cast<double>(code_at(b, at_b) - s.b.zero_point[0]);
        const double real = (op[0] == 'M' ? ra * rb : op[0] == 'A' ? ra + rb : ra - rb) / static_cast<double>(s.y.scale[0]) + s.y.zero_point[0];
        const double wanted = std::clamp(real, static_cast<double>(s.y.qmin()), static_cast<double>(s.y.qmax()));
        // The second of two roundings sees a value that the first has moved by up to 1/2^k of a step, k small for 16-bit codes.
        const double slack = dtype == DType::kU8 ? (mode == Rounding::kDoubleRound ? 0.02 : 1e-3) : 0.6;
        ASSERT_LE(std::abs(static_cast<double>(code_at(y, i)) - wanted), 0.5 + slack) << op << " " << name_of(mode) << " real " << real;
      }
    }
  }
}

TEST(IntegerAdd, FusedClampIsAWindowOfCodes) {
  const Setting s{grid(0.1, 128), grid(0.1, 128), grid(0.1, 10)};
  Attrs attrs = test::make_attrs({{"activation", std::string("Clip")}, {"activation.min", 0.0}, {"activation.max", 6.0}});
  const Tensor y = run_integer("Add", s, codes<std::uint8_t>({0, 128, 148, 255}), codes<std::uint8_t>({128, 128, 128, 255}), Rounding::kSingleRound, attrs);
  EXPECT_TRUE(y.same_bytes(codes<std::uint8_t>({10, 10, 30, 70})));
}

// Values computed by ONNX Runtime 1.20.1 (com.microsoft QLinearAdd and QLinearMul, u8): scales and zero points
// (0.03, 100), (0.05, 7) -> (0.07, 31) and (0.021, 128), (0.9, 17) -> (0.019, 3).
TEST(IntegerBinary, FloatRneEqualsOnnxRuntime) {
  const Tensor a = codes<std::uint8_t>({0, 1, 50, 99, 100, 101, 102, 103, 128, 150, 200, 254, 255}), b = codes<std::uint8_t>({7, 3, 0, 255, 8, 7, 6, 40, 61, 128, 200, 9, 255});
  const Tensor sum = run_integer("Add", {grid(0.03, 100), grid(0.05, 7), grid(0.07, 31)}, a, b, Rounding::kFloatRne);
  EXPECT_TRUE(sum.same_bytes(codes<std::uint8_t>({0, 0, 5, 208, 32, 31, 31, 56, 82, 139, 212, 98, 255})));
  const Tensor product = run_integer("Mul", {grid(0.021, 128), grid(0.9, 17), grid(0.019, 3)}, a, b, Rounding::kFloatRne);
  EXPECT_TRUE(product.same_bytes(codes<std::uint8_t>({255, 255, 255, 0, 254, 255, 255, 0, 3, 255, 255, 0, 255})));
}

// Sums next to a tie, by ONNX Runtime 1.20.1 on a processor with AVX2: products that are rounded before they are added give others.
TEST(IntegerAdd, FloatRneDecidesTiesAsOnnxRuntime) {
  struct Case {
    Setting s;
    std::array<std::uint8_t, 3> a, b, y;
  };
  const Case cases[] = {
      {{grid(0.3125, 72), grid(0.21875, 111), grid(0.3125, 67)}, {0, 36, 120}, {136, 96, 36}, {13, 21, 63}},
      {{grid(0.2597295343875885, 199), grid(0.25272586941719055, 202), grid(0.22782225906848907, 228)}, {38, 156, 215}, {175, 97, 58}, {14, 62, 86}},
      {{grid(0.140625, 185), grid(0.28125, 124), grid(0.40625, 67)}, {0, 162, 254}, {210, 181, 239}, {63, 99, 170}},
      {{grid(0.2785147428512573, 150), grid(0.22535847127437592, 98), grid(0.23988492786884308, 165)}, {11, 113, 187}, {199, 173, 23}, {99, 193, 138}},
      {{grid(0.078125, 85), grid(0.03125, 2), grid(0.09375, 229)}, {2, 20, 38}, {100, 109, 196}, {192, 210, 254}},
      {{grid(0.14692680537700653, 172), grid(0.2128952592611313, 79), grid(0.33583906292915344, 205)}, {69, 144, 219}, {184, 107, 30}, {227, 211, 195}},
  };
  for (const Case& c : cases) {
    const auto row = [](const std::array<std::uint8_t, 3>& x) { return codes<std::uint8_t>({x[0], x[1], x[2]}); };
    EXPECT_TRUE(run_integer("Add", c.s, row(c.a), row(c.b), Rounding::kFloatRne).same_bytes(row(c.y))) << c.s.a.scale[0];
  }
}

TEST(IntegerBinary, ArrayFormsOfLargeTensors) {
  NARROW_SEEDED(rng);
  const Setting s{grid(0.031, 90), grid(0.017, 140), grid(0.04, 110)};
  const Tensor a = test::random_ints<std::uint8_t>({1, 64, 64, 8}, rng, 0, 255), b = test::random_ints<std::uint8_t>({1, 64, 64, 8}, rng, 0, 255);
  const Tensor gate = test::random_ints<std::uint8_t>({1, 1, 1, 8}, rng, 0, 255);
  for (const Rounding mode : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
    run_integer("Add", s, a, b, mode);
    run_integer("Sub", s, a, gate, mode);
    run_integer("Mul", s, a, gate, mode);
  }
}

}  // namespace
}  // namespace narrow
