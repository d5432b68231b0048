#include "model/import.h"

#include <fstream>
#include <limits>

#include "base/file.h"
#include "support.h"

namespace narrow {
namespace {

OnnxDimension extent(std::int64_t n) { return {n, ""}; }
OnnxDimension symbol(std::string name) { return {std::nullopt, std::move(name)}; }
OnnxValueInfo info(std::string name, std::vector<OnnxDimension> shape) { return {std::move(name), DType::kF32, "FLOAT", std::move(shape)}; }

// x -> Relu -> y, with the nodes given.
OnnxModel model_of(std::vector<OnnxNode> nodes) {
  return {.graph_name = "g", .opsets = {{"", 13}}, .nodes = std::move(nodes), .initializers = {}, .inputs = {info("x", {extent(1), extent(4)})}, .outputs = {info("y", {extent(1), extent(4)})}};
}
OnnxNode node(std::string name, std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs) {
  return {std::move(name), std::move(op), "", std::move(inputs), std::move(outputs), {}};
}

std::string error_of(const OnnxModel& model, const ImportOptions& options = {}) {
  Diagnostics diagnostics;
  const auto graph = import_onnx_model(model, "m.onnx", options, diagnostics);
  return graph ? "imported" : graph.error().to_string();
}
Graph imported(const OnnxModel& model, const ImportOptions& options = {}) {
  Diagnostics diagnostics;
  return test::must(import_onnx_model(model, "m.onnx", options, diagnostics));
}

TEST(Import, SortsNodesAndKeepsNames) {
  const Graph g = imported(model_of({node("last", "Relu", {"h"}, {"y"}), node("", "Relu", {"x"}, {"h"}), node("unused", "Nonsense", {"x"}, {"z"})}));
  ASSERT_EQ(g.order().size(), 2U);
  EXPECT_EQ(g.node(g.order()[0]).name, "Relu_1");
  EXPECT_EQ(g.node(g.order()[0]).origin, std::vector<std::string>{"Relu_1"});
  EXPECT_EQ(g.value(g.node(g.order()[0]).outputs[0]).name, "h");
  EXPECT_EQ(g.node(g.order()[1]).name, "last");
  EXPECT_EQ(g.value(g.outputs()[0]).name, "y");
  EXPECT_EQ(g.name, "g");
}

TEST(Import, AModelThatIsQuantizedAlreadyIsTold) {
  OnnxModel model = model_of({node("q", "QuantizeLinear", {"x", "scale"}, {"c"}), node("d", "DequantizeLinear", {"c", "scale"}, {"r"}), node("r", "Relu", {"r"}, {"y"})});
  model.initializers.push_back({"scale", Tensor::scalar<float>(0.1F)});
  Diagnostics diagnostics;
  tell_quantized(imported(model), diagnostics);
  ASSERT_EQ(diagnostics.all().size(), 1U);
  EXPECT_EQ(diagnostics.all()[0].message, "the model is quantized already: its 1 QuantizeLinear node and what undoes them stay float layers, and every value is rounded twice");
  EXPECT_EQ(diagnostics.all()[0].help, "give the float network that it was made from");
  // Weights alone that are stored as codes are constants here.
  OnnxModel weights = model_of({node("d", "DequantizeLinear", {"codes", "scale"}, {"w"}), node("m", "Mul", {"x", "w"}, {"y"})});
  weights.initializers.push_back({"scale", Tensor::scalar<float>(0.1F)});
  weights.initializers.push_back({"codes", Tensor::of<std::int8_t>({4}, {1, 2, 3, 4})});
  Diagnostics none;
  tell_quantized(imported(weights), none);
  EXPECT_TRUE(none.all().empty());
}

TEST(Import, DuplicateNamesAreMadeUniqueAndReadInFileOrder) {
  const Graph g = imported(model_of({node("r", "Relu", {"x"}, {"y"}), node("r", "Relu", {"y"}, {"y"})}));
  ASSERT_EQ(g.order().size(), 2U);
  EXPECT_EQ(g.node(g.order()[1]).inputs[0], g.node(g.order()[0]).outputs[0]);
  EXPECT_EQ(g.node(g.order()[1]).name, "r_1");
  EXPECT_EQ(g.value(g.outputs()[0]).name, "y");
  EXPECT_EQ(g.outputs()[0], g.node(g.order()[1]).outputs[0]);
}

TEST(Import, AnInputHandedOnKeepsItsName) {
  OnnxModel model = model_of({node("r", "Relu", {"x"}, {"y"})});
  model.outputs.push_back(info("x", {extent(1), extent(4)}));
  const Graph g = imported(model);
  EXPECT_EQ(g.value(g.inputs()[0]).name, "x") << "data are given by this name";
  ASSERT_EQ(g.outputs().size(), 2U);
  EXPECT_EQ(g.value(g.outputs()[1]).name, "x.copy");
}

// As many parts as the node has outputs, whoever reads them.
TEST(Import, SplitCountsOutputsThatNobodyReads) {
  for (const std::size_t read : {0U, 1U, 2U, 3U}) {
    OnnxModel model = model_of({node("s", "Split", {"x"}, {"a", "b", "c", "d"}), node("r", "Relu", {std::string(1, static_cast<char>('a' + read))}, {"y"})});
    model.nodes[0].attributes.push_back({.name = "axis", .value = std::int64_t{1}});
    model.outputs = {info("y", {extent(1), extent(1)})};
    const Graph g = imported(model);
    EXPECT_EQ(g.value(g.outputs()[0]).shape, (Shape{1, 1})) << read;
    const Node& slice = g.node(g.value(g.node(g.order().back()).inputs[0]).producer);
    EXPECT_EQ(slice.attrs.get_ints("starts"), (std::vector<std::int64_t>{0, static_cast<std::int64_t>(read)}));
  }
}

TEST(Import, OutputsThatAnOperatorDoesNotHave) {
  OnnxModel model = model_of({node("r", "Sigmoid", {"x"}, {"y"})});
  model.nodes[0].outputs.push_back("z");
  model.outputs.push_back(info("z", {extent(1), extent(4)}));
  EXPECT_NE(error_of(model).find("node 'r' (Sigmoid): 2 outputs are wanted, only 1 are supported"), std::string::npos) << error_of(model);
}

// What does not fit is told once, of the node in the file, in shapes as they stand there.
TEST(Import, ShapesThatDoNotFitAreTheFilesOwn) {
  struct Wrong {
    const char* op;
    Shape x, w, bias;
    std::vector<OnnxAttribute> attributes;
    const char* message;
  };
  const std::vector<std::int64_t> three{3, 3};
  const std::vector<Wrong> kCases = {
      {"Conv", {1, 3, 8, 8}, {4, 4, 3, 3}, {}, {}, "input has 3 channels, weights [4,4,3,3] in 1 groups want 4"},
      {"Conv", {1, 4, 8, 8}, {4, 4, 3, 3}, {}, {{"group", std::int64_t{2}}}, "input has 4 channels, weights [4,4,3,3] in 2 groups want 8"},
      {"Conv", {1, 6, 8, 8}, {4, 2, 3, 3}, {}, {{"group", std::int64_t{3}}}, "weights [4,2,3,3] in 3 groups"},
      {"Conv", {1, 4, 8, 8}, {4, 4, 3, 3}, {}, {{"group", std::int64_t{0}}}, "weights [4,4,3,3] in 0 groups"},
      {"Conv", {1, 3, 8}, {4, 5, 3}, {}, {}, "input has 3 channels, weights [4,5,3] in 1 groups want 5"},
      {"Conv", {1, 4, 2, 2}, {4, 4, 3, 3}, {}, {}, "a window of 3 does not fit into an extent of 2 with pads 0 and 0"},
      {"Conv", {1, 4, 8, 8}, {4, 4, 3, 3}, {3}, {}, "bias has shape [3], wanted 4 elements, one per output channel"},
      {"ConvTranspose", {1, 3, 8, 8}, {4, 5, 3, 3}, {}, {}, "input has 3 channels, weights [4,5,3,3] in 1 groups want 4"},
      {"MatMul", {1, 3}, {4, 5}, {}, {}, "operands [1,3] and [4,5] do not multiply: 3 columns against 4 rows"},
      {"MatMul", {2, 7, 3}, {4, 5}, {}, {}, "operands [2,7,3] and [4,5] do not multiply: 3 columns against 4 rows"},
      {"MatMul", {2, 7, 3}, {2, 4, 5}, {}, {}, "operands [2,7,3] and [2,4,5] do not multiply: 3 columns against 4 rows"},
      {"Gemm", {1, 3}, {4, 5}, {}, {}, "operands [1,3] and [4,5] do not multiply: 3 columns against 4 rows"},
      {"Gemm", {1, 3}, {5, 4}, {}, {{"transB", std::int64_t{1}}}, "operands [1,3] and [5,4] (transposed) do not multiply: 3 columns against 4 rows"},
      {"Gemm", {3, 1}, {4, 5}, {}, {{"transA", std::int64_t{1}}}, "operands [3,1] (transposed) and [4,5] do not multiply: 3 columns against 4 rows"},
      {"Gemm", {1, 4}, {4, 5}, {3}, {}, "shapes [1,5] and [3] do not broadcast: 5 against 3"},
      {"Add", {1, 3}, {4}, {}, {}, "shapes [1,3] and [4] do not broadcast: 3 against 4"},
      {"MaxPool", {1, 3, 2, 2}, {}, {}, {{"kernel_shape", three}}, "a window of 3 does not fit into an extent of 2 with pads 0 and 0"},
      {"AveragePool", {1, 3, 2, 2}, {}, {}, {{"kernel_shape", three}}, "a window of 3 does not fit into an extent of 2 with pads 0 and 0"},
  };
  for (const Wrong& wrong : kCases) {
    OnnxModel model = model_of({node("n", wrong.op, {"x"}, {"y"})});
    model.inputs[0].shape->clear();
    for (const std::int64_t n : wrong.x) model.inputs[0].shape->push_back(extent(n));
    for (const auto& [name, shape] : {std::pair{"w", wrong.w}, {"b", wrong.bias}}) {
      if (shape.empty()) continue;
      model.initializers.push_back({name, Tensor::zeros(DType::kF32, shape)});
      model.nodes[0].inputs.emplace_back(name);
    }
    model.nodes[0].attributes = wrong.attributes;
    EXPECT_EQ(error_of(model), fmt::format("error: model 'm.onnx': node 'n' ({}): {}", wrong.op, wrong.message));
  }
}

TEST(Import, EveryUnsupportedNodeIsReportedAtOnce) {
  OnnxModel model = model_of({node("a", "Relu", {"x"}, {"h"}), node("b", "Frobnicate", {"h"}, {"i"}), node("c", "Relu", {"i"}, {"j"}), node("d", "Fancy", {"j"}, {"y"})});
  model.nodes[3].domain = "com.example";
  EXPECT_EQ(error_of(model),
            "error: model 'm.onnx': 2 of 4 nodes cannot be imported\n"
            "  note: node 'b' (Frobnicate): the operator is not supported\n"
            "  note: node 'd' (Fancy): the operator belongs to the custom domain 'com.example'\n"
            "  help: `narrow ops` lists the supported operators; export the model with ONNX's own operators only");
  model.nodes[0].op = model.nodes[2].op = "Frobnicate";
  EXPECT_TRUE(error_of(model).starts_with("error: model 'm.onnx': 4 of 4 nodes cannot be imported: 3 Frobnicate, 1 Fancy\n")) << error_of(model);
  model.nodes[0].op = model.nodes[2].op = "Relu";
  model.nodes.pop_back();
  model.outputs[0].name = "j";
  EXPECT_EQ(error_of(model), "error: model 'm.onnx': node 'b' (Frobnicate): the operator is not supported\n  help: `narrow ops` lists the supported operators");
}

TEST(Import, CyclesNameTheirNodes) {
  EXPECT_EQ(error_of(model_of({node("a", "Relu", {"c"}, {"h"}), node("b", "Relu", {"h"}, {"i"}), node("c", "Relu", {"i"}, {"c"}), node("d", "Relu", {"c"}, {"y"})})),
            "error: model 'm.onnx': the graph has a cycle: 'a' <- 'c' <- 'b' <- 'a'\n"
            "  help: a network must compute its values one after the other; unroll the loop before export");
}

TEST(Import, UndefinedNamesGetASuggestion) {
  EXPECT_EQ(error_of(model_of({node("a", "Relu", {"x"}, {"hidden"}), node("b", "Relu", {"hiden"}, {"y"})})),
            "error: model 'm.onnx': node 'b' (Relu) reads 'hiden', which no node, input or initializer defines\n  help: did you mean 'hidden'?");
}

TEST(Import, VersionsOutsideTheRangeAreRefused) {
  OnnxModel model = model_of({node("a", "Relu", {"x"}, {"y"})});
  model.opsets = {{"", 6}};
  EXPECT_EQ(error_of(model), "error: model 'm.onnx': the model uses operator set 6, wanted 7 to 21\n  help: export it with opset_version=13, or convert it with onnx.version_converter");
  model.opsets = {{"", 22}};
  EXPECT_NE(error_of(model).find("operator set 22, wanted 7 to 21"), std::string::npos);
  model.opsets = {{"", 21}};
  model.ir_version = 11;
  EXPECT_EQ(error_of(model), "error: model 'm.onnx': the model has IR version 11, wanted at most 10\n  help: export it with an older version of the ONNX package");
}

TEST(Import, DynamicExtents) {
  OnnxModel model = model_of({node("a", "Relu", {"x"}, {"y"})});
  model.inputs[0].shape = {symbol("N"), extent(3), extent(8)};
  EXPECT_EQ(imported(model).value(ValueId{0}).shape, (Shape{1, 3, 8}));
  EXPECT_EQ(imported(model, {.batch = 4}).value(ValueId{0}).shape, (Shape{4, 3, 8}));
  model.inputs[0].shape = {symbol("N"), extent(3), symbol("width"), symbol("")};
  EXPECT_EQ(error_of(model),
            "error: model 'm.onnx': input 'x' [N,3,width,?] has dynamic extents ('width', number 3), and shapes must be known\n"
            "  help: give them: --input-shape x=1x3xNxN");
  EXPECT_EQ(imported(model, {.input_shapes = {{"x", {2, 3, 10, 12}}}}).value(ValueId{0}).shape, (Shape{2, 3, 10, 12}));
  EXPECT_EQ(imported(model, {.known_shapes = {{"x", {2, 4, 10, 12}}}}).value(ValueId{0}).shape, (Shape{2, 3, 10, 12})) << "of what the model leaves open only";
  EXPECT_EQ(imported(model, {.input_shapes = {{"x", {1, 3, 6, 7}}}, .known_shapes = {{"x", {2, 3, 10, 12}}}}).value(ValueId{0}).shape, (Shape{1, 3, 6, 7}));
  EXPECT_NE(error_of(model, {.known_shapes = {{"x", {10, 12}}, {"y", {1, 3, 5, 5}}}}).find("has dynamic extents"), std::string::npos) << "another input's, or of other rank";
  EXPECT_EQ(error_of(model, {.input_shapes = {{"x", {2, 4, 10, 12}}}}),
            "error: model 'm.onnx': the shape [2,4,10,12] was given for input 'x', the model wants [N,3,width,?]\n  help: only dynamic extents and the first one, which counts samples, can be chosen");
  EXPECT_EQ(error_of(model, {.input_shapes = {{"image", {2}}}}), "error: model 'm.onnx': the model has no input 'image' to give the shape [2]\n  help: its inputs are: x");
}

TEST(Import, NanAndInfInWeightsNameTheInitializer) {
  OnnxModel model = model_of({node("a", "Relu", {"w"}, {"y"})});
  model.initializers.push_back({"w", Tensor::of<float>({3}, {0, std::nanf(""), 1})});
  EXPECT_EQ(error_of(model), "error: model 'm.onnx': initializer 'w' [3] holds nan at element 1\n  help: such a network has no meaningful output; the training diverged or the file is damaged");
  model.initializers[0].tensor = Tensor::of<float>({2}, {0, -std::numeric_limits<float>::infinity()});
  EXPECT_NE(error_of(model).find("initializer 'w' [2] holds -inf at element 1"), std::string::npos);
}

TEST(Import, ConstantsAreFolded) {
  OnnxModel model = model_of({node("k", "Constant", {}, {"c"}), node("a", "Relu", {"c"}, {"y"})});
  model.nodes[0].attributes.push_back({"value", Tensor::of<float>({2}, {-1, 2})});
  const Graph g = imported(model);
  EXPECT_EQ(g.order().size(), 0U);
  EXPECT_EQ(g.value(g.outputs()[0]).name, "y");
  EXPECT_TRUE(g.value(g.outputs()[0]).constant.same_bytes(Tensor::of<float>({2}, {0, 2})));
}

TEST(Import, ShapesThatFitNoMemoryAreRefused) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  OnnxModel model = model_of({node("a", "Relu", {"x"}, {"y"})});
  model.inputs[0].shape = {extent(kHuge), extent(kHuge)};
  EXPECT_EQ(error_of(model), "error: model 'm.onnx': input 'x' would have the shape [1099511627776,1099511627776]\n"
                             "  help: no network reads that much: look at --input-shape, or export the model again");
  model.inputs[0].shape = {symbol("N"), symbol("M")};
  EXPECT_NE(error_of(model, {.input_shapes = {{"x", {kHuge, kHuge}}}}).find("input 'x' would have the shape"), std::string::npos);

  // An operator that makes something out of nothing.
  const auto made_by = [&](OnnxNode maker, std::vector<OnnxInitializer> initializers, OnnxAttribute attribute = {}) {
    OnnxModel m = model_of({std::move(maker), node("a", "Relu", {"c"}, {"y"})});
    if (!attribute.name.empty()) m.nodes[0].attributes.push_back(std::move(attribute));
    m.initializers = std::move(initializers);
    return error_of(m);
  };
  const auto numbers = [](float start, float limit, float delta) {
    return std::vector<OnnxInitializer>{{"s", Tensor::scalar(start)}, {"l", Tensor::scalar(limit)}, {"d", Tensor::scalar(delta)}};
  };
  const OnnxNode range = node("k", "Range", {"s", "l", "d"}, {"c"}), fill = node("k", "ConstantOfShape", {"s"}, {"c"}), resize = node("k", "Resize", {"x4", "", "s"}, {"c"}), pad = node("k", "Pad", {"x", "s"}, {"c"});
  EXPECT_NE(made_by(range, numbers(0, 1e30F, 1)).find("from 0 to 1.0000000150474662e+30 by 1: wanted at most 2^26 numbers"), std::string::npos);
  EXPECT_NE(made_by(range, numbers(0, std::nanf(""), 1)).find("nan"), std::string::npos);
  EXPECT_EQ(made_by(range, numbers(3, 0, 1)), "imported");
  EXPECT_NE(made_by(fill, {{"s", Tensor::of<std::int64_t>({2}, {kHuge, kHuge})}}).find("shape [1099511627776,1099511627776] is not valid"), std::string::npos);
  EXPECT_NE(made_by(fill, {{"s", Tensor::of<std::int64_t>({1}, {std::int64_t{1} << 27})}}).find("at most 2^26 elements"), std::string::npos);
  for (const float scale : {1e10F, 1e38F, -1e30F}) {
    EXPECT_NE(made_by(resize, {{"x4", Tensor::zeros(DType::kF32, {1, 1, 2, 2})}, {"s", Tensor::of<float>({4}, {1, 1, scale, 2})}}).find("axis 2 of [1,1,2,2] gets the scale"), std::string::npos);
  }
  for (const std::int64_t at : {0, 1, 2, 3}) {
    std::vector<std::int64_t> pads(4, 0);
    pads[static_cast<std::size_t>(at)] = std::numeric_limits<std::int64_t>::min();
    EXPECT_NE(made_by(pad, {{"s", Tensor::of({4}, pads)}}).find("out of all proportion"), std::string::npos) << at;
  }
}

TEST(Import, ARangeMayEndAtTheLastInteger) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min(), kHigh = std::numeric_limits<std::int64_t>::max(), kStep = std::int64_t{1} << 62;
  OnnxModel model = model_of({node("k", "Range", {"s", "l", "d"}, {"y"})});
  model.initializers = {{"s", Tensor::scalar(kLow)}, {"l", Tensor::scalar(kHigh)}, {"d", Tensor::scalar(kStep)}};
  const Graph g = imported(model);
  EXPECT_EQ(g.value(g.outputs()[0]).constant.to_ints(), (std::vector<std::int64_t>{kLow, -kStep, 0, kStep}));
}

TEST(Import, AConstantIsNotFoldedToAnyAmountOfMemory) {
  OnnxModel model = model_of({node("k", "Expand", {"s", "n"}, {"c"}), node("a", "Relu", {"c"}, {"y"})});
  model.initializers = {{"s", Tensor::of<float>({1}, {1})}, {"n", Tensor::of<std::int64_t>({1}, {std::int64_t{1} << 32})}};
  EXPECT_EQ(imported(model).order().size(), 2U);
  model.initializers[1].tensor = Tensor::of<std::int64_t>({1}, {5});
  EXPECT_EQ(imported(model).order().size(), 0U);
}

TEST(OnnxProto, WritesWhatItReads) {
  OnnxModel model = model_of({node("a", "Relu", {"x"}, {"y"})});
  model.nodes[0].attributes = {{"i", std::int64_t{3}}, {"f", 0.5}, {"s", std::string("text")}, {"is", std::vector<std::int64_t>{1, -2}}, {"fs", std::vector<double>{0.25}}, {"t", Tensor::of<std::int64_t>({1}, {7})}};
  model.initializers.push_back({"w", Tensor::of<std::int8_t>({2, 2}, {1, -2, 3, -4})});
  const std::string path = test::temporary_folder() + "/m.onnx";
  const std::string bytes = test::must(write_onnx(model, "1"));
  EXPECT_EQ(bytes, test::must(write_onnx(model, "1")));
  test::must(write_file(path, bytes));
  const OnnxModel again = test::must(read_onnx(path));
  EXPECT_EQ(test::must(write_onnx(again, "1")), bytes);
  EXPECT_TRUE(again.initializers[0].tensor.same_bytes(model.initializers[0].tensor));
  EXPECT_EQ(again.nodes[0].attributes.size(), 6U);

  // Every truncation is an error that names the file.
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::ofstream(path, std::ios::binary) << bytes.substr(0, size);
    const auto cut = read_onnx(path);
    ASSERT_FALSE(cut.has_value()) << size;
    EXPECT_NE(cut.error().message.find("m.onnx"), std::string::npos);
  }
}

TEST(OnnxProto, ReadsEveryStorageForm) {
  const OnnxModel model = test::must(read_onnx(test::source_folder() + "/tests/onnx/storage.onnx"));
  ASSERT_EQ(model.initializers.size(), 27U);
  const Tensor reals = Tensor::of<double>({3}, {0.5, -1.5, 2}), integers = Tensor::of<double>({3}, {1, 0, 1});
  for (const OnnxInitializer& initializer : model.initializers) {
    const std::string type = initializer.name.substr(0, initializer.name.find('.'));
    const bool real = type.find("FLOAT") != std::string::npos || type == "DOUBLE";
    EXPECT_TRUE(initializer.tensor.cast(DType::kF64).same_bytes(real ? reals : integers)) << initializer.name;
    const DType wanted = type == "DOUBLE" ? DType::kF64 : real ? DType::kF32 : type.starts_with("UINT") && type.size() == 6 && type != "UINT16" ? DType::kI64 : initializer.tensor.dtype();
    EXPECT_EQ(initializer.tensor.dtype(), wanted) << initializer.name;
  }
}

TEST(OnnxProto, ImpossibleShapesAreNamed) {
  // Of no elements, so that the data fit; but the products of the other extents do not fit 64 bits.
  const std::string path = test::temporary_folder() + "/m.onnx";
  OnnxModel model = model_of({node("a", "Relu", {"x"}, {"y"})});
  float none = 0;
  model.initializers.push_back({"w", Tensor::view(DType::kF32, {0, std::int64_t{1} << 40, std::int64_t{1} << 40}, &none)});
  test::must(write_file(path, test::must(write_onnx(model, "1"))));
  EXPECT_EQ(read_onnx(path).error().message, "initializer 'w' of '" + path + "': has the impossible shape [0,1099511627776,1099511627776]");
}

TEST(OnnxProto, TellsATruncatedModelFromAnotherFile) {
  const std::string path = test::temporary_folder() + "/m.onnx";
  const auto message = [&](std::string_view bytes) {
    test::must(write_file(path, bytes));
    const auto model = read_onnx(path);
    return model ? std::string("read") : model.error().message.substr(model.error().message.find("m.onnx"));
  };
  const std::string bytes = test::must(write_onnx(model_of({node("a", "Relu", {"x"}, {"y"})}), "1"));
  EXPECT_EQ(message(bytes), "read");
  EXPECT_EQ(message(bytes.substr(0, bytes.size() - 9)).substr(0, 43), "m.onnx' is truncated: it ends after " + std::to_string(bytes.size() - 9) + " byte");
  EXPECT_EQ(message(""), "m.onnx' is empty");
  EXPECT_EQ(message("# This is a text file\n"), "m.onnx' is not an ONNX model: it is not a protobuf message of that kind");
  EXPECT_EQ(message("\x89PNG\r\n\x1a\n abcdefgh"), "m.onnx' is not an ONNX model: it is not a protobuf message of that kind");
}

}  // namespace
}  // namespace narrow
