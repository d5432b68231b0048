#include "model/export_onnx.h"

#include "base/file.h"
#include "graph/text.h"
#include "model/import.h"
#include "ops/op_def.h"
#include "passes/passes.h"
#include "run/executor.h"
#include "support.h"

namespace narrow {
namespace {

Graph parsed(std::string_view text) {
  return test::must(parse_graph(text, {.infer = [](Graph& graph, NodeId node, bool typed) -> Status { return typed ? Status() : infer_node(graph, node); }}));
}
OnnxModel exported(const Graph& graph, const ExportOptions& options = {}) {
  const std::string path = test::temporary_folder() + "/m.onnx";
  test::must(export_onnx(graph, path, options));
  EXPECT_EQ(test::must(read_file(path)), test::must(onnx_bytes(graph, options)));  // the same bytes every time
  return test::must(read_onnx(path));
}
std::string operators(const OnnxModel& model) {
  std::string out;
  for (const OnnxNode& node : model.nodes) out += (out.empty() ? "" : " ") + node.op;
  return out;
}
// After export and import the outputs are the same.
void expect_round_trip(const Graph& graph, double tolerance) {
  Diagnostics diagnostics;
  Graph again = test::must(import_onnx_model(exported(graph), "m.onnx", {}, diagnostics));
  test::must(run_passes(again));
  ASSERT_EQ(again.outputs().size(), graph.outputs().size());
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    EXPECT_EQ(again.value(again.inputs()[i]).name, graph.value(graph.inputs()[i]).name);
    inputs.push_back(random_constant(DType::kF32, graph.value(graph.inputs()[i]).shape, i));
  }
  const auto a = test::must(Executor(graph, {.normative = true}).run(inputs)), b = test::must(Executor(again, {.normative = true}).run(inputs));
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(again.value(again.outputs()[i]).name, graph.value(graph.outputs()[i]).name);
    EXPECT_LE(test::max_abs_difference(a[i], b[i]), tolerance);
  }
}

constexpr const char* kNetwork = R"(graph "net"
  in %x: f32[1,2,6,6]
  %t = Transpose(%x) {perm=[0,2,3,1]}
  %c = Conv(%t, %w: f32[4,3,3,2] = rand(1), %b: f32[4] = rand(2)) {pads=[1,1,1,1], strides=[1,1], dilations=[1,1], group=1, activation="Relu"}
  %d = Conv(%c, %v: f32[4,3,3,1] = rand(3)) {pads=[1,1,1,1], strides=[1,1], dilations=[1,1], group=4, activation="SiLU"}
  %s = Add(%c, %d) {activation="Clip", activation.min=0.0, activation.max=1.0}
  %p = MaxPool(%s) {kernel_shape=[2,2], strides=[2,2], pads=[0,0,0,0], dilations=[1,1], ceil_mode=0}
  %q = Concat(%p, %p) {axis=3}
  %m = ReduceMean(%q) {axes=[1,2]}
  %f = Reshape(%m) {shape=[1,8]}
  %g = Gemm(%f, %k: f32[3,8] = rand(4), %h: f32[3] = rand(5))
  %y = Softmax(%g) {axis=1}
  out %y
  out %p)";

TEST(ExportOnnx, WritesFloatGraphsThatReadBack) {
  const Graph g = parsed(kNetwork);
  const OnnxModel model = exported(g);
  EXPECT_EQ(operators(model), "Conv Relu Conv Sigmoid Mul Add Clip MaxPool Transpose Concat GlobalAveragePool Reshape Gemm Softmax");
  EXPECT_EQ(model.opsets[0].second, 13);
  EXPECT_EQ(model.ir_version, 8);
  expect_round_trip(g, 1e-6);
}

TEST(ExportOnnx, QuantizedGraphsKeepOnlyTheClampsThatSaturationDoesNotImply) {
  const auto network = [](const char* activation, const char* scale, const char* zero) {
    return parsed(fmt::format(R"(graph "net"
      in %x: f32[1,4,4,2]
      %c = Conv(%x, %w: f32[1,1,1,2] = {{1, 2}}) {{pads=[0,0,0,0], strides=[1,1], dilations=[1,1], group=1, {}}}
      const %s: f32[] = {{{}}}
      const %z: {}
      %q = QuantizeLinear(%c, %s, %z)
      %y = DequantizeLinear(%q, %s, %z)
      out %y)", activation, scale, zero));
  };
  const char* relu = R"(activation="Relu")";
  const char* relu6 = R"(activation="Clip", activation.min=0.0, activation.max=6.0)";
  EXPECT_EQ(operators(exported(network(relu, "0.1", "u8[] = {0}"))), "Transpose Conv QuantizeLinear DequantizeLinear Transpose");
  EXPECT_EQ(operators(exported(network(relu, "0.1", "u8[] = {3}"))), "Transpose Conv Relu QuantizeLinear DequantizeLinear Transpose");
  EXPECT_EQ(operators(exported(network(relu, "0.1", "i8[] = {-128}"))), "Transpose Conv QuantizeLinear DequantizeLinear Transpose");
  EXPECT_EQ(operators(exported(network(relu6, "0.02352941", "u8[] = {0}"))), "Transpose Conv QuantizeLinear DequantizeLinear Transpose");
  EXPECT_EQ(operators(exported(network(relu6, "0.05", "u8[] = {0}"))), "Transpose Conv Clip QuantizeLinear DequantizeLinear Transpose");
  EXPECT_EQ(operators(exported(network(relu, "0.1", "u8[] = {0}"), {.drop_implied_clamps = false})), "Transpose Conv Relu QuantizeLinear DequantizeLinear Transpose");
  EXPECT_EQ(exported(network(relu, "0.1", "u8[] = {0}")).opsets[0].second, 13);
  const OnnxModel wide = exported(network(relu, "0.1", "i16[] = {0}"));
  EXPECT_EQ(operators(wide), "Transpose Conv Relu QuantizeLinear DequantizeLinear Transpose");
  EXPECT_EQ(wide.opsets[0].second, 21);
  EXPECT_EQ(wide.ir_version, 10);
}

TEST(ExportOnnx, IntegerNetworksHaveNoOnnxForm) {
  Graph g;
  const ValueId x = g.add_input("x", DType::kU8, {1, 4});
  const ValueId table = g.add_constant("t", Tensor::zeros(DType::kU8, {256}));
  const NodeId n = g.append({.name = "y", .op = "qlut", .inputs = {x, table}, .output_types = {{DType::kU8, {1, 4}}}});
  g.add_output(g.node(n).outputs[0]);
  const auto bytes = onnx_bytes(g);
  ASSERT_FALSE(bytes.has_value());
  EXPECT_EQ(bytes.error().to_string(), "error: node 'y' (qlut) has no ONNX form\n  help: integer networks are exported from their plan, as QDQ");
}

}  // namespace
}  // namespace narrow
