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

// A condition is no real number: it can neither stand inside of a function nor be its argument.
TEST(Recognize, SelectionsAreNoPartOfAFunction) {
  {
    Expression e;
    const ValueId chosen = e.op("Where", {e.op("Greater", {e.x, e.number(0)}), e.x, e.x});
    EXPECT_EQ(e.recognized(e.op("Mul", {chosen, e.op("Sigmoid", {e.x})})), "");
  }
  {
    Expression e;
    const ValueId chosen = e.op("Where", {e.op("Greater", {e.x, e.number(0)}), e.x, e.op("Neg", {e.x})});
    const NodeId end = e.graph.value(e.op("Mul", {chosen, e.op("Sigmoid", {chosen})})).producer;
    EXPECT_TRUE(recognize_composite(e.graph, end));
    EXPECT_EQ(e.graph.node(end).op, "SiLU");
    EXPECT_EQ(e.graph.node(end).inputs, std::vector<ValueId>{chosen});
  }
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
  for (const double limit : {50.0, 500.0, 5000.0}) {
    Expression e;  // data are limited, far out
    const ValueId limited = e.op("Clip", {e.x}, test::make_attrs({{"min", -limit}, {"max", limit}}));
    EXPECT_EQ(e.recognized(e.op("Mul", {e.op("Sigmoid", {e.x}), limited})), "") << limit;
  }
}

TEST(Recognize, ExponentialsMayBeLimitedOrOverflow) {
  {
    Expression e;  // the sigmoid is 0 and 1 there
    const ValueId limited = e.op("Clip", {e.x}, test::make_attrs({{"min", -88.0}, {"max", 88.0}}));
    EXPECT_EQ(e.recognized(e.op("Mul", {e.op("Sigmoid", {limited}), e.x})), "SiLU");
  }
  {
    Expression e;  // infinity over infinity
    const ValueId power = e.op("Exp", {e.x});
    EXPECT_EQ(e.recognized(e.op("Div", {power, e.op("Add", {power, e.number(1)})})), "Sigmoid");
  }
}

// Layer normalization of x over its last axes, in the forms of several exporters. Everything that Recognize looks at is gone
// through in order, as the pass does.
struct Layers : Expression {
  ValueId mean(ValueId v, std::vector<std::int64_t> axes = {3}) {
    Attrs attrs;
    attrs.set("axes", std::move(axes));
    return op("ReduceMean", {v}, std::move(attrs));
  }
  ValueId list(std::vector<float> values, Shape shape = {3}) { return graph.add_constant("list", Tensor::of<float>(std::move(shape), values)); }
  ValueId square(ValueId v) { return op("Pow", {v}, test::make_attrs({{"exponent", 2.0}})); }
  ValueId deviation(ValueId centred, float epsilon = 1e-3F, std::vector<std::int64_t> axes = {3}) { return op("Sqrt", {op("Add", {mean(square(centred), std::move(axes)), number(epsilon)})}); }

  // How many nodes are left. The function must not change.
  std::size_t left(ValueId y) {
    NARROW_SEEDED(rng);
    graph.add_output(y);
    const std::vector<Tensor> feed{test::random_tensor({1, 2, 2, 3}, rng, -6, 6)};
    Executor before(graph);
    const Tensor wanted = test::must(before.run(feed))[0];
    for (const NodeId id : std::vector<NodeId>(graph.order().begin(), graph.order().end())) {
      if (op_of(graph.node(id)).recognize != nullptr) op_of(graph.node(id)).recognize(graph, id);
    }
    graph.remove_dead();
    test::must(graph.verify());
    test::must(infer_node(graph, graph.order().back()));
    Executor after(graph);
    EXPECT_LT(test::max_abs_difference(test::must(after.run(feed))[0], wanted), 2e-5);
    return graph.order().size();
  }
  const Node& last() { return graph.node(graph.order().back()); }
};

TEST(RecognizeNormalization, WithScaleAndBias) {
  Layers e;
  const ValueId centred = e.op("Sub", {e.x, e.mean(e.x)});
  const ValueId scaled = e.op("Mul", {e.op("Div", {centred, e.deviation(centred)}), e.list({0.5F, 0, -2})});
  EXPECT_EQ(e.left(e.op("Add", {e.list({1, 2, 0}), scaled})), 1U);
  EXPECT_EQ(e.last().op, "LayerNormalization");
  EXPECT_EQ(e.last().attrs.get_int("axis"), 3);
  EXPECT_FLOAT_EQ(static_cast<float>(e.last().attrs.get_float("epsilon")), 1e-3F);
  EXPECT_EQ(e.graph.value(e.last().inputs[2]).constant.data<float>()[1], 2);
}

TEST(RecognizeNormalization, ByTheReciprocalOfTheDeviation) {
  Layers e;
  const ValueId centred = e.op("Sub", {e.x, e.mean(e.x)});
  EXPECT_EQ(e.left(e.op("Mul", {e.op("Reciprocal", {e.deviation(centred, 1e-5F)}), centred})), 1U);
  EXPECT_EQ(e.last().inputs.size(), 2U);  // no bias
}

TEST(RecognizeNormalization, WithMeanAndDeviationFoldedIntoScaleAndShift) {
  Layers e;
  const ValueId mean = e.mean(e.x), factor = e.op("Mul", {e.op("Reciprocal", {e.deviation(e.op("Sub", {e.x, mean}))}), e.list({0.5F, 3, -2})});
  EXPECT_EQ(e.left(e.op("Add", {e.op("Mul", {e.x, factor}), e.op("Sub", {e.list({1, 2, 3}), e.op("Mul", {mean, factor})})})), 1U);
  EXPECT_EQ(e.last().op, "LayerNormalization");
}

TEST(RecognizeNormalization, OverSeveralAxes) {
  Layers e;
  const ValueId centred = e.op("Sub", {e.x, e.mean(e.x, {2, 3})});
  EXPECT_EQ(e.left(e.op("Mul", {e.op("Div", {centred, e.deviation(centred, 1e-3F, {2, 3})}), e.list({1, 2, 3, 4, 5, 6}, {2, 3})})), 1U);
  EXPECT_EQ(e.last().attrs.get_int("axis"), 2);
}

TEST(RecognizeNormalization, LeavesOthersAlone) {
  {
    Layers e;  // other axes: of a map, that is instance normalization
    const ValueId centred = e.op("Sub", {e.x, e.mean(e.x, {1, 2})});
    EXPECT_EQ(e.left(e.op("Div", {centred, e.deviation(centred, 1e-3F, {1, 2})})), 7U);
  }
  {
    Layers e;  // mean and deviation over different axes
    const ValueId centred = e.op("Sub", {e.x, e.mean(e.x, {2, 3})});
    EXPECT_EQ(e.left(e.op("Div", {centred, e.deviation(centred)})), 7U);
  }
  {
    Layers e;  // by the variance
    const ValueId centred = e.op("Sub", {e.x, e.mean(e.x)});
    EXPECT_EQ(e.left(e.op("Div", {centred, e.op("Add", {e.mean(e.square(centred)), e.number(1e-3F)})})), 6U);
  }
  {
    Layers e;  // the scale differs between rows: it stays behind
    const ValueId centred = e.op("Sub", {e.x, e.mean(e.x)});
    EXPECT_EQ(e.left(e.op("Mul", {e.op("Div", {centred, e.deviation(centred)}), e.list({1, 2, 3, 4, 5, 6}, {2, 3})})), 2U);
  }
  {
    Layers e;  // the deviation is needed elsewhere
    const ValueId centred = e.op("Sub", {e.x, e.mean(e.x)}), deviation = e.deviation(centred);
    e.graph.add_output(deviation);
    EXPECT_EQ(e.left(e.op("Div", {centred, deviation})), 7U);
  }
}

// On most rows they do nothing.
TEST(RecognizeNormalization, LimitsOfElementsStay) {
  const auto normalized = [](Layers& e, ValueId x) {
    const ValueId centred = e.op("Sub", {x, e.mean(x)});
    return e.op("Div", {centred, e.deviation(centred)});
  };
  const Attrs limits = test::make_attrs({{"min", -40.0}, {"max", 40.0}}), bend = test::make_attrs({{"alpha", 1e-3}, {"beta", 0.5}});
  {
    Layers e;
    EXPECT_EQ(e.left(e.op("Mul", {e.op("Clip", {normalized(e, e.x)}, limits), e.number(2)})), 3U);
  }
  {
    Layers e;
    EXPECT_EQ(e.left(normalized(e, e.op("Clip", {e.x}, limits))), 2U);
  }
  {
    Layers e;
    EXPECT_EQ(e.left(normalized(e, e.op("HardSigmoid", {e.x}, bend))), 2U);
  }
  {
    Layers e;
    EXPECT_EQ(e.left(e.op("Add", {e.op("Min", {normalized(e, e.x), e.list({8, 9, 8})}), e.number(2)})), 3U);
  }
  {
    Layers e;  // those of the deviation
    const ValueId centred = e.op("Sub", {e.x, e.mean(e.x)});
    EXPECT_EQ(e.left(e.op("Div", {centred, e.op("Sqrt", {e.op("Add", {e.op("Relu", {e.mean(e.square(centred))}), e.number(1e-3F)})})})), 1U);
  }
}

TEST(RecognizeNormalization, TransposesPassThatLeaveTheAxesInPlace) {
  Attrs attrs;
  attrs.set("axis", std::int64_t{2});
  Layers e;
  const ValueId y = e.op("LayerNormalization", {e.x, e.list({1, 2, 3, 4, 5, 6}, {2, 3})}, std::move(attrs));
  const NodeId node = e.graph.value(y).producer;
  EXPECT_TRUE(op_of(e.graph.node(node)).permute(e.graph, node, {1, 0, 2, 3}));
  EXPECT_FALSE(op_of(e.graph.node(node)).permute(e.graph, node, {0, 1, 3, 2}));
  EXPECT_FALSE(op_of(e.graph.node(node)).permute(e.graph, node, {0, 2, 1, 3}));
}

}  // namespace
}  // namespace narrow
