#include "graph/text.h"

#include <limits>

#include "ops/parse_network.h"
#include "support.h"

namespace narrow {
namespace {

// Every kind of thing the form can hold, with awkward names and numbers.
Graph everything(std::mt19937_64& rng) {
  Graph g;
  g.name = "a \"name\"\n\x01 ü";
  const ValueId x = g.add_input("in:0 x", DType::kF32, {1, 2, 3});
  const ValueId q = g.add_input("q", DType::kU8, {4, 2});
  g.set_quant(q, QuantParams{.dtype = DType::kU8, .scale = {0.1F, 1e-30F}, .zero_point = {3, -7}, .axis = 1, .bits = 4, .narrow_range = true});
  const ValueId w = g.add_constant("w/1", Tensor::of<float>({5}, {0.1F, -0.0F, std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::infinity(), 1.5e20F}));
  const ValueId doubles = g.add_constant("d", Tensor::of<double>({2, 1}, {0.1, -1e300}));
  const ValueId longs = g.add_constant("l", Tensor::of<std::int64_t>({2}, {INT64_MIN, INT64_MAX}));
  const ValueId flags = g.add_constant("b", [] {
    Tensor t(DType::kBool, {3});
    t.data<bool>()[0] = true, t.data<bool>()[1] = false, t.data<bool>()[2] = true;
    return t;
  }());
  const ValueId empty = g.add_constant("none", Tensor(DType::kI8, {0, 4}));
  const ValueId same = g.add_constant("same", Tensor::zeros(DType::kI16, {3, 3}));
  const ValueId scalar = g.add_constant("scalar", Tensor::scalar<std::int32_t>(-5));
  const ValueId big = g.add_constant("big", test::random_ints<std::int8_t>({10, 10}, rng, -128, 127));
  g.set_quant(big, QuantParams::per_tensor(DType::kI8, 0.25F, 0));
  NodeSpec spec{.name = "node one", .op = "Some.Op", .inputs = {x, ValueId{}, w, doubles, longs, flags, empty, same, scalar, big}, .output_names = {"y", "%z"},
                .output_types = {{DType::kU8, {2}}, {DType::kF32, {}}}, .origin = {"Conv_1", "Relu \"2\""}};
  spec.attrs.set("int", 3);
  spec.attrs.set("float", Attr(3.0));
  spec.attrs.set("third", Attr(1.0 / 3));
  spec.attrs.set("huge", Attr(1e300));
  spec.attrs.set("inf", Attr(-std::numeric_limits<double>::infinity()));
  spec.attrs.set("text", "q\"\\\t");
  spec.attrs.set("ints", Attr(std::vector<std::int64_t>{1, -2}));
  spec.attrs.set("no ints", Attr(std::vector<std::int64_t>{}));
  spec.attrs.set("floats", Attr(std::vector<double>{1, 0.5}));
  spec.attrs.set("no.floats", Attr(std::vector<double>{}));
  const NodeId n = g.append(std::move(spec));
  const ValueId y = g.node(n).outputs[0];
  g.set_quant(y, QuantParams::per_tensor(DType::kU8, 0.0123F, 128));
  const NodeId m = g.append({.name = "y2", .op = "op", .inputs = {y, q, y}, .output_types = {{DType::kI16, {1}}}});
  g.add_output(g.node(m).outputs[0]);
  g.add_output(q);
  g.add_output(g.node(n).outputs[1]);
  return g;
}

TEST(GraphText, PrintsAndParsesBackToItself) {
  NARROW_SEEDED(rng);
  const Graph graph = everything(rng);
  const std::string text = print_graph(graph);
  const Graph again = test::must(parse_graph(text));
  EXPECT_EQ(print_graph(again), text);
  EXPECT_EQ(again.hash(), graph.hash());
  for (const NodeId id : graph.order()) EXPECT_EQ(again.node(again.find_node(graph.node(id).name)).origin, graph.node(id).origin);
}

TEST(GraphText, LargeConstantsGoToTheBlobOnceAndAreViewed) {
  NARROW_SEEDED(rng);
  Graph graph = everything(rng);
  graph.add_output(graph.add_constant("copy", graph.value(graph.find_value("big")).constant.clone()));
  std::string blob;
  const std::string text = print_graph(graph, {.max_inline_elements = 4, .blob = &blob});
  EXPECT_NE(text.find("%big: i8[10,10] q(0.25, 0) = @128\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%copy: i8[10,10] = @128\n"), std::string::npos) << text;
  const Tensor memory = Tensor(DType::kU8, {static_cast<std::int64_t>(blob.size())});
  std::copy(blob.begin(), blob.end(), static_cast<char*>(const_cast<void*>(memory.raw())));
  const Graph again = test::must(parse_graph(text, {.blob = {static_cast<const std::byte*>(memory.raw()), blob.size()}}));
  EXPECT_EQ(again.hash(), graph.hash());
  EXPECT_EQ(again.value(again.find_value("big")).constant.raw(), static_cast<const char*>(memory.raw()) + 128);
  EXPECT_FALSE(parse_graph(text, {.blob = {static_cast<const std::byte*>(memory.raw()), blob.size() - 1}}).has_value());
}

TEST(GraphText, StoredBoolsAreNothingElse) {
  const std::byte blob[] = {std::byte{1}, std::byte{0}, std::byte{2}};
  EXPECT_EQ(test::must(parse_graph("const %b: bool[2] = @0 out %b", {.blob = blob})).value(ValueId{0}).constant.to_ints(), (std::vector<std::int64_t>{1, 0}));
  const auto wrong = parse_graph("const %b: bool[2] = @1 out %b", {.blob = blob});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().message, "a bool is neither 0 nor 1");
}

TEST(GraphText, HandWrittenFormInfersTypesAndGeneratesConstants) {
  const Graph graph = test::must(parse_network(R"(
# comment
graph "hand"
in %x: f32[1,2]     # another
%y = Relu(%x) origin ["r"]
%z = Relu(%y)
const %c: f32[2,2] = rand(3)
out %z out %c)"));
  EXPECT_EQ(graph.value(graph.find_value("z")).shape, (Shape{1, 2}));
  const auto c = graph.value(graph.find_value("c")).constant.span<float>();
  for (const float v : c) EXPECT_TRUE(v >= -1 && v < 1) << v;
  EXPECT_NE(c[0], c[1]);
  EXPECT_EQ(graph.value(graph.find_value("c")).constant.hash(), random_constant(DType::kF32, {2, 2}, 3).hash());
}

TEST(GraphText, OperandsMayBeDeclaredInPlace) {
  const Graph graph = test::must(parse_graph("in %x: f32[1] %y: f32[1] = Add(%x, %one: f32[1] = {1}) {a=1, b=[1,2.5]} out %y"));
  EXPECT_EQ(graph.value(graph.find_value("one")).constant.data<float>()[0], 1.0F);
  EXPECT_EQ(graph.node(graph.find_node("y")).attrs.get_floats("b"), (std::vector<double>{1, 2.5}));
}

TEST(GraphText, DataThatWereNotPrintedAreZerosOnRequest) {
  const Graph graph = test::must(parse_graph("const %c: f32[2,3] = rand(1) in %x: f32[2,3] %y: f32[2,3] = Add(%x, %c) out %y"));
  const std::string text = print_graph(graph, {.max_inline_elements = 3});
  EXPECT_EQ(parse_graph(text).error().message, "the data of this constant were not printed");
  const Graph back = test::must(parse_graph(text, {.elided = true}));
  const Tensor& constant = back.value(back.find_value("c")).constant;
  EXPECT_EQ(constant.shape(), (Shape{2, 3}));
  for (const float x : constant.span<float>()) EXPECT_EQ(x, 0);
  EXPECT_EQ(back.order().size(), 1U);
  for (const char* damaged : {"const %c: f32[2] = elided", "const %c: f32[2] = elided(0123", "const %c: f32[1048576,1048576] = elided(0)"}) EXPECT_FALSE(parse_graph(damaged, {.elided = true}).has_value()) << damaged;
}

TEST(GraphText, ErrorsNameThePlace) {
  struct Case { const char* text; const char* message; int line; int column; };
  const Case cases[] = {
      {"in %x: f32[1]\n%y: f32[1] = Relu(%xx)\n", "no value 'xx' is defined above", 2, 19},
      {"in %x: f33[1]", "found \"f33\", wanted an element type", 1, 8},
      {"in %x: f32[1]\nin %x: f32[1]", "the value 'x' is defined twice", 2, 4},
      {"const %c: i8[2] = {1, 300}", "\"300\" does not fit in 8 bits", 1, 23},
      {"const %c: i8[2] = {1}", "1 elements, wanted 2 for [2]", 1, 20},
      {"const %c: i8[2] = elided(0123456789abcdef)", "the data of this constant were not printed", 1, 19},
      {"const %c: i8[2] = @0", "the constant occupies bytes 0..2 of a blob of 0", 1, 20},
      {"in %x: u8[1] q(0, 3)", "the scale 0 is not a positive number", 1, 15},
      {"in %x: u8[1,2] q([1], [0], axis=1)", "1 scales and 1 zero points, wanted 2 of each", 1, 17},
      {"in %x: f32[1]\n%y = Relu(%x)", "the type of 'y' is missing", 2, 1},
      {"in %x: f32[1]\n%y: f32[1] = A(%x) {a=1, a=2}", "the attribute 'a' is given twice", 2, 26},
      {"graph \"x", "the string does not end", 1, 7},
      {"in %x: f32[1]\n%y: f32[1] = A(%x) {a=[9223372036854775807, 0.5]}", "9223372036854775807 is not exact as a float", 2, 24},
      {"in %x: f32[-1]", "the extent -1 is negative", 1, 12},
      {"in %x: f32[99999999,99999999]", "the tensor is too large", 1, 11},
      {"what", "found \"what\", wanted graph, in, const, out or %name", 1, 1},
      {"out _", "an output cannot be absent", 1, 4},
  };
  for (const Case& c : cases) {
    const auto result = parse_graph(c.text, {.file = "case.graph"});
    ASSERT_FALSE(result.has_value()) << c.text;
    EXPECT_EQ(result.error().message, c.message);
    EXPECT_EQ(result.error().where.line, c.line) << c.text;
    EXPECT_EQ(result.error().where.column, c.column) << c.text;
    EXPECT_EQ(result.error().where.file, "case.graph");
  }
  const auto unknown = parse_network("in %x: f32[1]\n%y = Rolu(%x)\nout %y");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().message, "unknown operator 'Rolu'");
  EXPECT_NE(unknown.error().help.find("'Relu'"), std::string::npos);
  EXPECT_EQ(unknown.error().where.line, 2);
  const auto wrong = parse_network("in %x: f32[1]\n%y: f32[2] = Relu(%x)\nout %y");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().message, "'y' is declared f32[2], the operator gives f32[1]");
}

TEST(GraphText, AnyTruncationIsAnErrorOrAGraph) {
  NARROW_SEEDED(rng);
  const std::string text = print_graph(everything(rng));
  for (std::size_t n = 0; n < text.size(); ++n) {
    const auto result = parse_graph(std::string_view(text).substr(0, n));
    if (result) test::must(result->verify());
  }
  for (std::size_t n = 0; n < text.size(); ++n) {
    std::string damaged = text;
    damaged[n] = static_cast<char>(rng());
    const auto result = parse_graph(damaged);
    if (result) test::must(result->verify());
  }
}

TEST(GraphText, ThousandsOfNodesAreQuick) {
  Graph g;
  ValueId x = g.add_input("x", DType::kF32, {1, 16});
  for (int i = 0; i < 5000; ++i) {
    const ValueId c = g.add_constant(fmt::format("c{}", i), random_constant(DType::kF32, {16}, static_cast<std::uint64_t>(i)));
    x = g.node(g.append({.name = fmt::format("n{}", i), .op = "Add", .inputs = {x, c}, .output_types = {{DType::kF32, {1, 16}}}})).outputs[0];
  }
  g.add_output(x);
  const std::string text = print_graph(g);
  EXPECT_EQ(test::must(parse_graph(text)).hash(), g.hash());
}

}  // namespace
}  // namespace narrow
