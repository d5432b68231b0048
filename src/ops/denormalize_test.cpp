// To ONNX form and back: the outputs must not change. Also what import makes of ONNX's spellings of the linear operators.
#include "one_op.h"

namespace narrow {
namespace {

using test::constant;
using test::normalized_op;
using test::Operand;
using test::run;

void expect_round_trip(const Graph& imported, const std::vector<Tensor>& inputs, const std::string& onnx_op, int opset = 13) {
  const Tensor want = run(imported, inputs);
  Graph graph = imported;
  test::must(test::rewrite_all(graph, &OpDef::denormalize, opset));
  const auto ops = test::ops_of(graph);
  EXPECT_EQ(std::count(ops.begin(), ops.end(), onnx_op), 1) << onnx_op;
  test::must(test::rewrite_all(graph, &OpDef::normalize, opset));
  EXPECT_LT(test::max_abs_difference(run(graph, inputs), want), 1e-6) << onnx_op;
}

Attrs ints(const std::map<std::string, std::vector<std::int64_t>>& lists, std::int64_t group = 1) {
  Attrs attrs;
  for (const auto& [key, value] : lists) attrs.set(key, value);
  if (group != 1) attrs.set("group", Attr(group));
  return attrs;
}

TEST(Denormalize, RoundTripsKeepTheOutputs) {
  NARROW_SEEDED(rng);
  const auto random = [&](const Shape& s) { return test::random_tensor(s, rng); };
  const Tensor map = random({1, 6, 7, 8}), line = random({2, 4, 9}), matrix = random({5, 12}), volume = random({2, 5, 12});
  expect_round_trip(test::must(normalized_op("Conv", ints({{"pads", {1, 0, 1, 2}}, {"strides", {2, 1}}}, 2), {{map}, constant(random({8, 3, 3, 2})), constant(random({8}))})), {map}, "Conv");
  expect_round_trip(test::must(normalized_op("Conv", ints({{"dilations", {2}}}), {{line}, constant(random({3, 4, 2}))})), {line}, "Conv");
  expect_round_trip(test::must(normalized_op("ConvTranspose", ints({{"strides", {2, 2}}, {"output_padding", {1, 0}}}), {{map}, constant(random({6, 4, 3, 2})), constant(random({4}))})), {map}, "ConvTranspose");
  expect_round_trip(test::must(normalized_op("ConvTranspose", ints({{"pads", {1, 1, 1, 1}}}, 3), {{map}, constant(random({6, 2, 3, 3}))})), {map}, "ConvTranspose");
  expect_round_trip(test::must(normalized_op("Gemm", {}, {{matrix}, constant(random({12, 3})), constant(random({3}))})), {matrix}, "Gemm");
  expect_round_trip(test::must(normalized_op("MatMul", {}, {{volume}, constant(random({12, 3}))})), {volume}, "MatMul");
  expect_round_trip(test::must(normalized_op("MaxPool", ints({{"kernel_shape", {3, 2}}, {"strides", {2, 1}}}), {{map}})), {map}, "MaxPool");
  expect_round_trip(test::must(normalized_op("AveragePool", ints({{"kernel_shape", {3, 3}}, {"pads", {1, 1, 1, 1}}}), {{map}})), {map}, "AveragePool");
  expect_round_trip(test::must(normalized_op("ReduceMean", ints({{"axes", {1}}}), {{map}})), {map}, "ReduceMean");
  expect_round_trip(test::must(normalized_op("ReduceMean", ints({{"axes", {1}}}), {{map}})), {map}, "ReduceMean", 21);
  expect_round_trip(test::must(normalized_op("ReduceMean", ints({{"axes", {2, 3}}}), {{map}})), {map}, "GlobalAveragePool");
  Attrs linear;
  linear.set("mode", "linear");
  expect_round_trip(test::must(normalized_op("Resize", linear, {{map}, {}, constant(Tensor::of<float>({4}, {1, 1, 2, 1.5F}))})), {map}, "Resize");
  expect_round_trip(test::must(normalized_op("Resize", linear, {{map}, {}, constant(Tensor::of<float>({4}, {1, 1, 1.3F, 0.7F}))})), {map}, "Resize");
}

TEST(Denormalize, QuantizedWeightsAreTransposedAsIntegers) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, {1, 3, 3, 2});
  NARROW_SEEDED(rng);
  NodeSpec dequantize{.name = "w", .op = "DequantizeLinear", .inputs = {graph.add_constant("q", test::random_ints<std::int8_t>({4, 3, 3, 2}, rng, -127, 127)), graph.add_constant("s", test::random_tensor({4}, rng, 0.1F, 1)), graph.add_constant("z", Tensor::zeros(DType::kI8, {4}))}};
  dequantize.attrs.set("axis", Attr(std::int64_t{0}));
  const ValueId w = test::must(append_inferred(graph, std::move(dequantize)));
  const ValueId y = test::must(append_inferred(graph, {.name = "y", .op = "Conv", .inputs = {x, w}}));
  graph.add_output(y);
  test::must(test::rewrite_all(graph, &OpDef::denormalize));
  const Node& conv = graph.node(graph.find_node("y"));
  EXPECT_EQ(conv.op, "Conv");
  const Node* weights = graph.producer(conv.inputs[1]);
  ASSERT_NE(weights, nullptr);
  EXPECT_EQ(weights->op, "DequantizeLinear");
  EXPECT_EQ(weights->attrs.get_int("axis"), 0);
  EXPECT_EQ(graph.value(weights->inputs[0]).constant.shape(), (Shape{4, 2, 3, 3}));
}

TEST(Denormalize, QuantizedWeightsOfGroupedTransposedConvolutionsBecomeNumbers) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, {1, 3, 3, 4});
  NARROW_SEEDED(rng);
  NodeSpec dequantize{.name = "w", .op = "DequantizeLinear", .inputs = {graph.add_constant("q", test::random_ints<std::int8_t>({6, 2, 2, 2}, rng, -127, 127)), graph.add_constant("s", test::random_tensor({6}, rng, 0.1F, 1)), graph.add_constant("z", Tensor::zeros(DType::kI8, {6}))}};
  dequantize.attrs.set("axis", Attr(std::int64_t{0}));
  const ValueId w = test::must(append_inferred(graph, std::move(dequantize)));
  NodeSpec conv{.name = "y", .op = "ConvTranspose", .inputs = {x, w}};
  conv.attrs.set("group", 2);
  graph.add_output(test::must(append_inferred(graph, std::move(conv))));
  const Tensor data = test::random_tensor({1, 3, 3, 4}, rng), want = run(graph, {data});
  test::must(test::rewrite_all(graph, &OpDef::denormalize));
  EXPECT_EQ(graph.value(graph.node(graph.find_node("y")).inputs[1]).constant.shape(), (Shape{4, 3, 2, 2}));
  test::must(test::rewrite_all(graph, &OpDef::normalize));
  EXPECT_LT(test::max_abs_difference(run(graph, {data}), want), 1e-5);
}

TEST(Normalize, KernelShapeMustBeThatOfTheWeights) {
  NARROW_SEEDED(rng);
  Attrs attrs;
  attrs.set("kernel_shape", std::vector<std::int64_t>{5, 5});
  const Tensor map = test::random_tensor({1, 2, 8, 8}, rng);
  const auto conv = normalized_op("Conv", attrs, {{map}, constant(test::random_tensor({3, 2, 3, 3}, rng))});
  EXPECT_EQ(conv.error().message, "kernel_shape [5,5] contradicts the weights, whose window is [3,3]");
}

TEST(Normalize, GemmTakesEverySpelling) {
  NARROW_SEEDED(rng);
  const Tensor a = test::random_tensor({3, 4}, rng), b = test::random_tensor({4, 2}, rng), c = test::random_tensor({3, 1}, rng);
  std::vector<float> want;
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < 4; ++k) sum += static_cast<double>(a.data<float>()[i * 4 + k]) * static_cast<double>(b.data<float>()[k * 2 + j]);
      want.push_back(static_cast<float>(0.5 * sum + 2.0 * static_cast<double>(c.data<float>()[i])));
    }
  }
  Attrs attrs;
  attrs.set("transA", 1);
  attrs.set("transB", 1);
  attrs.set("alpha", Attr(0.5));
  attrs.set("beta", Attr(2.0));
  const Tensor at = transposed(a, {1, 0}), bt = transposed(b, {1, 0}), expected = Tensor::of<float>({3, 2}, want);
  const std::vector<std::pair<std::vector<Operand>, std::vector<Tensor>>> forms{
      {{{at}, constant(bt), constant(c)}, {at}}, {{{at}, {bt}, constant(c)}, {at, bt}}, {{{at}, {bt}, {c}}, {at, bt, c}}};
  for (const auto& [operands, inputs] : forms) {
    EXPECT_LT(test::max_abs_difference(run(test::must(normalized_op("Gemm", attrs, operands)), inputs), expected), 1e-6);
  }
}

TEST(Normalize, MatMulTakesVectors) {
  const Tensor v = Tensor::of<float>({2}, {1, 2}), m = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(run(test::must(normalized_op("MatMul", {}, {{v}, {m}})), {v, m}).same_bytes(Tensor::of<float>({3}, {9, 12, 15})));
  EXPECT_TRUE(run(test::must(normalized_op("MatMul", {}, {{v}, {v}})), {v, v}).same_bytes(Tensor::scalar(5.0F)));
  EXPECT_TRUE(run(test::must(normalized_op("MatMul", {}, {{v}, constant(m)})), {v}).same_bytes(Tensor::of<float>({3}, {9, 12, 15})));
}

TEST(Normalize, AutoPadPutsTheOddCellWhereItSays) {
  const Tensor x = Tensor::of<float>({1, 1, 1, 4}, {1, 2, 3, 4}), w = Tensor::of<float>({1, 1, 1, 2}, {1, 10});
  Attrs upper, lower;
  upper.set("auto_pad", "SAME_UPPER");
  lower.set("auto_pad", "SAME_LOWER");
  EXPECT_TRUE(run(test::must(normalized_op("Conv", upper, {{x}, constant(w)})), {x}).same_bytes(Tensor::of<float>({1, 1, 1, 4}, {21, 32, 43, 4})));
  EXPECT_TRUE(run(test::must(normalized_op("Conv", lower, {{x}, constant(w)})), {x}).same_bytes(Tensor::of<float>({1, 1, 1, 4}, {10, 21, 32, 43})));
}

TEST(Normalize, ConvRefusesComputedWeightsWithAReason) {
  const Tensor x = Tensor::zeros(DType::kF32, {1, 1, 4, 4}), w = Tensor::zeros(DType::kF32, {1, 1, 3, 3});
  const auto graph = normalized_op("Conv", {}, {{x}, {w}});
  ASSERT_FALSE(graph.has_value());
  EXPECT_EQ(graph.error().message, "weights ('x1') is computed at run time, wanted a constant");
}

}  // namespace
}  // namespace narrow
