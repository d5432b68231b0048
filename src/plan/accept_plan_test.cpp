// A plan edited as text and given back: one edit is enough, and whatever follows from it follows.
#include "base/text.h"
#include "planning.h"

namespace narrow {
namespace {

using test::Case;
using test::must;

constexpr std::string_view kNetwork = R"(
graph "g"
in %x: f32[1,4]
%t = Reshape(%x) {shape=[2,2]}
%h = Gemm(%t, %w: f32[3,2] = {1, -2, 0.5, 0.25, 3, 0}, %b: f32[3] = {0.5, -1, 3}) node "first"
%r = Reshape(%h) {shape=[3,2]}
%y = Gemm(%r, %w2: f32[2,2] = {1, 2, 3, 4}, %b2: f32[2] = {0.5, -1}) node "last"
out %y
)";

struct Edited : Case {
  Edited() : Case(kNetwork, {{"x", -1.0F, 1.55F}, {"h", -2.55F, 2.55F}, {"y", -5.0F, 5.0F}}), made(plan()) {}
  Plan made;
  std::vector<std::string> notes;

  // `made` as text with replacements, read and accepted.
  Result<Plan> with(const std::vector<std::pair<std::string, std::string>>& replacements) {
    std::string text = made.to_text();
    for (const auto& [from, to] : replacements) {
      const std::size_t at = text.find(from);
      EXPECT_NE(at, std::string::npos) << from << "\n" << text;
      text.replace(at, from.size(), to);
    }
    Plan p = NARROW_TRY(Plan::from_text(text, "p.plan"));
    Diagnostics diagnostics;
    NARROW_TRY(accept_plan(p, graph, target, diagnostics));
    notes.clear();
    for (const Diagnostic& d : diagnostics.all()) notes.push_back(d.message);
    return p;
  }
  std::string error_of(const std::vector<std::pair<std::string, std::string>>& replacements) {
    const Result<Plan> p = with(replacements);
    EXPECT_FALSE(p.has_value());
    return p ? std::string() : p.error().message;
  }
  // The whole line that begins so.
  std::string line(const std::string& begin) const {
    for (const std::string& l : split(made.to_text(), '\n')) {
      if (l.starts_with(begin)) return l + "\n";
    }
    ADD_FAILURE() << begin << "\n" << made.to_text();
    return {};
  }
};

void expect_derived(const Plan& p, const char* node, const char* activation) {
  const QuantParams &x = p.activation(activation)->params, &w = p.constant(node, 1)->params, &b = p.constant(node, 2)->params;
  EXPECT_EQ(b.dtype, x.dtype == DType::kI16 ? DType::kI64 : DType::kI32);
  ASSERT_EQ(b.scale.size(), w.scale.size());
  for (std::size_t i = 0; i < b.scale.size(); ++i) EXPECT_EQ(b.scale[i], x.scale[0] * w.scale[i]);
}

TEST(AcceptPlan, AnUneditedOneStaysAsItIs) {
  Edited e;
  EXPECT_EQ(must(e.with({})), e.made);
  EXPECT_TRUE(e.notes.empty());
  EXPECT_EQ(e.line("activation \"t\""), "activation \"t\" as \"x\" by \"constraint: same as 'x' (Reshape 't')\"\n");
}

TEST(AcceptPlan, WeightsWidenWhenABiasWouldOverflow) {
  Edited e;
  const float weight = e.made.constant("last", 1)->params.scale[0], h = e.made.activation("h")->params.scale[0];
  // The bias 1 must stay below 2^31 steps of (activation scale * weight scale).
  const float finer = 1e-9F;
  const Plan p = must(e.with({{fmt::format("activation \"h\" i8 scale={}", exact(h)), fmt::format("activation \"h\" i8 scale={}", exact(finer))}}));
  EXPECT_GT(p.constant("last", 1)->params.scale[1], weight);
  for (const char* channel : {"0", "1"}) {
    const auto c = static_cast<std::size_t>(channel[0] - '0');
    EXPECT_LT((c == 0 ? 0.5 : 1.0) / static_cast<double>(p.constant("last", 2)->params.scale[c]), std::exp2(31) - 1) << channel;
  }
  expect_derived(p, "last", "r");
  EXPECT_EQ(p.constant("first", 1)->params, e.made.constant("first", 1)->params) << "its output grid is not part of its bias";
  EXPECT_EQ(std::count_if(e.notes.begin(), e.notes.end(), [](const std::string& n) { return n.starts_with("weight scale of 'last' widened in "); }), 1);
  Plan again = p;
  Diagnostics silent;
  must(accept_plan(again, e.graph, e.target, silent));
  EXPECT_EQ(again, p) << "and then it fits";
}

// The finest scale that a weight may have is enforced without a word; the bias follows all the same.
TEST(AcceptPlan, BiasesFollowWeightsThatAreRaisedToTheFinestScale) {
  Case c(R"(
graph "g"
in %x: f32[1,2]
%y = Gemm(%x, %w: f32[2,2] = {1, 2, 0, 0}, %b: f32[2] = {0.5, 0}) node "fc"
out %y
)", {{"x", -1.0F, 1.55F}, {"y", -5.0F, 5.0F}});
  Plan p = c.plan();
  for (ConstantPlan& entry : p.constants) {
    if (entry.slot == 1) entry.params.scale[1] = 1.5F * std::numeric_limits<float>::min() / p.activation("x")->params.scale[0];
  }
  Diagnostics diagnostics;
  must(accept_plan(p, c.graph, c.target, diagnostics));
  EXPECT_GE(p.constant("fc", 2)->params.scale[1], 1.9F * std::numeric_limits<float>::min());
  expect_derived(p, "fc", "x");
}

TEST(AcceptPlan, OneActivationMovesItsClassAndTheBiases) {
  Edited e;
  Plan p = must(e.with({{"activation \"x\" i8 scale=0.01 zp=-28", "activation \"x\" i8 scale=0.25 zp=3"}}));
  for (const char* name : {"x", "t"}) EXPECT_EQ(p.activation(name)->params, QuantParams::per_tensor(DType::kI8, 0.25F, 3)) << name;
  expect_derived(p, "first", "t");
  EXPECT_EQ(*p.constant("last", 2), *e.made.constant("last", 2));
  EXPECT_EQ(e.notes, std::vector<std::string>{"the bias scale of 1 layer in the plan was made again from those of activation and weight: 'first'"});
  EXPECT_EQ(must(Plan::from_text(p.to_text(), "p")), p);

  p = must(e.with({{"activation \"x\" i8 scale=0.01 zp=-28", "activation \"x\" i16 scale=0.001 zp=0"}, {"activation \"h\" i8 scale=0.02 zp=0", "activation \"h\" i16 scale=0.002 zp=0"}}));
  for (const char* name : {"x", "t", "h", "r"}) EXPECT_EQ(p.activation(name)->params.dtype, DType::kI16) << name;
  expect_derived(p, "first", "t");
  expect_derived(p, "last", "r");
  EXPECT_EQ(e.notes, std::vector<std::string>{"the bias scale of 2 layers in the plan was made again from those of activation and weight: 'first', 'last'"});
}

TEST(AcceptPlan, OneWeightMovesItsBias) {
  Edited e;
  const std::string line = e.line("constant \"first\" 1");
  const Plan p = must(e.with({{line, "constant \"first\" 1 i8 narrow scale=0.03 zp=0 by \"me\"\n"}}));
  EXPECT_EQ(p.constant("first", 1)->params.scale, std::vector<float>{0.03F});
  EXPECT_EQ(p.constant("first", 2)->params.axis, -1);
  expect_derived(p, "first", "t");
}

TEST(AcceptPlan, BiasLinesMayBeAbsentOrAnything) {
  Edited e;
  const std::string line = e.line("constant \"first\" 2");
  EXPECT_EQ(must(e.with({{line, ""}})), e.made) << "at its old place";
  EXPECT_EQ(must(e.with({{line, "constant \"first\" 2 i32 scale=7 zp=0 by \"me\"\n"}})), e.made);
  EXPECT_EQ(must(e.with({{line, ""}, {e.line("constant \"last\" 2"), ""}})), e.made);
  EXPECT_EQ(e.notes.size(), 1U);
  // What stands beside an island decides nothing and is left alone.
  const std::string other = "constant \"first\" 2 i32 scale=7 zp=0 by \"me\"\n";
  const Plan p = must(e.with({{line, other + "island \"first\" by \"me\"\n"}}));
  EXPECT_EQ(p.constant("first", 2)->params.scale, std::vector<float>{7});
  EXPECT_TRUE(e.notes.empty());
}

TEST(AcceptPlan, TornTiesNameAllLines) {
  Edited e;
  EXPECT_EQ(e.error_of({{"activation \"t\" as \"x\"", "activation \"t\" i8 scale=1 zp=0"}}), "the plan does not fit: Reshape 't' needs one scale, but 'x' is i8 scale=0.01 zp=-28 and 't' is i8 scale=1 zp=0");
  Case c(R"(
graph "g"
in %x: f32[1,4]
%t = Reshape(%x) {shape=[2,2]}
%u = Transpose(%t) {perm=[1,0]}
%y = Exp(%u)
out %y
)", {{"x", -1.0F, 1.55F}, {"y", 0.0F, 5.0F}});
  Plan p = c.plan();
  for (ActivationPlan& a : p.activations) a.same_as.clear();  // all lines with numbers, and one of them edited
  p.activations[2].params.scale[0] = 1;
  const Error found = p.verify(c.graph, c.target).error();
  EXPECT_EQ(found.message, "the plan does not fit: Transpose 'u' needs one scale, but 't' is i8 scale=0.01 zp=-28 and 'u' is i8 scale=1 zp=-28; it is also that of 'x'");
  EXPECT_TRUE(found.notes.empty()) << "once per class";
}

TEST(AcceptPlan, EntriesOfNoConsequenceAreTold) {
  Edited e;
  must(e.with({{"constant \"last\" 1", "constant \"last\" 0 i8 scale=1 zp=0 by \"me\"\nconstant \"last\" 1"}}));
  EXPECT_EQ(e.notes, std::vector<std::string>{"the plan has entries of no consequence: constant 'last' 0"});
  // What an island makes for nobody; 'r' is made by a layer that computes in integers.
  must(e.with({{"constant \"last\" 1", "island \"last\" by \"me\"\nconstant \"last\" 1"}}));
  EXPECT_EQ(e.notes, std::vector<std::string>{"the plan has entries of no consequence: activation 'y'"});
}

TEST(AcceptPlan, AJoinRescalesWhatIsGivenAScaleOfItsOwn) {
  Case c(R"(
graph "g"
in %x: f32[1,4]
%a = Exp(%x)
%b = Neg(%x)
%c = Concat(%a, %b) {axis=1} node "cat"
%y = Exp(%c)
out %y
)", {{"x", -1.0F, 1.0F}, {"a", 0.0F, 2.55F}, {"b", -2.55F, 1.0F}, {"y", 0.0F, 9.0F}});
  std::string text = c.plan().to_text();
  const std::string shared = "activation \"a\" as \"b\"";
  ASSERT_NE(text.find(shared), std::string::npos) << text;
  text.replace(text.find(shared), shared.size(), "activation \"a\" i8 scale=0.01 zp=-128");
  Plan p = must(Plan::from_text(text, "p"));
  Diagnostics diagnostics;
  must(accept_plan(p, c.graph, c.target, diagnostics));
  EXPECT_EQ(p.activation("a")->params.scale[0], 0.01F);
  EXPECT_EQ(p.activation("c")->params.scale[0], 0.02F);
}

TEST(AcceptPlan, WhatIsWrongWithAClassIsSaidOnce) {
  Edited e;
  const Error found = e.with({{"activation \"x\" i8 scale=0.01 zp=-28", "activation \"x\" i16 scale=0.01 zp=-28"}}).error();
  EXPECT_EQ(found.message, "the plan does not fit: i16 activation 'x' has zero point -28, wanted 0");
  EXPECT_TRUE(found.notes.empty());
  EXPECT_EQ(e.error_of({{"activation \"x\" i8 scale=0.01", "activation \"x\" i8 scale=2e-37"}}), "the plan does not fit: the scales of activation and weight of 'first' (channel 0) leave its bias the scale 3.149606e-39");
}

}  // namespace
}  // namespace narrow
