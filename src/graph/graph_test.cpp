#include "graph/graph.h"

#include "graph/text.h"
#include "support.h"

namespace narrow {
namespace {

// x -> a -> b -> c (output), and d reads a and b.
struct Diamond {
  Graph graph;
  ValueId x, a, b, c, d;
  Diamond() {
    x = graph.add_input("x", DType::kF32, {1, 2});
    a = add("a", {x});
    b = add("b", {a});
    c = add("c", {b});
    d = add("d", {a, b});
    graph.add_output(c);
    graph.add_output(d);
  }
  ValueId add(const char* name, std::vector<ValueId> inputs) {
    return graph.node(graph.append({.name = name, .op = "op", .inputs = std::move(inputs), .output_types = {{DType::kF32, {1, 2}}}})).outputs[0];
  }
  NodeId node(const char* name) const { return graph.find_node(name); }
  std::vector<std::string> order() const {
    std::vector<std::string> names;
    for (const NodeId n : graph.order()) names.push_back(graph.node(n).name);
    return names;
  }
};

TEST(Graph, NamesAreMadeUnique) {
  Diamond g;
  const ValueId again = g.add("a", {g.x});
  EXPECT_EQ(g.graph.value(again).name, "a_1");
  EXPECT_EQ(g.graph.node(g.graph.value(again).producer).name, "a_1");
  EXPECT_EQ(g.graph.value(g.graph.add_constant("", Tensor::scalar<float>(1))).name, "value");
  g.graph.rename(again, "c");
  EXPECT_EQ(g.graph.value(again).name, "c_1");
  EXPECT_EQ(g.graph.find_value("c_1"), again);
  EXPECT_FALSE(g.graph.find_value("a_1"));
}

TEST(Graph, UsersFollowEveryChange) {
  Diamond g;
  EXPECT_EQ(g.graph.value(g.a).users.size(), 2U);
  EXPECT_FALSE(g.graph.single_user(g.a));
  g.graph.set_input(g.node("d"), 0, g.x);
  EXPECT_EQ(g.graph.single_user(g.a), g.node("b"));
  g.graph.set_inputs(g.node("d"), {g.b, g.b});
  EXPECT_EQ(g.graph.value(g.b).users.size(), 3U);
  EXPECT_FALSE(g.graph.single_user(g.c)) << "an output is also read from outside";
  test::must(g.graph.verify());
}

TEST(Graph, ReplacingAnOutputKeepsItsName) {
  Diamond g;
  const ValueId e = g.add("e", {g.a});
  g.graph.replace_uses(g.c, e);
  EXPECT_EQ(g.graph.value(g.graph.outputs()[0]).name, "c");
  EXPECT_EQ(g.graph.outputs()[0], e);
  EXPECT_EQ(g.graph.remove_dead(), 1U);
  EXPECT_EQ(g.order(), (std::vector<std::string>{"a", "b", "d", "e"}));
  test::must(g.graph.verify());
}

TEST(Graph, InsertionsKeepTheOrder) {
  Diamond g;
  const NodeId before = g.graph.insert_before(g.node("b"), {.name = "pre", .op = "op", .inputs = {g.a}, .output_types = {{DType::kF32, {1, 2}}}});
  g.graph.set_input(g.node("b"), 0, g.graph.node(before).outputs[0]);
  g.graph.insert_after(g.node("b"), {.name = "post", .op = "op", .inputs = {g.b}, .output_types = {{DType::kF32, {1, 2}}}});
  EXPECT_EQ(g.order(), (std::vector<std::string>{"a", "pre", "b", "post", "c", "d"}));
  test::must(g.graph.verify());
}

TEST(Graph, SortIsStableAndRepairsTheOrder) {
  Diamond g;
  const NodeId late = g.graph.append({.name = "late", .op = "op", .inputs = {g.x}, .output_types = {{DType::kF32, {1, 2}}}});
  g.graph.set_input(g.node("a"), 0, g.graph.node(late).outputs[0]);
  EXPECT_FALSE(g.graph.verify().has_value());
  g.graph.sort();
  EXPECT_EQ(g.order(), (std::vector<std::string>{"late", "a", "b", "c", "d"}));
  test::must(g.graph.verify());
}

TEST(Graph, DeadConstantsAndNodesGo) {
  Diamond g;
  const ValueId k = g.graph.add_constant("k", Tensor::scalar<float>(1));
  g.add("unused", {k});
  EXPECT_EQ(g.graph.remove_dead(), 1U);
  EXPECT_FALSE(g.graph.find_value("k"));
  EXPECT_FALSE(g.graph.find_node("unused"));
  EXPECT_EQ(g.graph.remove_dead(), 0U);
}

TEST(Graph, VerifyNamesEachBrokenInvariant) {
  Diamond g;
  g.graph.set_type(g.graph.add_constant("k", Tensor::scalar<float>(1)), {DType::kF32, {7}});
  const ValueId orphan = g.graph.add_constant("loose", Tensor::scalar<float>(1));
  g.graph.add_output(orphan);
  g.graph.add_output({1000});
  const Status status = g.graph.verify();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().notes, (std::vector<std::string>{"constant 'k' differs in type from its tensor", "output '?' is not produced"}));
  EXPECT_EQ(status.error().exit_code, ExitCode::kInternal);
}

TEST(Graph, HashSeesEverythingThatMatters) {
  const auto hash = [](const char* text) { return test::must(parse_graph(text)).hash(); };
  const char* base = "in %x: u8[2] q(0.5, 3) %y: u8[2] = A(%x, %c: f32[1] = {1}) {k=1} out %y";
  EXPECT_EQ(hash(base), hash(base));
  for (const char* other : {"in %x: u8[2] q(0.5, 4) %y: u8[2] = A(%x, %c: f32[1] = {1}) {k=1} out %y", "in %x: u8[2] q(0.5, 3) %y: u8[2] = B(%x, %c: f32[1] = {1}) {k=1} out %y",
                            "in %x: u8[2] q(0.5, 3) %y: u8[2] = A(%x, %c: f32[1] = {2}) {k=1} out %y", "in %x: u8[2] q(0.5, 3) %y: u8[2] = A(%x, %c: f32[1] = {1}) {k=1.0} out %y",
                            "in %x: u8[2] q(0.5, 3) %y: u8[2] = A(%x, %c: f32[1] = {1}) {k=1} out %x", "in %x: u8[2] q(0.5, 3) %y: u8[3] = A(%x, %c: f32[1] = {1}) {k=1} out %y"}) {
    EXPECT_NE(hash(base), hash(other)) << other;
  }
}

TEST(Graph, FusedOriginsAreMergedOnce) {
  Diamond g;
  g.graph.add_origin(g.node("a"), {"Conv_1", "Bn_2"});
  g.graph.add_origin(g.node("a"), {"Bn_2", "Relu_3"});
  EXPECT_EQ(g.graph.node(g.node("a")).origin, (std::vector<std::string>{"Conv_1", "Bn_2", "Relu_3"}));
}

}  // namespace
}  // namespace narrow
