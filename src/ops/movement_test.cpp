// Movement operators: normalisation from old and new opsets, values by hand, integer forms, and back to ONNX.
#include <limits>
#include <numeric>

#include "one_node.h"

namespace narrow {
namespace {

using test::constant;
using test::fed;
using test::ints;
using test::make_attrs;
using test::run_onnx;

std::vector<std::int64_t> list(std::vector<std::int64_t> v) { return v; }
Tensor counting(const Shape& shape) {
  Tensor t(DType::kF32, shape);
  std::iota(t.span<float>().begin(), t.span<float>().end(), 0.0F);
  return t;
}
Tensor floats(const Shape& shape, const std::vector<float>& v) { return Tensor::of<float>(shape, v); }

std::string refusal(const std::string& op, const std::vector<test::In>& inputs, Attrs attrs = {}, std::size_t outputs = 1) {
  test::OneNode node(op, inputs, std::move(attrs), outputs);
  const Status status = node.normalize();
  return status ? "" : status.error().message;
}

TEST(Reshape, ReadsZerosAndMinusOne) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(run_onnx("Reshape", {fed(x), ints(list({0, -1}))})[0].shape(), (Shape{2, 12}));
  EXPECT_EQ(run_onnx("Reshape", {fed(x)}, make_attrs({{"shape", Attr(list({4, 6}))}}), 1)[0].shape(), (Shape{4, 6}));
  EXPECT_EQ(run_onnx("Reshape", {fed(x), ints(list({-1}))})[0].span<float>()[23], 23);
  EXPECT_EQ(run_onnx("Reshape", {fed(Tensor::zeros(DType::kF32, {0, 3})), ints(list({3, 0}))}, make_attrs({{"allowzero", Attr(std::int64_t{1})}}), 14)[0].shape(), (Shape{3, 0}));
}

TEST(Reshape, RefusesWhatDoesNotFit) {
  const Tensor x = counting({2, 3, 4});
  EXPECT_EQ(refusal("Reshape", {fed(x), ints(list({5, -1}))}), "24 elements of shape [2,3,4] do not fit shape [5,-1]");
  EXPECT_EQ(refusal("Reshape", {fed(x), ints(list({5, 5}))}), "shape [5,5] does not hold the 24 elements of shape [2,3,4]");
  EXPECT_EQ(refusal("Reshape", {fed(x), ints(list({-1, -1}))}), "shape [-1,-1] is not valid");
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (const auto& shape : {std::vector<std::int64_t>{kHuge, kHuge}, {kHuge, 2, -1}, {-1, kHuge, 3}}) {
    EXPECT_EQ(refusal("Reshape", {fed(x), ints(shape)}), "shape " + to_string(shape) + " is not valid");
  }
  EXPECT_NE(refusal("Reshape", {fed(x), fed(Tensor::of<std::int64_t>({1}, {24}))}).find("is computed at run time"), std::string::npos);
}

TEST(Reshape, FlattenSqueezeUnsqueeze) {
  const Tensor x = counting({2, 1, 3, 1});
  EXPECT_EQ(run_onnx("Flatten", {fed(x)}, make_attrs({{"axis", Attr(std::int64_t{-2})}}))[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(run_onnx("Squeeze", {fed(x)}, {}, 11)[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(run_onnx("Squeeze", {fed(x)}, make_attrs({{"axes", Attr(list({1}))}}), 11)[0].shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(run_onnx("Squeeze", {fed(x), ints(list({-1}))}, {}, 13)[0].shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(run_onnx("Unsqueeze", {fed(counting({2, 3})), ints(list({-1, 0}))}, {}, 13)[0].shape(), (Shape{1, 2, 3, 1}));
  EXPECT_EQ(run_onnx("Unsqueeze", {fed(counting({2, 3}))}, make_attrs({{"axes", Attr(list({1}))}}), 11)[0].shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(refusal("Squeeze", {fed(x), ints(list({0}))}), "axis 0 of shape [2,1,3,1] is not 1 and cannot be squeezed");
}

TEST(Transpose, EveryPermutationOfFourAxes) {
  NARROW_SEEDED(rng);
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{1, 70, 9, 67}, Shape{3, 1, 66, 2}}) {
    for (const DType dtype : {DType::kF32, DType::kU8, DType::kI16, DType::kI64}) {
      const Tensor x = test::random_ints<std::int64_t>(shape, rng, 0, 200).cast(dtype);
      std::vector<int> perm{0, 1, 2, 3};
      do {
        const Tensor y = test::run_node("Transpose", {fed(x)}, make_attrs({{"perm", Attr(std::vector<std::int64_t>(perm.begin(), perm.end()))}}));
        const std::vector<std::int64_t> found = y.to_ints(), given = x.to_ints(), sx = strides_of(shape), sy = strides_of(y.shape());
        for (std::int64_t i = 0; i < y.elements(); i += 7) {
          std::int64_t from = 0;
          for (std::size_t d = 0; d < 4; ++d) from += i / sy[d] % y.shape()[d] * sx[static_cast<std::size_t>(perm[d])];
          ASSERT_EQ(found[static_cast<std::size_t>(i)], given[static_cast<std::size_t>(from)]);
        }
      } while (std::next_permutation(perm.begin(), perm.end()) && dtype != DType::kF64);
    }
  }
}

TEST(Transpose, TheDefaultReversesTheAxes) { EXPECT_EQ(run_onnx("Transpose", {fed(counting({2, 3, 4}))})[0].shape(), (Shape{4, 3, 2})); }

TEST(Transpose, AbsorbsItsLike) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, {2, 3, 4});
  const auto transpose = [&](ValueId v, std::vector<std::int64_t> perm) { return test::must(append_inferred(graph, {.name = "t", .op = "Transpose", .inputs = {v}, .attrs = make_attrs({{"perm", Attr(std::move(perm))}})})); };
  const ValueId both = transpose(transpose(x, {1, 2, 0}), {2, 0, 1});
  const ValueId relu = test::must(append_inferred(graph, {.name = "r", .op = "Relu", .inputs = {both}}));
  graph.add_output(relu);
  const NodeId last = graph.value(both).producer;
  const OpDef& op = op_of(graph.node(last));
  ASSERT_TRUE(op.absorb_producer(graph, last));
  EXPECT_EQ(graph.node(last).inputs[0], x);
  EXPECT_EQ(graph.node(last).attrs.get_ints("perm"), list({0, 1, 2}));
  ASSERT_TRUE(op.absorb_producer(graph, last));  // the identity is passed over
  EXPECT_EQ(graph.node(graph.value(relu).producer).inputs[0], x);
  graph.remove_dead();
  test::must(graph.verify());
  EXPECT_EQ(graph.order().size(), 1U);
}

TEST(Transpose, OfAxesOfExtentOneIsAReshape) {
  test::OneNode node("Transpose", {fed(counting({1, 5, 1, 3}))}, make_attrs({{"perm", Attr(list({2, 1, 3, 0}))}}));
  test::must(node.normalize());
  ASSERT_TRUE(op_of(node.graph.node(node.node)).absorb_producer(node.graph, node.node));
  EXPECT_EQ(node.graph.node(node.node).op, "Reshape");
  EXPECT_EQ(node.graph.node(node.node).attrs.get_ints("shape"), list({1, 5, 3, 1}));
}

TEST(Concat, PutsInputsSideBySide) {
  const Tensor y = run_onnx("Concat", {fed(floats({2, 1}, {1, 2})), constant(floats({2, 2}, {3, 4, 5, 6}))}, make_attrs({{"axis", Attr(std::int64_t{-1})}}))[0];
  EXPECT_TRUE(y.same_bytes(floats({2, 3}, {1, 3, 4, 2, 5, 6})));
  EXPECT_EQ(refusal("Concat", {fed(counting({2, 3})), fed(counting({3, 3}))}, make_attrs({{"axis", Attr(std::int64_t{1})}})).find("'in1' of shape [3,3] does not fit 'in0' of shape [2,3] along axis 1"), 22U);
}

TEST(Slice, OldAndNewForms) {
  const Tensor x = counting({4, 5});
  const Tensor old = run_onnx("Slice", {fed(x)}, make_attrs({{"starts", Attr(list({1}))}, {"ends", Attr(list({-1}))}, {"axes", Attr(list({0}))}}), 9)[0];
  EXPECT_EQ(old.shape(), (Shape{2, 5}));
  EXPECT_EQ(old.data<float>()[0], 5);
  const std::int64_t far = std::numeric_limits<std::int64_t>::max(), deep = std::numeric_limits<std::int64_t>::min();
  const Tensor steps = run_onnx("Slice", {fed(x), ints(list({0, far})), ints(list({far, deep})), ints(list({0, -1})), ints(list({2, -2}))})[0];
  EXPECT_TRUE(steps.same_bytes(floats({2, 3}, {4, 2, 0, 14, 12, 10})));
  EXPECT_EQ(run_onnx("Slice", {fed(x), ints(list({3})), ints(list({1}))})[0].elements(), 0);
  EXPECT_EQ(refusal("Slice", {fed(x), ints(list({0})), ints(list({2})), ints(list({0})), ints(list({0}))}), "the step of axis 0 is 0");
}

TEST(Split, BecomesSlices) {
  const Tensor x = counting({2, 7});
  const auto given = run_onnx("Split", {fed(x), ints(list({3, 4}))}, make_attrs({{"axis", Attr(std::int64_t{1})}}), 13, 2);
  EXPECT_TRUE(given[1].same_bytes(floats({2, 4}, {3, 4, 5, 6, 10, 11, 12, 13})));
  const auto equal = run_onnx("Split", {fed(x)}, make_attrs({{"axis", Attr(std::int64_t{1})}}), 18, 3);
  EXPECT_EQ(equal[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(equal[2].shape(), (Shape{2, 1}));
  EXPECT_EQ(refusal("Split", {fed(x), ints(list({3, 3}))}, make_attrs({{"axis", Attr(std::int64_t{1})}}), 2), "parts [3,3] do not divide axis 1 of shape [2,7] into 2 outputs");
}

TEST(Pad, ModesAndForms) {
  const Tensor x = floats({1, 3}, {1, 2, 3});
  EXPECT_TRUE(run_onnx("Pad", {fed(x), ints(list({0, 1, 0, 2})), constant(Tensor::scalar<float>(9))})[0].same_bytes(floats({1, 6}, {9, 1, 2, 3, 9, 9})));
  EXPECT_TRUE(run_onnx("Pad", {fed(x)}, make_attrs({{"pads", Attr(list({1, 0, 0, -1}))}, {"value", -1.0}}), 10)[0].same_bytes(floats({2, 2}, {-1, -1, 1, 2})));
  EXPECT_TRUE(run_onnx("Pad", {fed(x), ints(list({2, 2})), {}, ints(list({1}))}, make_attrs({{"mode", std::string("reflect")}}), 18)[0].same_bytes(floats({1, 7}, {3, 2, 1, 2, 3, 2, 1})));
  EXPECT_TRUE(run_onnx("Pad", {fed(x), ints(list({0, 2, 0, 1}))}, make_attrs({{"mode", std::string("edge")}}))[0].same_bytes(floats({1, 6}, {1, 1, 1, 2, 3, 3})));
  EXPECT_TRUE(run_onnx("Pad", {fed(x), ints(list({0, 2, 0, 1}))}, make_attrs({{"mode", std::string("wrap")}}), 19)[0].same_bytes(floats({1, 6}, {2, 3, 1, 2, 3, 1})));
  EXPECT_EQ(refusal("Pad", {fed(x), ints(list({1, 1}))}), "2 pads for 2 axes, wanted 4");
}

TEST(Pad, TheFillBecomesACode) {
  test::OneNode node("Pad", {fed(counting({1, 2}))}, make_attrs({{"pads", Attr(list({0, 1, 0, 1}))}, {"mode", std::string("constant")}, {"value", 0.0}}));
  test::must(infer_node(node.graph, node.node));
  const QuantParams grid = QuantParams::per_tensor(DType::kU8, 0.1F, 37);
  test::OneLowering lowering(node.graph, node.node, {grid}, {grid}, {});
  test::must(find_op("Pad")->lower(lowering));
  EXPECT_TRUE(lowering.run({Tensor::of<std::uint8_t>({1, 2}, {5, 250})}, false).same_bytes(Tensor::of<std::uint8_t>({1, 4}, {37, 5, 250, 37})));
}

TEST(Gather, IndicesOfAnyRank) {
  const Tensor x = counting({3, 2});
  EXPECT_TRUE(run_onnx("Gather", {fed(x), ints(list({2, -3}))})[0].same_bytes(floats({2, 2}, {4, 5, 0, 1})));
  EXPECT_TRUE(run_onnx("Gather", {fed(x), constant(Tensor::scalar<std::int64_t>(-1))}, make_attrs({{"axis", Attr(std::int64_t{1})}}))[0].same_bytes(floats({3}, {1, 3, 5})));
  EXPECT_TRUE(run_onnx("Gather", {constant(x), fed(Tensor::of<std::int64_t>({1, 2}, {1, 99}))})[0].same_bytes(floats({1, 2, 2}, {2, 3, 4, 5})));  // clamped
  EXPECT_EQ(refusal("Gather", {fed(x), ints(list({3}))}), "index 3 is outside axis 0 of shape [3,2]");
}

TEST(Expand, AndTile) {
  EXPECT_TRUE(run_onnx("Expand", {fed(floats({2, 1}, {1, 2})), ints(list({1, 2, 3}))})[0].same_bytes(floats({1, 2, 3}, {1, 1, 1, 2, 2, 2})));
  EXPECT_TRUE(run_onnx("Tile", {fed(floats({1, 2}, {1, 2})), ints(list({2, 2}))})[0].same_bytes(floats({2, 4}, {1, 2, 1, 2, 1, 2, 1, 2})));
}

TEST(Shapes, ShapeSizeCastConstants) {
  EXPECT_EQ(run_onnx("Shape", {fed(counting({2, 3, 4}))})[0].to_ints(), list({2, 3, 4}));
  EXPECT_EQ(run_onnx("Shape", {fed(counting({2, 3, 4}))}, make_attrs({{"start", Attr(std::int64_t{-2})}, {"end", Attr(std::int64_t{2})}}), 15)[0].to_ints(), list({3}));
  EXPECT_EQ(run_onnx("Size", {fed(counting({2, 3, 4}))})[0].to_ints(), list({24}));
  EXPECT_EQ(run_onnx("Cast", {fed(floats({2}, {1.7F, -1.7F}))}, make_attrs({{"to", Attr(std::int64_t{7})}}))[0].to_ints(), list({1, -1}));
  EXPECT_EQ(run_onnx("ConstantOfShape", {ints(list({2, 2})), constant(Tensor::of<std::int64_t>({1}, {5}))})[0].to_ints(), list({5, 5, 5, 5}));
  EXPECT_TRUE(run_onnx("ConstantOfShape", {ints(list({2}))})[0].same_bytes(floats({2}, {0, 0})));
  EXPECT_EQ(run_onnx("Range", {constant(Tensor::scalar<std::int64_t>(7)), constant(Tensor::scalar<std::int64_t>(1)), constant(Tensor::scalar<std::int64_t>(-3))})[0].to_ints(), list({7, 4}));
  EXPECT_EQ(refusal("Cast", {fed(counting({1}))}, make_attrs({{"to", Attr(std::int64_t{8})}})), "element type 8 (ONNX's number) is not supported");
}

TEST(Identity, AndDropoutVanish) {
  for (const char* op : {"Identity", "Dropout"}) {
    test::OneNode node(op, {fed(counting({2}))});
    test::must(node.normalize());
    EXPECT_EQ(node.graph.order().size(), 0U);
    EXPECT_EQ(node.graph.outputs(), node.graph.inputs());
  }
}

TEST(Dropout, ItsMaskKeepsEverything) {
  EXPECT_EQ(run_onnx("Dropout", {fed(counting({3}))}, {}, 13, 2)[1].to_ints(), list({1, 1, 1}));
  const Tensor yes = Tensor::scalar<float>(1).cast(DType::kBool);
  EXPECT_EQ(refusal("Dropout", {fed(counting({2})), constant(Tensor::scalar<float>(0.5F)), constant(yes)}), "it is in training mode");
}

// Depth 4 = blocks of 2x2; DCR takes depth from outside, CRD from inside.
TEST(DepthToSpace, BothOrders) {
  const Tensor x = counting({1, 8, 1, 1});
  const Attr two = Attr(std::int64_t{2});
  EXPECT_TRUE(run_onnx("DepthToSpace", {fed(x)}, make_attrs({{"blocksize", two}}))[0].same_bytes(floats({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7})));
  EXPECT_TRUE(run_onnx("DepthToSpace", {fed(x)}, make_attrs({{"blocksize", two}, {"mode", std::string("CRD")}}))[0].same_bytes(floats({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})));
  EXPECT_TRUE(run_onnx("SpaceToDepth", {fed(counting({1, 1, 2, 2}))}, make_attrs({{"blocksize", two}}))[0].same_bytes(floats({1, 4, 1, 1}, {0, 1, 2, 3})));
}

// denormalize(normalize(node)) is ONNX again and means the same.
TEST(Movement, RoundTripToOnnxForm) {
  struct Case {
    const char* op;
    std::vector<test::In> inputs;
    Attrs attrs;
  };
  const Tensor x = counting({2, 3, 4});
  const std::vector<Case> cases = {
      {"Reshape", {fed(x), ints(list({4, 6}))}, {}},
      {"Slice", {fed(x), ints(list({1, 3})), ints(list({2, -9})), ints(list({0, 2})), ints(list({1, -1}))}, {}},
      {"Pad", {fed(x), ints(list({0, 1, 0, 0, 0, 2})), constant(Tensor::scalar<float>(3))}, {}},
      {"Pad", {fed(x), ints(list({0, 1, 0, 0, 0, 2}))}, make_attrs({{"mode", std::string("edge")}})},
      {"Expand", {fed(x), ints(list({5, 1, 1, 1}))}, {}},
      {"Tile", {fed(x), ints(list({1, 2, 1}))}, {}},
      {"Cast", {fed(x)}, make_attrs({{"to", Attr(std::int64_t{6})}})},
      {"Clip", {fed(x), constant(Tensor::scalar<float>(2)), constant(Tensor::scalar<float>(5))}, {}},
      {"Clip", {fed(x), {}, constant(Tensor::scalar<float>(5))}, {}},
      {"Pow", {fed(x), constant(Tensor::scalar<float>(3))}, {}},
      {"Gather", {fed(x), ints(list({-1, 0}))}, make_attrs({{"axis", Attr(std::int64_t{-1})}})},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.op);
    test::OneNode node(c.op, c.inputs, c.attrs);
    test::must(node.normalize());
    const Tensor wanted = node.run()[0];
    RewriteContext back(node.graph, node.node, 13);
    if (op_of(back.node()).denormalize != nullptr) test::must(op_of(back.node()).denormalize(back));
    // A denormalized node is what import reads.
    RewriteContext again(node.graph, node.node, 13);
    if (op_of(again.node()).normalize != nullptr) test::must(op_of(again.node()).normalize(again));
    test::must(infer_node(node.graph, node.node));
    node.graph.remove_dead();
    test::must(node.graph.verify());
    EXPECT_TRUE(node.run()[0].same_bytes(wanted));
  }
}

}  // namespace
}  // namespace narrow
