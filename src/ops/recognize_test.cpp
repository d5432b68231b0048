#include "ops/recognize.h"

#include "one_node.h"

namespace narrow {
namespace {

// A small builder of expressions over one input "x" of shape [1, 2, 2, 3].
struct Expression {
  Graph graph;
  ValueId x = graph.add_input("x", DType::kF32, {1, 2, 2, 3});

  ValueId number(float v) { return graph.add_constant("c", Tensor::scalar<float>(v)); }
  ValueId op(const char* name, std::vector<ValueId> inputs, Attrs attrs = {}) {
    return test::must(append_inferred(graph, {.name = name, .op = name, .inputs = std::move(inputs), .attrs = std::move(attrs), .origin = {name}}));
  }
  ValueId clip6(ValueId v) { return op("Clip", {v}, test::make_attrs({{"min", 0.0}, {"max", 6.0}})); }

  // The operator that `y` turns into, with its single input x; "" when nothing is recognised. The function must not change.
  std::string recognized(ValueId y) {
    NARROW_SEEDED(rng);
    graph.add_output(y);
    const std::vector<Tensor> feed{test::random_tensor({1, 2, 2, 3}, rng, -6, 6)};
    Executor before(graph);
    const Tensor wanted = test::must(before.run(feed))[0];
    const NodeId end = graph.value(y).producer;
    if (!op_of(graph.node(end)).recognize(graph, end)) return "";
    graph.remove_dead();
    test::must(graph.verify());
    EXPECT_EQ(graph.order().size(), 1U);
    EXPECT_EQ(graph.node(end).inputs, std::vector<ValueId>{x});
    Executor after(graph);
    EXPECT_LT(test::max_abs_difference(test::must(after.run(feed))[0], wanted), 2e-5);
    return graph.node(end).op + graph.node(end).attrs.get_string("approximate");
  }
};

TEST(Recognize, Silu) {
  Expression e;
  EXPECT_EQ(e.recognized(e.op("Mul", {e.op("Sigmoid", {e.x}), e.x})), "SiLU");
  EXPECT_EQ(e.graph.node(e.graph.order()[0]).origin, (std::vector<std::string>{"Mul", "Sigmoid"}));
}

TEST(Recognize, HardSwishInItsForms) {
  {
    Expression e;
    EXPECT_EQ(e.recognized(e.op("Mul", {e.x, e.op("HardSigmoid", {e.x}, test::make_attrs({{"alpha", 1.0 / 6}, {"beta", 0.5}}))})), "HardSwish");
  }
  {
    Expression e;
    EXPECT_EQ(e.recognized(e.op("Div", {e.op("Mul", {e.x, e.clip6(e.op("Add", {e.x, e.number(3)}))}), e.number(6)})), "HardSwish");
  }
  {
    Expression e;
    EXPECT_EQ(e.recognized(e.op("Mul", {e.x, e.op("Mul", {e.clip6(e.op("Add", {e.x, e.number(3)})), e.number(0.16666667F)})})), "HardSwish");
  }
}

TEST(Recognize, HardSigmoidAlone) {
  Expression e;
  EXPECT_EQ(e.recognized(e.op("Mul", {e.clip6(e.op("Add", {e.number(3), e.x})), e.number(0.16666667F)})), "HardSigmoid");
}

TEST(Recognize, GeluByErf) {
  Expression e;
  const ValueId erf = e.op("Erf", {e.op("Mul", {e.x, e.number(0.70710678F)})});
  EXPECT_EQ(e.recognized(e.op("Mul", {e.op("Mul", {e.x, e.op("Add", {erf, e.number(1)})}), e.number(0.5F)})), "Gelunone");
}

TEST(Recognize, GeluByTanh) {
  Expression e;
  const ValueId cube = e.op("Pow", {e.x}, test::make_attrs({{"exponent", 3.0}}));
  const ValueId inner = e.op("Mul", {e.op("Add", {e.x, e.op("Mul", {cube, e.number(0.044715F)})}), e.number(0.79788456F)});
  const ValueId gate = e.op("Add", {e.number(1), e.op("Tanh", {inner})});
  EXPECT_EQ(e.recognized(e.op("Mul", {e.op("Mul", {e.number(0.5F), e.x}), gate})), "Gelutanh");
}

TEST(Recognize, LeavesOtherFunctionsAlone) {
  {
    Expression e;  // the slope is not that of HardSwish
    EXPECT_EQ(e.recognized(e.op("Mul", {e.x, e.op("HardSigmoid", {e.x}, test::make_attrs({{"alpha", 0.2}, {"beta", 0.5}}))})), "");
  }
  {
    Expression e;  // the sigmoid is needed elsewhere
    const ValueId gate = e.op("Sigmoid", {e.x});
    e.graph.add_output(gate);
    EXPECT_EQ(e.recognized(e.op("Mul", {gate, e.x})), "");
  }
  {
    Expression e;  // gate and data differ
    EXPECT_EQ(e.recognized(e.op("Mul", {e.op("Sigmoid", {e.op("Add", {e.x, e.number(1)})}), e.x})), "");
  }
}

}  // namespace
}  // namespace narrow
