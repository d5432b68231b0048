#include "plan/explain.h"
#include "planning.h"

namespace narrow {
namespace {

using test::Case;
using test::must;
using test::wish;

constexpr std::string_view kConv = R"(
graph "g"
in %x: f32[1,4,4,2]
const %w: f32[3,1,1,2] = {1, -2, 0.5, 0.25, 0, 0}
const %b: f32[3] = {0.5, -1, 3}
%y = Conv(%x, %w, %b) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=1, activation="Relu"} node "conv"
out %y
)";

TEST(MakePlan, OutputsThatTheSamplesDoNotExciteAreNamed) {
  constexpr std::string_view kDetector = R"(
graph "g"
in %x: f32[1,2]
%y = Gemm(%x, %w: f32[1,2] = {1, -2}) {activation="Sigmoid"} node "head"
out %y
)";
  Case silent(kDetector, {{"x", -1.0F, 1.0F}, {"y", 0.0F, 0.01F}});
  silent.plan();
  ASSERT_EQ(silent.warnings.size(), 1U);
  EXPECT_NE(silent.warnings[0].find("output 'y' stays within [0, 0.01] on the calibration samples, and its grid ends there, although Sigmoid reaches [0, 1]"), std::string::npos) << silent.warnings[0];
  silent.recipe = must(parse_recipe("layers: [{match: head, range: [0, 1]}]", "r.yaml"));
  silent.plan();
  EXPECT_TRUE(silent.warnings.empty());
  Case answers(kDetector, {{"x", -1.0F, 1.0F}, {"y", 0.0F, 0.5F}});
  answers.plan();
  EXPECT_TRUE(answers.warnings.empty());
}

TEST(MakePlan, ConvolutionExactly) {
  Case c(kConv, {{"x", -1.0F, 1.55F}, {"y", 0.0F, 5.1F}});
  EXPECT_EQ(c.sites(), (std::vector<std::string>{"x", "y"}));
  const Plan p = c.plan();
  EXPECT_EQ(p.target, "generic-int8");
  ASSERT_EQ(p.activations.size(), 2U);
  EXPECT_EQ(p.activations[0].params, QuantParams::per_tensor(DType::kI8, 0.01F, -28));
  EXPECT_EQ(p.activations[1].params, QuantParams::per_tensor(DType::kI8, 0.02F, -128));
  EXPECT_EQ(p.activations[0].decided_by, "recipe r.yaml: max over 4 samples");
  ASSERT_EQ(p.constants.size(), 2U);
  const QuantParams& w = p.constants[0].params;
  EXPECT_EQ(w.axis, 0);
  EXPECT_TRUE(w.narrow_range);
  EXPECT_EQ(w.scale, (std::vector<float>{static_cast<float>(2.0 / 127), static_cast<float>(0.5 / 127), static_cast<float>(2.0 / 127)})) << "the channel of zeros takes the widest";
  EXPECT_EQ(p.constants[0].decided_by, "largest magnitude per channel");
  const QuantParams& b = p.constants[1].params;
  EXPECT_EQ(b.dtype, DType::kI32);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(b.scale[i], 0.01F * w.scale[i]);
  EXPECT_EQ(p.constants[1].decided_by, "derived: scale of 'x' times scale of the weight");
  EXPECT_TRUE(p.islands.empty());
  EXPECT_TRUE(p.notes.empty());
}

TEST(MakePlan, DefaultCalibratorIsNamed) {
  Case c(kConv, {{"x", -1.0F, 1.55F}, {"y", 0.0F, 5.1F}});
  c.recipe = Recipe{};
  EXPECT_EQ(c.plan().activations[0].decided_by.substr(0, 9), "default: ");
}

TEST(MakePlan, PerTensorUnsignedAndSixteenBits) {
  Case c(kConv, {{"x", -1.0F, 1.55F}, {"y", 0.0F, 5.1F}});
  c.recipe.per_channel_weights = false;
  c.recipe.activations = DType::kU8;
  Plan p = c.plan();
  EXPECT_EQ(p.activations[0].params, QuantParams::per_tensor(DType::kU8, 0.01F, 100));
  EXPECT_EQ(p.activations[0].decided_by, "recipe r.yaml: max over 4 samples; u8 by recipe r.yaml");
  EXPECT_EQ(p.constants[0].params.scale, (std::vector<float>{static_cast<float>(2.0 / 127)}));
  EXPECT_EQ(p.constants[0].decided_by, "largest magnitude per tensor by recipe r.yaml");
  c.recipe.activations = DType::kI16;
  p = c.plan();
  EXPECT_EQ(p.activations[0].params, QuantParams::per_tensor(DType::kI16, static_cast<float>(static_cast<double>(1.55F) / 32767), 0));
  EXPECT_EQ(p.constants[1].params.dtype, DType::kI64);
}

TEST(MakePlan, SymmetricByTheTarget) {
  Case c(kConv, {{"x", -1.0F, 1.27F}, {"y", 0.0F, 5.1F}});
  c.target.symmetric_activations = true;
  const Plan p = c.plan();
  EXPECT_EQ(p.activations[0].params, QuantParams::per_tensor(DType::kI8, 0.01F, 0));
  EXPECT_EQ(p.activations[0].decided_by, "recipe r.yaml: max over 4 samples; symmetric by target 'generic-int8'");
}

TEST(MakePlan, LayerWishesNameTheirLine) {
  Case c(kConv, {{"x", -1.0F, 1.55F}, {"y", 0.0F, 5.1F}});
  c.recipe.layers.push_back(wish("conv", 7, [](LayerRecipe& l) { l.weight_bits = 4; l.range = std::pair{-1.0, 4.1}; }));
  c.recipe.layers.push_back(wish("x", 9, [](LayerRecipe& l) { l.scale = std::pair{0.5, std::int64_t{3}}; }));
  const Plan p = c.plan();
  EXPECT_EQ(c.sites(), std::vector<std::string>{});
  EXPECT_EQ(p.activations[0].params, QuantParams::per_tensor(DType::kI8, 0.5F, 3));
  EXPECT_EQ(p.activations[0].decided_by, "recipe r.yaml:9");
  EXPECT_EQ(p.activations[1].params, QuantParams::per_tensor(DType::kI8, 0.02F, -78));
  EXPECT_EQ(p.activations[1].decided_by, "recipe r.yaml:7");
  EXPECT_EQ(p.constants[0].params.bits, 4);
  EXPECT_EQ(p.constants[0].decided_by, "least squared error per channel; 4 bits by recipe r.yaml:7");
}

TEST(MakePlan, WishesThatCannotBe) {
  Case c(kConv, {{"x", -1.0F, 1.55F}, {"y", 0.0F, 5.1F}});
  c.recipe.layers = {wish("cnv", 3, [](LayerRecipe& l) { l.weight_bits = 4; })};
  EXPECT_EQ(c.error().message, "no layer matches 'cnv' in model 'g'");
  c.recipe.layers = {wish("conv", 3, [](LayerRecipe& l) { l.calibrator = "mes"; })};
  EXPECT_EQ(c.error().to_string(), "error: no calibrator is called 'mes'\n  --> r.yaml:3:1\n  help: did you mean 'mse' or 'max'?");
  c.recipe.layers = {wish("conv", 3, [](LayerRecipe& l) { l.scale = std::pair{0.1, std::int64_t{200}}; })};
  EXPECT_EQ(c.error().message, "the zero point 200 of 'y' does not fit i8, wanted -128 to 127");
  c.recipe.layers = {wish("conv", 3, [](LayerRecipe& l) { l.activations = DType::kI16; })};
  c.target.activations = {DType::kI8};
  EXPECT_EQ(c.error().message, "target 'generic-int8' has no i16 activations");
  c.recipe.layers.clear();
  c.stats.values.pop_back();
  EXPECT_EQ(c.error().message, "the statistics hold nothing about 'y'");
  c.stats.graph_hash = 1;
  EXPECT_TRUE(c.error().message.find("the statistics were made for graph 0000000000000001") == 0);
}

constexpr std::string_view kMovement = R"(
graph "g"
in %x: f32[1,4,4,2]
%a = Sigmoid(%x)
%m = MaxPool(%a) {kernel_shape=[2,2], strides=[2,2], pads=[0,0,0,0], dilations=[1,1], ceil_mode=0} node "pool"
%t = Transpose(%m) {perm=[0,3,1,2]}
%s = Exp(%t)
out %s
)";

TEST(MakePlan, MovementSharesOneScaleAndFixedIntervalsPassThrough) {
  Case c(kMovement, {{"x", -4.0F, 4.0F}, {"m", 0.1F, 0.9F}, {"s", 0.0F, 2.7F}});
  EXPECT_EQ(c.sites(), (std::vector<std::string>{"x", "m", "s"})) << "what is fixed or only reordered is not observed";
  const Plan p = c.plan();
  for (const char* name : {"a", "m", "t"}) EXPECT_EQ(p.activation(name)->params, QuantParams::per_tensor(DType::kI8, 1.0F / 256, -128)) << name;
  EXPECT_EQ(p.activation("a")->decided_by, "fixed by Sigmoid");
  EXPECT_EQ(p.activation("t")->decided_by, "constraint: same as 'a' (Transpose 't')");
}

TEST(MakePlan, FloatIslandsSayWhy) {
  Case c(R"(
graph "g"
in %x: f32[1,4]
%a = Exp(%x) node "first"
%q = Div(%a, %x) node "ratio"
%t = Reshape(%q) {shape=[2,2]}
%y = Exp(%t) node "last"
out %y
)", {{"x", -1.0F, 1.0F}, {"a", 0.0F, 2.55F}, {"t", -1.0F, 1.55F}, {"y", 0.0F, 9.0F}});
  Plan p = c.plan();
  ASSERT_EQ(p.islands.size(), 2U);
  EXPECT_EQ(p.islands[0], (IslandPlan{"ratio", "division of two computed tensors has no integer form"}));
  EXPECT_EQ(p.islands[1], (IslandPlan{"t", "follows 'q', which is float"}));
  EXPECT_EQ(p.activation("t")->params, QuantParams::per_tensor(DType::kI8, 0.01F, -28)) << "quantized where 'last' reads it";
  EXPECT_EQ(p.activation("q"), nullptr);
  c.recipe.layers = {wish("last", 4, [](LayerRecipe& l) { l.keep_float = true; })};
  p = c.plan();
  EXPECT_EQ(p.island("last")->reason, "recipe r.yaml:4 keeps it float");
  c.recipe.layers.clear();
  c.target.float_only = {{"Exp", "no table unit"}};
  p = c.plan();
  EXPECT_EQ(p.island("first")->reason.substr(0, 22), "target 'generic-int8':");
  EXPECT_TRUE(p.activations.empty());
  c.target.float_only.clear();
  c.target.float_islands = false;
  const Error e = c.error();
  EXPECT_EQ(e.message, "target 'generic-int8' runs integers only, but 2 layers would stay float");
  EXPECT_EQ(e.notes.at(0), "'ratio' (Div): division of two computed tensors has no integer form");
}

TEST(MakePlan, DivisionsSayWhyTheyStayFloat) {
  const auto reason = [](const std::string& operands) {
    Case c("graph \"g\"\nin %x: f32[1,4]\n%a = Exp(%x) node \"first\"\n%q = Div(" + operands + ") node \"ratio\"\nout %q\n", {{"x", -1.0F, 1.0F}, {"a", 0.0F, 2.55F}, {"q", 0.0F, 9.0F}});
    const Plan p = c.plan();
    return p.islands.empty() ? std::string("integer") : p.islands[0].reason;
  };
  EXPECT_EQ(reason("%a, %x"), "division of two computed tensors has no integer form");
  EXPECT_EQ(reason("%c: f32[1] = {1}, %a"), "division by a computed tensor has no integer form");
  EXPECT_EQ(reason("%a, %c: f32[1] = {0}"), "its divisor has no reciprocal: it is zero, tiny or infinite");
}

TEST(MakePlan, AnInputThatOnlyMovesIntoAnIslandStaysFloat) {
  Case c(R"(
graph "g"
in %x: f32[1,4]
in %z: f32[1,4]
%t = Reshape(%x) {shape=[2,2]}
%u = Reshape(%z) {shape=[2,2]}
%q = Div(%t, %u) node "ratio"
%y = Exp(%u)
out %q
out %y
)", {{"z", -1.0F, 1.0F}, {"y", 0.0F, 2.0F}});
  const Plan p = c.plan();
  EXPECT_EQ(p.activation("x"), nullptr);
  EXPECT_EQ(p.island("t")->reason, "follows 'x', which is float");
  EXPECT_NE(p.activation("z"), nullptr);
  EXPECT_EQ(c.sites(), (std::vector<std::string>{"z", "y"}));
}

TEST(MakePlan, ConstantOperandsAreQuantizedFromTheirValues) {
  Case c(R"(
graph "g"
in %x: f32[1,4]
const %k: f32[4] = {-1, 0, 1, 1.55}
%y = Add(%x, %k) node "add"
out %y
)", {{"x", -1.0F, 1.0F}, {"y", -2.0F, 3.0F}});
  const Plan p = c.plan();
  EXPECT_EQ(p.activation("k")->params, QuantParams::per_tensor(DType::kI8, 0.01F, -28));
  EXPECT_EQ(p.activation("k")->decided_by, "constant: its exact minimum and maximum");
}

TEST(Verify, FindsWhatAHandMayBreak) {
  Case c(kMovement, {{"x", -4.0F, 4.0F}, {"m", 0.1F, 0.9F}, {"s", 0.0F, 2.7F}});
  const Plan good = c.plan();
  const auto message = [&](const auto& edit) {
    Plan p = good;
    edit(p);
    const Status s = p.verify(c.graph, c.target);
    EXPECT_FALSE(s.has_value());
    return s ? std::string() : s.error().message;
  };
  EXPECT_EQ(message([](Plan& p) { p.activations[1].value = "nope"; }), "the plan does not fit: there is no value 'nope'");
  EXPECT_EQ(message([](Plan& p) { p.activations.pop_back(); }), "the plan does not fit: 's' of layer 's' (Exp) has no scale");
  EXPECT_EQ(message([](Plan& p) { p.activations[3].params.scale[0] = 1; }), "the plan does not fit: Transpose 't' needs one scale, but 'm' is i8 scale=0.00390625 zp=-128 and 't' is i8 scale=1 zp=-128; it is also that of 'a'");
  EXPECT_EQ(message([](Plan& p) { p.target = "other"; }), "the plan was made for target 'other', not for 'generic-int8'");
  EXPECT_TRUE(message([](Plan& p) { p.graph_hash = 7; }).find("the plan was made for graph 0000000000000007") == 0);
}

TEST(Explain, PrintsWhoDecided) {
  Case c(kConv, {{"x", -1.0F, 1.55F}, {"y", 0.0F, 5.1F}});
  const Plan p = c.plan();
  EXPECT_EQ(must(explain(p, &c.graph)), R"(layer  what        type                     scale  zero point       range  decided by
x      input       i8                        0.01         -28  [-1, 1.55]  recipe r.yaml: max over 4 samples
conv   weight      i8       0.00394 .. 0.0157 (3)           0              largest magnitude per channel
       bias        i32   3.94e-05 .. 0.000157 (3)           0              derived: scale of 'x' times scale of the weight
       output 'y'  i8                        0.02        -128    [0, 5.1]  recipe r.yaml: max over 4 samples
)");
  EXPECT_EQ(must(explain_json(p, &c.graph, "conv")).find("layers")->items().size(), 4U) << "with its input";
  EXPECT_EQ(explain(p, &c.graph, "conf").error().to_string(), "error: no layer matches 'conf' in the plan\n  help: did you mean 'conv'?");
}

TEST(MakePlan, TinyWeightsLeaveBiasesANormalScale) {
  for (const std::string weight : {"1e-45", "1e-38", "1e-37", "1e-36", "1e-35", "1e-34", "1e-30"}) {
    for (const std::string bias : {"0", "1e-40", "1"}) {
      const std::string text = fmt::format("graph \"g\"\nin %x: f32[1,2]\n%y = Gemm(%x, %w: f32[2,2] = {{1, -2, {0}, {0}}}, %b: f32[2] = {{0.5, {1}}})\nout %y\n", weight, bias);
      for (const float reach : {1e-30F, 1e-3F, 1.0F}) {
        Case c(text, {{"x", -reach, reach}, {"y", -2.0F, 2.0F}});
        const Plan p = c.plan();  // can be given back
        EXPECT_TRUE(std::isnormal(p.constant("y", 2)->params.scale[1])) << weight << ' ' << bias << ' ' << reach;
        c.recipe.per_channel_weights = false;
        c.plan();
      }
    }
  }
}

}  // namespace
}  // namespace narrow
