// Values that share one grid: joins of branches, and the operands of Min and Max.
#include "plan/explain.h"
#include "planning.h"

namespace narrow {
namespace {

using test::Case;
using test::must;

constexpr std::string_view kConcat = R"(
graph "g"
in %x: f32[1,4]
%a = Exp(%x)
%b = Neg(%x)
%c = Concat(%a, %b) {axis=1} node "cat"
%y = Exp(%c)
out %y
)";

TEST(Ties, ConcatUnitesRanges) {
  Case c(kConcat, {{"x", -1.0F, 1.0F}, {"a", 0.0F, 2.55F}, {"b", -2.55F, 1.0F}, {"y", 0.0F, 9.0F}});
  EXPECT_EQ(c.sites(), (std::vector<std::string>{"x", "a", "b", "y"}));
  const Plan p = c.plan();
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(p.activation(name)->params, QuantParams::per_tensor(DType::kI8, 0.02F, 0)) << name;
  EXPECT_EQ(p.activation("b")->decided_by, "recipe r.yaml: max over 4 samples, united with what shares its scale");
  EXPECT_EQ(p.activation("a")->decided_by, "constraint: same as 'b' (Concat 'cat')");
  EXPECT_TRUE(must(explain(p, &c.graph, "a")).ends_with("\n\n'b': recipe r.yaml: max over 4 samples, united with what shares its scale; 2 more values share its grid\n"));
  EXPECT_TRUE(p.notes.empty());
}

TEST(Ties, ATinyBranchKeepsItsOwnScale) {
  Case c(kConcat, {{"x", -1.0F, 1.0F}, {"a", 0.0F, 0.051F}, {"b", -2.55F, 2.55F}, {"y", 0.0F, 9.0F}});
  const Plan p = c.plan();
  EXPECT_EQ(p.activation("a")->params, QuantParams::per_tensor(DType::kI8, static_cast<float>(static_cast<double>(0.051F) / 255), -128));
  EXPECT_EQ(p.activation("b")->params, p.activation("c")->params);
  ASSERT_EQ(p.notes.size(), 1U);
  EXPECT_EQ(p.notes[0], "'a' keeps its own scale into Concat 'cat': its range [0, 0.051] is 100.0 times smaller than the joint [-2.55, 2.55]; it is requantized there");
  c.recipe.untie_ratio = 200;
  EXPECT_EQ(c.plan().activation("a")->params, p.activation("b")->params);
}

constexpr const char* kMin = R"(
graph "g"
in %x: f32[1,4]
%a = Exp(%x)
%b = Neg(%x)
%c = Min(%a, %b) node "min"
%y = Exp(%c)
out %y
)";

// Min answers within the smaller of its operands: the grid of what it never answers is of no use to it.
TEST(Ties, WhatIsNeverChosenDoesNotWidenTheGrid) {
  Case c(kMin, {{"x", -1.0F, 1.0F}, {"a", 0.0F, 255.0F}, {"b", -1.0F, 1.55F}, {"c", -1.0F, 1.55F}, {"y", 0.0F, 9.0F}});
  const Plan p = c.plan();
  EXPECT_EQ(p.activation("a")->params, QuantParams::per_tensor(DType::kI8, 1, -128));
  EXPECT_EQ(p.activation("b")->params, p.activation("c")->params);
  EXPECT_EQ(p.activation("c")->params, QuantParams::per_tensor(DType::kI8, 0.01F, -28));
  ASSERT_EQ(p.notes.size(), 1U);
  EXPECT_EQ(p.notes[0], "'a' keeps its own scale into Min 'min': its range [0, 255] is 100.4 times larger than that of the result, [-1, 1.55]; it is requantized there");
  c.recipe.untie_ratio = 200;
  EXPECT_EQ(c.plan().activation("a")->params, c.plan().activation("c")->params);
}

TEST(Ties, OperandsThatAreBothNeverChosenWholeKeepTheirScales) {
  Case c(kMin, {{"x", -1.0F, 1.0F}, {"a", 0.0F, 255.0F}, {"b", -1.0F, 254.0F}, {"c", -1.0F, 1.55F}, {"y", 0.0F, 9.0F}});
  const Plan p = c.plan();
  EXPECT_EQ(p.activation("b")->params, QuantParams::per_tensor(DType::kI8, 1, -127));
  EXPECT_EQ(p.activation("c")->params, QuantParams::per_tensor(DType::kI8, 0.01F, -28));
  EXPECT_EQ(p.notes.size(), 2U);
}

TEST(Ties, AFixedBranchIsNotStretched) {
  Case c(R"(
graph "g"
in %x: f32[1,4]
%a = Sigmoid(%x)
%b = Neg(%x)
%c = Concat(%a, %b) {axis=1} node "cat"
%y = Exp(%c)
out %y
)", {{"x", -1.0F, 1.0F}, {"b", -1.0F, 1.0F}, {"y", 0.0F, 9.0F}});
  const Plan p = c.plan();
  EXPECT_EQ(p.activation("a")->params, QuantParams::per_tensor(DType::kI8, 1.0F / 256, -128));
  EXPECT_EQ(p.activation("b")->params, p.activation("c")->params);
  EXPECT_EQ(p.notes.at(0), "'a' keeps its own scale into Concat 'cat': its range [0, 1] is fixed, unlike the joint [-1, 1]; it is requantized there");
}

TEST(Ties, TheOutputTailIsNotJoined) {
  Case c(R"(
graph "g"
in %x: f32[1,4]
%box = Exp(%x)
%score = Sigmoid(%x)
%c = Concat(%box, %score) {axis=1} node "cat"
%r = Reshape(%c) {shape=[2,4]}
out %r
)", {{"x", -1.0F, 1.0F}, {"box", 0.0F, 30.0F}});
  Plan p = c.plan();
  ASSERT_EQ(p.islands.size(), 2U);
  EXPECT_EQ(p.islands[0], (IslandPlan{"cat", "joins outputs of different ranges ('score' [0, 1], 'box' [0, 30]): each keeps its own scale and becomes real before"}));
  EXPECT_EQ(p.islands[1], (IslandPlan{"r", "follows 'c', which is float"}));
  EXPECT_EQ(p.activations.size(), 3U);
  EXPECT_EQ(p.activation("c"), nullptr);
  c.target.float_islands = false;
  p = c.plan();
  EXPECT_TRUE(p.islands.empty());
  EXPECT_EQ(p.activation("c")->params, p.activation("box")->params);
  EXPECT_EQ(p.notes.size(), 1U) << "the scores are requantized";
}

}  // namespace
}  // namespace narrow
