// What becomes of the recipe's wishes: the later wins, also where values share a scale; none is dropped in silence.
#include "plan/wishes.h"

#include <functional>

#include "planning.h"

namespace narrow {
namespace {

using test::Case;
using test::wish;

using Set = std::function<void(LayerRecipe&)>;
Set scale(double s, std::int64_t zero_point = 0) { return [=](LayerRecipe& l) { l.scale = std::pair{s, zero_point}; }; }
Set range(double lo, double hi) { return [=](LayerRecipe& l) { l.range = std::pair{lo, hi}; }; }
Set type(DType dtype) { return [=](LayerRecipe& l) { l.activations = dtype; }; }
Set integer() { return [](LayerRecipe& l) { l.keep_float = false; }; }
Set keep_float() { return [](LayerRecipe& l) { l.keep_float = true; }; }
Set weight_bits(int bits) { return [=](LayerRecipe& l) { l.weight_bits = bits; }; }
Set calibration(const char* name) { return [=](LayerRecipe& l) { l.calibrator = name; }; }

constexpr std::string_view kTied = R"(
graph "g"
in %x: f32[1,4]
%g = Neg(%x)
%f = Reshape(%g) {shape=[2,2]}
%y = Exp(%f)
out %y
)";
Case tied() { return Case(kTied, {{"x", -1.0F, 1.55F}, {"g", -1.55F, 1.0F}, {"y", 0.0F, 5.1F}}); }

TEST(Wishes, OfTwoGridsOnOneScaleTheLaterWins) {
  const struct {
    Set g, f;
    const char* name;
    QuantParams of_g, of_f;
  } kinds[] = {
      {scale(0.25), scale(0.5, 3), "scale", QuantParams::per_tensor(DType::kI8, 0.25F, 0), QuantParams::per_tensor(DType::kI8, 0.5F, 3)},
      {range(-1, 1.55), range(0, 5.1), "range", QuantParams::per_tensor(DType::kI8, 0.01F, -28), QuantParams::per_tensor(DType::kI8, 0.02F, -128)},
  };
  for (const auto& g : kinds) {
    for (const auto& f : kinds) {
      Case c = tied();
      c.recipe.layers = {wish("f", 2, f.f), wish("g", 3, g.g)};
      Plan p = c.plan();
      EXPECT_EQ(p.activation("g")->params, g.of_g);
      EXPECT_EQ(p.activation("f")->params, g.of_g);
      EXPECT_EQ(p.activation("g")->decided_by, "recipe r.yaml:3");
      EXPECT_EQ(p.activation("f")->decided_by, "constraint: same as 'g' (Reshape 'f')");
      EXPECT_EQ(c.warnings, std::vector<std::string>{fmt::format("warning: the {} of 'f' (recipe r.yaml:2) gives way to that of 'g' (recipe r.yaml:3): the two share one grid, and later entries win\n"
                                                                 "  --> r.yaml:2:1\n  help: give both the same, or leave one of them out", f.name)});
      c.recipe.layers = {wish("g", 2, g.g), wish("f", 3, f.f)};
      p = c.plan();
      EXPECT_EQ(p.activation("g")->params, f.of_f);
      EXPECT_EQ(p.activation("f")->params, f.of_f);
      EXPECT_EQ(p.activation("g")->decided_by, "constraint: same as 'f' (Reshape 'f')");
      EXPECT_EQ(p.activation("f")->decided_by, "recipe r.yaml:3");
      ASSERT_EQ(c.warnings.size(), 1U);
      EXPECT_TRUE(c.warnings[0].starts_with(fmt::format("warning: the {} of 'g' (recipe r.yaml:2) gives way to that of 'f' (recipe r.yaml:3): ", g.name))) << c.warnings[0];
    }
  }
}

TEST(Wishes, OfTwoTypesOnOneScaleTheLaterWins) {
  for (const auto& [first, later] : {std::pair(DType::kI16, DType::kI8), std::pair(DType::kI8, DType::kI16), std::pair(DType::kU8, DType::kI8)}) {
    for (const bool swapped : {false, true}) {
      Case c = tied();
      c.recipe.layers = {wish(swapped ? "g" : "f", 2, type(first)), wish(swapped ? "f" : "g", 3, type(later))};
      const Plan p = c.plan();
      EXPECT_EQ(p.activation("g")->params.dtype, later);
      EXPECT_EQ(p.activation("f")->params.dtype, later);
      EXPECT_EQ(p.activation("g")->decided_by, fmt::format("recipe r.yaml: max over 4 samples; {} by recipe r.yaml:3", name_of(later)));
      ASSERT_EQ(c.warnings.size(), 1U);
      EXPECT_TRUE(c.warnings[0].starts_with(fmt::format("warning: the type of '{}' (recipe r.yaml:2) gives way to that of '{}' (recipe r.yaml:3): ", swapped ? "g" : "f", swapped ? "f" : "g"))) << c.warnings[0];
    }
  }
}

TEST(Wishes, ThatAgreeOnOneScaleAreNoConflict) {
  for (const Set& set : {scale(0.25), range(-1, 2), type(DType::kI16)}) {
    Case c = tied();
    c.recipe.layers = {wish("f", 2, set), wish("g", 3, set)};
    c.plan();
    EXPECT_EQ(c.warnings, std::vector<std::string>{});
    c.recipe.layers = {wish("*", 2, set)};
    c.plan();
    EXPECT_EQ(c.warnings, std::vector<std::string>{});
  }
}

TEST(Wishes, AnEntryThatLosesManyTimesIsToldOnce) {
  Case c(R"(
graph "g"
in %x: f32[1,4]
%g = Neg(%x)
%f1 = Reshape(%g) {shape=[2,2]}
%f2 = Transpose(%f1) {perm=[1,0]}
%y = Exp(%f2)
out %y
)", {{"x", -1.0F, 1.0F}, {"g", -1.0F, 1.0F}, {"y", 0.0F, 5.0F}});
  c.recipe.layers = {wish("f*", 2, scale(0.5)), wish("g", 3, scale(0.25))};
  EXPECT_EQ(c.plan().activation("f2")->params.scale[0], 0.25F);
  EXPECT_EQ(c.warnings.size(), 1U);
}

constexpr std::string_view kTail = R"(
graph "g"
in %x: f32[1,4]
%box = Exp(%x)
%score = Sigmoid(%x)
%c = Concat(%box, %score) {axis=1} node "cat"
%r = Reshape(%c) {shape=[2,4]}
out %r
)";

TEST(Wishes, ForIntegersReachIntoTheOutputTail) {
  for (const char* match : {"cat", "r"}) {
    for (const Set& set : {integer(), scale(0.25), range(-1, 30), type(DType::kI16)}) {
      Case c(kTail, {{"x", -1.0F, 1.0F}, {"box", 0.0F, 30.0F}});
      EXPECT_EQ(c.plan().islands.size(), 2U);
      c.recipe.layers = {wish(match, 2, set)};
      const Plan p = c.plan();
      EXPECT_TRUE(p.islands.empty()) << match;
      ASSERT_NE(p.activation("c"), nullptr);
      EXPECT_EQ(p.activation("c")->params, p.activation("r")->params);
      const LayerRecipe& wanted = c.recipe.layers[0];
      const ActivationPlan& wished = *p.activation(match == std::string("r") ? "r" : "c");
      EXPECT_EQ(wished.params.dtype, wanted.activations.value_or(DType::kI8));
      EXPECT_EQ(wished.decided_by == "recipe r.yaml:2", wanted.range || wanted.scale) << wished.decided_by;
      EXPECT_EQ(wished.params == QuantParams::per_tensor(DType::kI8, 0.25F, 0), wanted.scale.has_value());
      EXPECT_EQ(c.warnings, std::vector<std::string>{});
    }
  }
  Case c(kTail, {{"x", -1.0F, 1.0F}, {"box", 0.0F, 30.0F}});
  c.recipe.layers = {wish("box", 2, type(DType::kI8)), wish("cat", 3, calibration("max"))};
  EXPECT_EQ(c.plan().islands.size(), 2U) << "no wish for the tail's integers";
}

constexpr std::string_view kIslands = R"(
graph "g"
in %x: f32[1,4]
in %z: f32[1,4]
%a = Exp(%x) node "first"
%q = Div(%a, %z) node "ratio"
%t = Reshape(%a) {shape=[2,2]} node "flat"
%y = Gemm(%t, %w: f32[2,2] = {1, 2, 3, 4}) node "fc"
out %q
out %y
)";

TEST(Wishes, WithoutEffectAreTold) {
  const std::string no_form = "'ratio' (Div) stays float (division of two computed tensors has no integer form)";
  const auto place = [](int line) { return fmt::format("\n  --> r.yaml:{}:1", line); };
  const auto warning = [&](const char* key, const char* match, const std::string& why) {
    return fmt::format("warning: '{}' has no effect on the layers '{}': {}{}\n  help: remove it, or match other layers", key, match, why, place(7));
  };
  const struct {
    const char* match;
    Set set;
    std::string said;  // empty: nothing
  } cases[] = {
      {"ratio", integer(), "warning: " + no_form + " although the recipe wants it in integers" + place(7)},
      {"*", integer(), "warning: " + no_form + " although the recipe wants it in integers" + place(7)},
      {"first", integer(), ""},
      {"ratio", type(DType::kI16), warning("activations", "ratio", no_form)},
      {"ratio", range(-1, 1), warning("range", "ratio", no_form)},
      {"ratio", scale(0.5), warning("scale", "ratio", no_form)},
      {"ratio", weight_bits(4), warning("weights", "ratio", no_form)},
      {"ratio", calibration("kl"), warning("calibration", "ratio", no_form)},
      {"z", type(DType::kI16), warning("activations", "z", "none of them computes real numbers")},
      {"x", type(DType::kI16), ""},
      {"*", type(DType::kI16), ""},
      {"first", weight_bits(4), warning("weights", "first", "none of them has weights")},
      {"f*", weight_bits(4), ""},
      {"flat", calibration("kl"), warning("calibration", "flat", "their ranges are given, fixed, or those of what they move")},
      {"f*", calibration("kl"), ""},
  };
  for (const auto& each : cases) {
    Case c(kIslands, {{"x", -1.0F, 1.0F}, {"a", 0.0F, 2.7F}, {"y", 0.0F, 30.0F}});
    c.recipe.layers = {wish(each.match, 7, each.set)};
    c.plan();
    EXPECT_EQ(c.warnings, each.said.empty() ? std::vector<std::string>{} : std::vector<std::string>{each.said});
  }
}

TEST(Wishes, ForIntegersMayBeTakenBack) {
  Case c(kIslands, {{"x", -1.0F, 1.0F}, {"a", 0.0F, 2.7F}, {"y", 0.0F, 30.0F}});
  c.recipe.layers = {wish("f*", 2, integer()), wish("fc", 3, keep_float())};
  EXPECT_EQ(c.plan().island("fc")->reason, "recipe r.yaml:3 keeps it float");
  EXPECT_EQ(c.warnings, std::vector<std::string>{});
}

TEST(Wishes, ForAsymmetricActivationsNeedATargetThatHasThem) {
  Case c = tied();
  c.recipe.symmetric_activations = false;
  c.plan();
  c.target.symmetric_activations = true;
  EXPECT_EQ(c.error().message, "the recipe wants activations that are not symmetric, but target 'generic-int8' has symmetric ones only");
}

TEST(Wishes, AFunctionThatTheTargetLacksIsNotFusedEither) {
  constexpr std::string_view kFused = R"(
graph "g"
in %x: f32[1,4]
%a = Gemm(%x, %w: f32[4,4] = rand(1)) {activation="SiLU"} node "gated"
%b = Gemm(%a, %w2: f32[4,4] = rand(2)) {activation="Relu"} node "clamped"
out %b
)";
  Case c(kFused, {{"x", -1.0F, 1.0F}, {"a", -0.3F, 2.0F}, {"b", 0.0F, 2.0F}});
  c.target.float_only = {{"SiLU", "no table"}, {"Relu", "no such unit"}};
  const Plan p = c.plan();
  ASSERT_EQ(p.islands.size(), 1U);
  EXPECT_EQ(p.islands[0], (IslandPlan{"gated", "its activation SiLU is float on target 'generic-int8': no table"}));
}

}  // namespace
}  // namespace narrow
