// Float values and normalisation of functions of one tensor and of two.
#include <cmath>
#include <limits>

#include "one_node.h"
#include "ops/binary.h"

namespace narrow {
namespace {

using test::constant;
using test::fed;
using test::make_attrs;
using test::run_node;
using test::run_onnx;

Tensor floats(const std::vector<float>& v) { return Tensor::of<float>({static_cast<std::int64_t>(v.size())}, v); }

TEST(Unary, AgreesWithTheMathematicalFunction) {
  struct Row {
    const char* op;
    double (*f)(double);
    double low = -8, high = 8;
  };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  (void)sigmoid;
  const Row rows[] = {
      {"Relu", [](double x) { return std::max(x, 0.0); }},
      {"LeakyRelu", [](double x) { return x > 0 ? x : 0.01 * x; }},
      {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"Tanh", [](double x) { return std::tanh(x); }},
      {"HardSigmoid", [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {"HardSwish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"SiLU", [](double x) { return x / (1 + std::exp(-x)); }},
      {"Gelu", [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
      {"Elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
      {"Mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"Exp", [](double x) { return std::exp(x); }},
      {"Log", [](double x) { return std::log(x); }, 0.001, 50},
      {"Sqrt", [](double x) { return std::sqrt(x); }, 0, 50},
      {"Reciprocal", [](double x) { return 1 / x; }, 0.01, 50},
      {"Erf", [](double x) { return std::erf(x); }},
      {"Neg", [](double x) { return -x; }},
      {"Abs", [](double x) { return std::abs(x); }},
      {"Floor", [](double x) { return std::floor(x); }},
      {"Ceil", [](double x) { return std::ceil(x); }},
      {"Round", [](double x) { return std::nearbyint(x); }},
      {"Sign", [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }},
  };
  for (const Row& row : rows) {
    std::vector<float> x;
    for (int i = 0; i <= 1000; ++i) x.push_back(static_cast<float>(row.low + (row.high - row.low) * i / 1000));
    const Tensor y = run_node(row.op, {fed(floats(x))});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = row.f(static_cast<double>(x[i]));
      ASSERT_NEAR(static_cast<double>(y.data<float>()[i]), want, 1e-6 * std::max(1.0, std::abs(want))) << row.op << "(" << x[i] << ")";
      ASSERT_NEAR(static_cast<double>(find_op(row.op)->activation->apply(x[i], {})), want, 1e-6 * std::max(1.0, std::abs(want))) << row.op << "(" << x[i] << ")";
    }
  }
}

TEST(Unary, FarArgumentsStayFinite) {
  std::vector<float> x{-1e30F, -1000, -100, 100, 1000, 1e30F};
  const Tensor y = run_node("Sigmoid", {fed(floats(x))}), t = run_node("Tanh", {fed(floats(x))});
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR(y.data<float>()[i], i < 3 ? 0 : 1, 1e-30);
    EXPECT_EQ(t.data<float>()[i], i < 3 ? -1 : 1);
  }
}

TEST(Gelu, ByTanh) {
  const Tensor y = run_onnx("Gelu", {fed(floats({-1, 1, 2}))}, make_attrs({{"approximate", std::string("tanh")}}), 20)[0];
  EXPECT_NEAR(y.data<float>()[0], -0.158808, 1e-6);
  EXPECT_NEAR(y.data<float>()[1], 0.841192, 1e-6);
  EXPECT_NEAR(y.data<float>()[2], 1.954598, 1e-6);
}

TEST(Clip, FromAttributesAndFromInputs) {
  const Tensor x = floats({-2, 0.5F, 9});
  EXPECT_TRUE(run_onnx("Clip", {fed(x)}, make_attrs({{"min", 0.0}, {"max", 6.0}}), 6)[0].same_bytes(floats({0, 0.5F, 6})));
  EXPECT_TRUE(run_onnx("Clip", {fed(x), constant(Tensor::scalar<float>(-1))}, {}, 11)[0].same_bytes(floats({-1, 0.5F, 9})));
  EXPECT_TRUE(run_onnx("Clip", {fed(x), {}, constant(Tensor::scalar<float>(1))}, {}, 13)[0].same_bytes(floats({-2, 0.5F, 1})));
  test::OneNode open("Clip", {fed(x)}, make_attrs({{"min", 0.0}, {"max", 3.4028234663852886e38}}));
  test::must(open.normalize(6));
  EXPECT_FALSE(open.graph.node(open.node).attrs.has("max"));
}

TEST(Clip, ComputedLimitsMakeItMaxAndMin) {
  const Tensor x = floats({-2, 0.5F, 9}), low = Tensor::scalar<float>(-1), high = Tensor::scalar<float>(4), below = Tensor::scalar<float>(-3);
  EXPECT_TRUE(run_onnx("Clip", {fed(x), fed(low)})[0].same_bytes(floats({-1, 0.5F, 9})));
  EXPECT_TRUE(run_onnx("Clip", {fed(x), {}, fed(high)})[0].same_bytes(floats({-2, 0.5F, 4})));
  EXPECT_TRUE(run_onnx("Clip", {fed(x), fed(low), fed(high)})[0].same_bytes(floats({-1, 0.5F, 4})));
  EXPECT_TRUE(run_onnx("Clip", {fed(x), constant(low), fed(high)})[0].same_bytes(floats({-1, 0.5F, 4})));
  EXPECT_TRUE(run_onnx("Clip", {fed(x), fed(low), constant(high)})[0].same_bytes(floats({-1, 0.5F, 4})));
  EXPECT_TRUE(run_onnx("Clip", {fed(x), fed(low), fed(below)})[0].same_bytes(floats({-3, -3, -3})));  // crossed: max wins
  const Tensor none = Tensor::scalar<float>(std::numeric_limits<float>::infinity());
  test::OneNode open("Clip", {fed(x), fed(low), constant(none)});
  test::must(open.normalize());
  EXPECT_EQ(open.graph.node(open.node).op, "Max");
  EXPECT_EQ(open.graph.order().size(), 1U);
  test::OneNode list("Clip", {fed(x), fed(low), fed(floats({1, 2}))});
  EXPECT_EQ(list.normalize().error().message, "'max' has shape [2], wanted one number");
}

TEST(Pow, ConstantExponentBecomesAnAttribute) {
  EXPECT_TRUE(run_onnx("Pow", {fed(floats({-2, 3})), constant(floats({2}))})[0].same_bytes(floats({4, 9})));
  EXPECT_NEAR(run_onnx("Pow", {fed(floats({2})), constant(Tensor::scalar<float>(0.5F))})[0].data<float>()[0], std::sqrt(2.0), 1e-7);
  test::OneNode list("Pow", {fed(floats({2, 3})), constant(floats({1, 2}))});
  EXPECT_EQ(list.normalize().error().message, "the exponent has shape [2], wanted one number");
}

TEST(Binary, BroadcastsLikeAnOracle) {
  NARROW_SEEDED(rng);
  for (int round = 0; round < 200; ++round) {
    const std::size_t rank = 1 + rng() % 4;
    Shape a(rank), b(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      const auto extent = static_cast<std::int64_t>(1 + rng() % 6);
      a[d] = rng() % 3 == 0 ? 1 : extent;
      b[d] = rng() % 3 == 0 ? 1 : extent;
    }
    b.erase(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(rng() % (rank + 1)));
    const Tensor x = test::random_tensor(a, rng), z = test::random_tensor(b, rng);
    const Tensor y = run_node("Sub", {fed(x), fed(z)});
    const Shape shape = test::must(broadcast(a, b));
    ASSERT_EQ(y.shape(), shape);
    const auto sa = broadcast_strides(a, shape), sb = broadcast_strides(b, shape), sy = strides_of(shape);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      std::int64_t oa = 0, ob = 0;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        oa += i / sy[d] % shape[d] * sa[d];
        ob += i / sy[d] % shape[d] * sb[d];
      }
      ASSERT_EQ(y.data<float>()[i], x.data<float>()[oa] - z.data<float>()[ob]) << to_string(a) << to_string(b);
    }
  }
}

TEST(Binary, IntegersAreComputedModuloTheirWidth) {
  constexpr std::int64_t kLow = INT64_MIN, kHigh = INT64_MAX;
  const auto longs = [](std::vector<std::int64_t> v) { return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size())}, v); };
  const auto y = [&](const char* op, const Tensor& a, const Tensor& b) { return run_onnx(op, {fed(a), fed(b)})[0].to_ints(); };
  const Tensor a = longs({kHigh, kLow, kLow, 7}), b = longs({1, -1, kLow, 0});
  EXPECT_EQ(y("Add", a, b), (std::vector<std::int64_t>{kLow, kHigh, 0, 7}));
  EXPECT_EQ(y("Sub", b, a), (std::vector<std::int64_t>{kLow + 2, kHigh, 0, -7}));
  EXPECT_EQ(y("Mul", a, b), (std::vector<std::int64_t>{kHigh, kLow, 0, 0}));
  EXPECT_EQ(y("Div", a, b), (std::vector<std::int64_t>{kHigh, kLow, 1, 0}));
  EXPECT_EQ(run_onnx("Neg", {fed(a)})[0].to_ints(), (std::vector<std::int64_t>{-kHigh, kLow, kLow, -7}));
  EXPECT_EQ(run_onnx("Abs", {fed(a)})[0].to_ints(), (std::vector<std::int64_t>{kHigh, kLow, kLow, 7}));
  EXPECT_EQ(y("Mul", Tensor::of<std::uint16_t>({1}, {65535}), Tensor::of<std::uint16_t>({1}, {65535})), (std::vector<std::int64_t>{1}));
}

TEST(Binary, LargeTensorsInPieces) {
  NARROW_SEEDED(rng);
  const Tensor x = test::random_tensor({3, 5000, 9}, rng), v = test::random_tensor({9}, rng), column = test::random_tensor({3, 5000, 1}, rng);
  const Tensor y = run_node("Mul", {fed(x), fed(v)}), z = run_node("Mul", {fed(column), fed(x)});
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    ASSERT_EQ(y.data<float>()[i], x.data<float>()[i] * v.data<float>()[i % 9]);
    ASSERT_EQ(z.data<float>()[i], x.data<float>()[i] * column.data<float>()[i / 9]);
  }
}

TEST(Binary, FusedClamp) {
  const Attrs attrs = make_attrs({{"activation", std::string("Clip")}, {"activation.min", -1.0}, {"activation.max", 2.0}});
  EXPECT_TRUE(run_node("Add", {fed(floats({-3, 0, 3})), fed(floats({1, 1, 1}))}, attrs).same_bytes(floats({-1, 1, 2})));
  EXPECT_TRUE(run_node("Mul", {fed(floats({-3, 1, 3})), fed(floats({1, 1, 1}))}, make_attrs({{"activation", std::string("Relu")}})).same_bytes(floats({0, 1, 3})));
}

TEST(Binary, ShapesThatDoNotFit) {
  test::OneNode node("Add", {fed(floats({1, 2})), fed(floats({1, 2, 3}))});
  EXPECT_EQ(node.normalize().error().message, "node 'node' (Add): shapes [2] and [3] do not broadcast: 2 against 3");
  test::OneNode types("Add", {fed(floats({1})), fed(Tensor::of<std::int64_t>({1}, {1}))});
  EXPECT_EQ(types.normalize().error().message, "node 'node' (Add): operands are f32 and i64, wanted one element type");
  test::OneNode missing("Add", {fed(floats({1}))});
  EXPECT_EQ(missing.normalize().error().message, "node 'node' (Add): 1 of 2 inputs are missing");
}

TEST(Div, ByAConstantMultiplies) {
  test::OneNode node("Div", {fed(floats({3, 10})), constant(floats({4, 3}))});
  test::must(node.normalize());
  EXPECT_EQ(node.graph.node(node.node).op, "Mul");
  EXPECT_NEAR(node.run()[0].data<float>()[1], 10.0 / 3, 1e-6);
  test::OneNode zero("Div", {fed(floats({3})), constant(floats({0}))});
  test::must(zero.normalize());
  EXPECT_EQ(zero.graph.node(zero.node).op, "Div");
  EXPECT_TRUE(std::isinf(zero.run()[0].data<float>()[0]));
  EXPECT_EQ(run_onnx("Div", {fed(Tensor::of<std::int64_t>({3}, {-7, 7, 1})), constant(Tensor::of<std::int64_t>({3}, {2, 2, 0}))})[0].to_ints(), (std::vector<std::int64_t>{-3, 3, 0}));
}

TEST(MinMax, ChainsAndClips) {
  EXPECT_TRUE(run_onnx("Max", {fed(floats({1, 5})), fed(floats({2, 2})), fed(floats({0, 9}))})[0].same_bytes(floats({2, 9})));
  test::OneNode clip("Min", {constant(Tensor::scalar<float>(6)), fed(floats({1, 9}))});
  test::must(clip.normalize());
  EXPECT_EQ(clip.graph.node(clip.node).op, "Clip");
  EXPECT_TRUE(clip.run()[0].same_bytes(floats({1, 6})));
}

TEST(Affine, ConstantOperandsPerChannel) {
  const Tensor x = Tensor::zeros(DType::kF32, {1, 2, 3, 4}), c = Tensor::of<float>({3, 1}, {1, 2, 3});
  const auto affine = [&](const char* op, bool constant_first) {
    test::OneNode node(op, constant_first ? std::vector<test::In>{constant(c), fed(x)} : std::vector<test::In>{fed(x), constant(c)});
    test::must(infer_node(node.graph, node.node));
    return find_op(op)->affine(node.graph, node.graph.node(node.node)).value();
  };
  const Affine sum = affine("Add", false), product = affine("Mul", true), difference = affine("Sub", false), reversed = affine("Sub", true);
  EXPECT_EQ(sum.axis, 2);
  EXPECT_EQ(sum.shift, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(sum.scale, (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(product.data_input, 1);
  EXPECT_EQ(product.scale, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(product.shift, (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(difference.shift, (std::vector<float>{-1, -2, -3}));
  EXPECT_EQ(reversed.scale, (std::vector<float>{-1, -1, -1}));
  EXPECT_EQ(reversed.shift, (std::vector<float>{1, 2, 3}));
  // A constant that enlarges the data, or varies along two axes, is no affine map of channels.
  for (const Shape& shape : {Shape{2, 1, 1, 1, 1}, Shape{3, 4}}) {
    test::OneNode node("Add", {fed(x), constant(Tensor::zeros(DType::kF32, shape))});
    test::must(infer_node(node.graph, node.node));
    EXPECT_FALSE(find_op("Add")->affine(node.graph, node.graph.node(node.node)).has_value());
  }
}

TEST(Compare, AndWhere) {
  EXPECT_EQ(run_node("Equal", {fed(floats({1, 2})), fed(floats({1, 3}))}).to_ints(), (std::vector<std::int64_t>{1, 0}));
  const Tensor mask = Tensor::of<float>({2, 1}, {1, 0}).cast(DType::kBool);
  EXPECT_TRUE(run_node("Where", {fed(mask), fed(floats({1, 2})), fed(Tensor::scalar<float>(9))}).same_bytes(Tensor::of<float>({2, 2}, {1, 2, 9, 9})));
  EXPECT_EQ(run_node("Not", {fed(mask)}).to_ints(), (std::vector<std::int64_t>{0, 1}));
}

TEST(QuantizeLinear, PerTensorAndPerAxis) {
  const Tensor x = Tensor::of<float>({2, 3}, {0.25F, 0.75F, -1, 100, -100, 0.5F});
  const Tensor q = run_onnx("QuantizeLinear", {fed(x), constant(Tensor::scalar<float>(0.5F)), constant(Tensor::scalar<std::uint8_t>(10))})[0];
  EXPECT_TRUE(q.same_bytes(Tensor::of<std::uint8_t>({2, 3}, {10, 12, 8, 210, 0, 11})));
  const Tensor wide = run_onnx("QuantizeLinear", {fed(x), constant(floats({0.5F})), constant(Tensor::of<std::int16_t>({1}, {0}))}, {}, 21)[0];
  EXPECT_TRUE(wide.same_bytes(Tensor::of<std::int16_t>({2, 3}, {0, 2, -2, 200, -200, 1})));
  const Tensor codes = Tensor::of<std::int8_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor real = run_onnx("DequantizeLinear", {fed(codes), constant(floats({1, 10})), constant(Tensor::of<std::int8_t>({2}, {1, 0}))}, make_attrs({{"axis", Attr(std::int64_t{0})}}))[0];
  EXPECT_TRUE(real.same_bytes(Tensor::of<float>({2, 3}, {0, 1, 2, 40, 50, 60})));
  test::OneNode wrong("DequantizeLinear", {fed(codes), constant(floats({1, 10, 3}))}, make_attrs({{"axis", Attr(std::int64_t{0})}}));
  EXPECT_EQ(wrong.normalize().error().message, "node 'node' (DequantizeLinear): 3 scales for axis 0 of shape [2,3]");
}

// What has no ONNX operator is written as several that have one.
TEST(Denormalize, ActivationsAreSpelledOut) {
  struct Row {
    const char* op;
    Attrs attrs;
  };
  for (const Row& row : {Row{"SiLU", {}}, Row{"HardSwish", {}}, Row{"Mish", {}}, Row{"Gelu", make_attrs({{"approximate", std::string("none")}})}, Row{"Gelu", make_attrs({{"approximate", std::string("tanh")}})}}) {
    NARROW_SEEDED(rng);
    test::OneNode node(row.op, {fed(test::random_tensor({50}, rng, -6, 6))}, row.attrs);
    const Tensor wanted = node.run()[0];
    RewriteContext ctx(node.graph, node.node, 13);
    test::must(find_op(row.op)->denormalize(ctx));
    test::must(infer_node(node.graph, node.node));
    test::must(node.graph.verify());
    for (const NodeId id : node.graph.order()) EXPECT_TRUE(op_of(node.graph.node(id)).onnx);
    EXPECT_GT(node.graph.order().size(), 1U);
    EXPECT_LT(test::max_abs_difference(node.run()[0], wanted), 2e-6);
  }
}

}  // namespace
}  // namespace narrow
