#include "ops/verify_network.h"

#include <filesystem>

#include "base/file.h"
#include "graph/text.h"
#include "ops/parse_network.h"
#include "run/executor.h"
#include "support.h"

namespace narrow {
namespace {

// What the fuzzer starts from is right, and every form of it gives the same codes.
TEST(VerifyNetwork, TheCorpusFitsAndRuns) {
  int networks = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_folder() + "/tests/fuzz/corpus/network")) {
    SCOPED_TRACE(entry.path().filename().string());
    const Graph graph = test::must(parse_network(test::must(read_file(entry.path().string())), {.file = entry.path().filename().string()}));
    test::must(verify_network(graph));
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs()) inputs.push_back(random_constant(graph.value(id).dtype, graph.value(id).shape, id.index));
    Executor plain(graph, {.normative = true}), fast(graph);
    const std::vector<Tensor> a = test::must(plain.run(inputs)), b = test::must(fast.run(inputs));
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].dtype() == DType::kF32) EXPECT_LT(test::max_abs_difference(a[i], b[i]), 1e-3);
      else EXPECT_TRUE(a[i].same_bytes(b[i]));
    }
    ++networks;
  }
  EXPECT_GE(networks, 13);
}

TEST(VerifyNetwork, WhatOperatorsReadIsChecked) {
  const auto message = [](const std::string& text) {
    const auto graph = parse_graph(text);
    const Status status = verify_network(test::must(Result<Graph>(graph)));
    return status ? std::string("fits") : status.error().message;
  };
  EXPECT_EQ(message("in %x: f32[2,3] %y: f32[2,3] = Relu(%x) out %y"), "fits");
  EXPECT_EQ(message("in %x: f32[2,3] %y: f32[3,2] = Relu(%x) out %y"), "node 'y' (Relu): 'y' is declared f32[3,2], the operator gives f32[2,3]");
  EXPECT_EQ(message("in %x: f32[2,3] %y: f32[2,3], %z: f32[2,3] = Relu(%x) out %y"), "node 'y' (Relu): it has 2 outputs, wanted 1");
  EXPECT_EQ(message("in %x: i64[2,3] %y: f32[2,3] = Softmax(%x) {axis=1} out %y"), "node 'y' (Softmax): input 0 is i64, wanted f32");
  EXPECT_EQ(message("in %x: f32[2,3] %y: f32[2,3] = Softmax(%x) {axis=1.5} out %y"), "node 'y' (Softmax): attribute 'axis' is a number, wanted an integer");
  EXPECT_EQ(message("in %x: f32[2,3] %y: f32[2,3] = Add(%x, _) out %y"), "node 'y' (Add): input 1 is missing");
  EXPECT_EQ(message("in %x: f32[2,3] %y: f32[2,3] = Frobnicate(%x) out %y"), "node 'y' (Frobnicate): the operator is unknown");
}

// An extent is a product or a sum with what an attribute says.
TEST(VerifyNetwork, ExtentsThatNo64BitsHoldAreRefused) {
  constexpr std::string_view kNodes[] = {"Tile(%x) {{repeats=[1,{0},1,1]}}", "Tile(%x) {{repeats=[{0},{0},{0},{0}]}}", "Expand(%x) {{shape=[{0},2,4,4]}}", "Reshape(%x) {{shape=[{0},{0},32]}}", "Pad(%x) {{pads=[0,{0},0,0,0,{0},0,0], mode=\"constant\", value=0.0}}",
                                         "Slice(%x) {{starts=[0,0,0,0], ends=[1,{0},4,4], steps=[1,{0},1,1]}}", "Resize(%x) {{sizes=[{0},{0}], scales=floats [2, 2], mode=\"linear\"}}",
                                         "MaxPool(%x) {{kernel_shape=[{0},1], strides=[1,{0}], pads=[{0},0,{0},0], dilations=[{0},1]}}", "ConvTranspose(%x, %w: f32[1,2,2,4] = rand(1)) {{strides=[{0},{0}], pads=[0,0,0,0], dilations=[1,{0}], group=1, output_padding=[{0},0]}}"};
  for (const std::string_view node : kNodes) {
    for (const std::int64_t huge : {INT64_MAX, INT64_MAX / 2 + 1, INT64_MIN, INT64_MIN / 2, std::int64_t{1} << 62, std::int64_t{6148914691236517206}}) {
      EXPECT_FALSE(parse_network("in %x: f32[1,2,4,4] %y = " + fmt::format(fmt::runtime(node), huge) + " out %y").has_value()) << node << ' ' << huge;
    }
  }
}

// What the kernels read beside their first input has the size that they read.
TEST(VerifyNetwork, ParametersAreAsLongAsTheyAreRead) {
  const auto message = [](const std::string& node) {
    const auto graph = parse_graph("in %x: f32[1,2,2,3] in %m: f32[2,3] in %q: u8[2,3] " + node + " out %y");
    const Status status = verify_network(test::must(Result<Graph>(graph)));
    return status ? std::string("fits") : status.error().message;
  };
  EXPECT_EQ(message("%y: f32[1,2,2,4] = Conv(%x, %w: f32[4,1,1,3] = rand(1), %b: f32[4] = rand(2))"), "fits");
  EXPECT_EQ(message("%y: f32[1,2,2,4] = Conv(%x, %w: f32[4,1,1,3] = rand(1), %b: f32[3] = rand(2))"), "node 'y' (Conv): bias 'b' has shape [3], wanted 4 elements, one per output channel");
  EXPECT_EQ(message("%y: f32[1,2,2,4] = ConvTranspose(%x, %w: f32[4,1,1,3] = rand(1), %b: f32[1] = rand(2))"), "node 'y' (ConvTranspose): bias 'b' has shape [1], wanted 4 elements, one per output channel");
  EXPECT_EQ(message("%y: f32[2,4] = Gemm(%m, %w: f32[4,3] = rand(1), %b: f32[3] = rand(2))"), "node 'y' (Gemm): bias 'b' has shape [3], wanted 4 elements, one per output channel");
  EXPECT_EQ(message("%y: f32[1,2,2,4] = Conv(%x, %w: f32[4,1,1,3] = rand(1)) {group=4611686018427387905}"), "node 'y' (Conv): weights [4,1,1,3] in 4611686018427387905 groups");
  EXPECT_EQ(message("%y: f32[2,3] = BatchNormalization(%m, %s: f32[3] = rand(1), %t: f32[3] = rand(2)) {axis=-1}"), "node 'y' (BatchNormalization): axis -1 counts from the end");
  EXPECT_EQ(message("%y: f32[2,3] = LayerNormalization(%m, %s: f64[3] = rand(1)) {axis=1}"), "node 'y' (LayerNormalization): input 1 is f64, wanted f32");
  EXPECT_EQ(message("%y: f32[2,3] = DequantizeLinear(%q, %s: f64[] = fill(1))"), "node 'y' (DequantizeLinear): the scale is f64, wanted f32");
  EXPECT_EQ(message("%y: f32[2,3] = DequantizeLinear(%q, %s: f32[3] = fill(1), %z: u8[3] = fill(1)) {axis=-1}"), "node 'y' (DequantizeLinear): axis -1 counts from the end");
  EXPECT_EQ(message("%y: f32[2,3] = DequantizeLinear(%q, %s: f32[] = fill(1), %z: i32[] = fill(-2147483648))"), "node 'y' (DequantizeLinear): the input is u8, the zero point i32");
  EXPECT_EQ(message("%y: f32[6] = Reshape(%m) {shape=[4294967296,4294967296,6]}").substr(0, 18), "node 'y' (Reshape)");
  EXPECT_EQ(message("%y: u8[2,4] = qgemm(%q, %w: i8[4,3] = rand(1), %b: i64[4] = fill(9223372036854775807), %m4: i32[4] = fill(1), %s4: i32[4] = fill(1))"),
            "node 'y' (qgemm): 'b' holds the bias 9223372036854775807, wanted at most 2^60 in magnitude");
}

// What an attribute means when it is absent does not depend on who reads it; sums of 32 bits are left to the plain loop when they
// could overflow.
TEST(VerifyNetwork, CraftedSumsGiveTheSameCodesInEveryForm) {
  for (const char* attributes : {"y_min=4", "y_min=4, y_max=200, left_shift=20, sign_b=-1, a_zero_point=255", "left_shift=20"}) {
    for (const int shift : {1, 20, 40, 62}) {
      SCOPED_TRACE(fmt::format("{} shift {}", attributes, shift));
      const Graph graph = test::must(parse_network(fmt::format("in %a: u8[64] in %b: u8[64] %y: u8[64] = qadd(%a, %b, %m: i32[3] = fill(2147483647), %s: i32[3] = fill({})) {{{}}} out %y", shift, attributes)));
      test::must(verify_network(graph));
      const std::vector<Tensor> inputs{random_constant(DType::kU8, {64}, 1), random_constant(DType::kU8, {64}, 2)};
      Executor plain(graph, {.normative = true}), fast(graph);
      EXPECT_TRUE(test::must(plain.run(inputs))[0].same_bytes(test::must(fast.run(inputs))[0]));
    }
  }
}

// Products over no columns, and of no rows, are networks too.
TEST(VerifyNetwork, EmptyProductsRun) {
  const Graph graph = test::must(parse_network(R"(
in %x: f32[2,0] in %n: f32[0,3] in %q: u8[2,0] in %r: u8[0,3]
%a = Gemm(%x, %w: f32[4,0] = rand(1), %b: f32[4] = {1,2,3,4})
%c = Gemm(%n, %v: f32[4,3] = rand(1))
%d: u8[2,2] = qgemm(%q, %i: i8[2,0] = rand(1), %j: i32[2] = {5,6}, %k: i32[2] = fill(1073741824), %l: i32[2] = fill(30))
%e: u8[0,2] = qgemm(%r, %f: i8[2,3] = rand(1), %g: i32[2] = {5,6}, %h: i32[2] = fill(1073741824), %o: i32[2] = fill(30))
out %a out %c out %d out %e)"));
  test::must(verify_network(graph));
  const std::vector<Tensor> inputs{Tensor(DType::kF32, {2, 0}), Tensor(DType::kF32, {0, 3}), Tensor(DType::kU8, {2, 0}), Tensor(DType::kU8, {0, 3})};
  for (const bool normative : {true, false}) {
    Executor executor(graph, {.normative = normative});
    const auto outputs = test::must(executor.run(inputs));
    EXPECT_TRUE(outputs[0].same_bytes(Tensor::of<float>({2, 4}, {1, 2, 3, 4, 1, 2, 3, 4})));
    EXPECT_EQ(outputs[1].shape(), (Shape{0, 4}));
    EXPECT_EQ(outputs[2].to_ints(), (std::vector<std::int64_t>{5, 6, 5, 6}));
    EXPECT_EQ(outputs[3].shape(), (Shape{0, 2}));
  }
}

}  // namespace
}  // namespace narrow
