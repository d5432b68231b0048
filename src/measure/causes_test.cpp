#include "measure/causes.h"

#include <gtest/gtest.h>

#include "ops/op_def.h"
#include "recipe/recipe.h"
#include "support.h"

namespace narrow {
namespace {

// x -> Gemm a -> Relu b, all with the grid given; the comparison is filled by hand.
class Causes : public ::testing::Test {
 protected:
  Graph graph;
  Stats stats;
  Plan plan;
  Comparison comparison;

  void SetUp() override {
    const ValueId x = graph.add_input("x", DType::kF32, {1, 4});
    const ValueId w = graph.add_constant("w", Tensor::of<float>({3, 4}, {100, 0, 0, 0, 1, 0, 0, 0, 0.5F, 0, 0, 0}));
    const ValueId a = test::must(append_inferred(graph, {.name = "a", .op = "Gemm", .inputs = {x, w}}));
    graph.add_output(test::must(append_inferred(graph, {.name = "b", .op = "Relu", .inputs = {a}})));
  }

  LayerComparison& layer(const std::string& name, const std::string& op, float scale, float noise) {
    LayerComparison l{.node = name, .op = op, .value = name, .origin = {}};
    l.integer = true;
    l.params = QuantParams::per_tensor(DType::kI8, scale, 0);
    l.isolated.add(std::vector<float>{1, 1, 1, 1}, std::vector<float>{1 + noise, 1 - noise, 1 + noise, 1 - noise});
    l.cumulative = l.isolated;
    l.max = 1;
    comparison.layers.push_back(l);
    return comparison.layers.back();
  }
  ValueStats& seen(const std::string& value, const std::vector<float>& samples, std::vector<float> low, std::vector<float> high) {
    ValueStats s;
    s.value = value;
    s.min = *std::min_element(samples.begin(), samples.end());
    s.max = *std::max_element(samples.begin(), samples.end());
    s.histogram.cover(s.min, s.max);
    s.histogram.add(samples);
    s.channel_min = std::move(low);
    s.channel_max = std::move(high);
    stats.values.push_back(s);
    return stats.values.back();
  }
  SourcesByLayer sources;
  std::vector<Finding> found() const { return find_causes(graph, stats, plan, comparison, sources); }

  // Wishes can be pasted into a recipe.
  static void expect_valid(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) {
      ASSERT_FALSE(finding.wishes.empty()) << finding.why;
      for (const std::string& wish : finding.wishes) EXPECT_EQ(test::must(parse_recipe("layers: [" + wish + "]", "advice")).layers.size(), 1U);
      EXPECT_EQ(finding.advice(), finding.wishes[0]);
    }
  }
};

TEST_F(Causes, ALayerThatIsGoodAloneMayCostMostAtTheOutputs) {
  layer("a", "Gemm", 0.001F, 0.001F).output.add(std::vector<float>{1}, std::vector<float>{2});  // 60 dB alone, 0 dB at the outputs
  layer("b", "Relu", 0.05F, 0.1F).output.add(std::vector<float>{1}, std::vector<float>{1.1F});
  EXPECT_EQ(damaged_layers(comparison, 8), (std::vector<std::string>{"a", "b"}));
  comparison.layers[1].output = {};
  comparison.layers[1].output.add(std::vector<float>{1}, std::vector<float>{1.001F});
  EXPECT_EQ(damaged_layers(comparison, 8), (std::vector<std::string>{"a"}));
}

TEST_F(Causes, OrderIsByOutputThenAloneThenTotal) {
  layer("a", "Gemm", 0.01F, 0.01F);
  layer("b", "Relu", 0.01F, 0.1F);
  EXPECT_EQ(by_damage(comparison), (std::vector<std::size_t>{1, 0}));
  comparison.layers[0].output.add(std::vector<float>{1}, std::vector<float>{2});
  EXPECT_EQ(by_damage(comparison), (std::vector<std::size_t>{0, 1}));
  comparison.layers[0].moves = true;
  EXPECT_EQ(by_damage(comparison), (std::vector<std::size_t>{1}));
}

TEST_F(Causes, GoodLayersAreNotMentioned) {
  layer("a", "Gemm", 0.01F, 0.001F);  // 60 dB
  EXPECT_TRUE(found().empty());
}

TEST_F(Causes, Clipping) {
  LayerComparison& l = layer("b", "Relu", 0.01F, 0.1F);  // grid to 1.27
  l.clipped.add(Tensor::of<float>({4}, {0, 1, 1, 5}), l.params);
  l.max = 5;
  ASSERT_EQ(found().size(), 1U);
  EXPECT_EQ(found()[0].why, "25.0 % of the values are clipped: the grid ends at [-1.28, 1.27], the data reach [0, 5]");
  expect_valid(found());
}

TEST_F(Causes, OutliersAndUnevenChannels) {
  layer("b", "Relu", 1, 0.1F);  // grid [-128, 127]
  std::vector<float> values(100000, 0.5F);
  values[0] = 120;
  seen("b", values, {0, 0, 0}, {1, 1, 120});
  ASSERT_EQ(found().size(), 1U) << "one finding per layer";
  const Finding finding = found()[0];
  EXPECT_TRUE(finding.why.starts_with("outliers: 99.9 % of the values lie in [")) << finding.why;
  EXPECT_TRUE(finding.why.ends_with("; channel ranges differ: the widest is 120x the median one, and one scale serves all")) << finding.why;
  EXPECT_EQ(finding.wishes, (std::vector<std::string>{"{match: \"b\", activations: int16}", "{match: \"b\", calibration: percentile}"}));
  expect_valid({finding});
}

TEST_F(Causes, OneScaleForUnevenWeights) {
  layer("a", "Gemm", 0.01F, 0.1F);
  plan.constants.push_back({"a", 1, QuantParams::per_tensor(DType::kI8, 1, 0), ""});
  ASSERT_EQ(found().size(), 1U);
  EXPECT_EQ(found()[0].why, "weights have one scale, but the largest output channel is 100x the median one");
  expect_valid(found());
  plan.constants[0].params.axis = 0;
  ASSERT_EQ(found().size(), 1U);
  EXPECT_EQ(found()[0].why.find("weights have one scale"), std::string::npos);
}

TEST_F(Causes, OwnGridOrInputs) {
  // A step of 0.12 leaves 20 log10(1 / (0.12 / sqrt 12)) = 29.2 dB; the layer has that.
  layer("b", "Relu", 0.12F, 0.0346F);
  EXPECT_EQ(found()[0].why, "its grid is coarse for its values: the step is 0.12, a typical (rms) value 1, the largest 1; 29.2 dB alone");
  expect_valid(found());
  comparison.layers.clear();
  layer("b", "Relu", 0.01F, 0.1F);  // 50.8 dB possible, 20 found
  EXPECT_EQ(found()[0].why, "its own grid would leave 50.8 dB, it has 20.0 dB alone: the damage enters with the rounding of its input 'a'");
  EXPECT_EQ(found()[0].advice(), "{match: \"a\", activations: int16}");
  plan.activations.push_back({"a", QuantParams::per_tensor(DType::kI16, 0.01F, 0), ""});
  EXPECT_EQ(found()[0].wishes, (std::vector<std::string>{"{match: \"b\", keep: float}"})) << "its input is wide already";
}

// What was measured decides, not what the data look like.
TEST_F(Causes, WeightsOrInputs) {
  layer("a", "Gemm", 0.01F, 0.1F);
  const std::vector<float> ones{1, 1}, near{1.02F, 0.98F}, far{1.1F, 0.9F};
  sources["a"].inputs.add(ones, near);
  sources["a"].weights.add(ones, far);
  EXPECT_EQ(found()[0].why, "20.0 dB alone: the rounding of its weights leaves 20.0 dB, that of its input 'x' 34.0, its own grid 50.8");
  EXPECT_EQ(found()[0].wishes, (std::vector<std::string>{"{match: \"a\", keep: float}"}));
  expect_valid(found());
  std::swap(sources["a"].inputs, sources["a"].weights);
  EXPECT_EQ(found()[0].why, "20.0 dB alone: the rounding of its input 'x' leaves 20.0 dB, that of its weights 34.0, its own grid 50.8");
  EXPECT_EQ(found()[0].wishes, (std::vector<std::string>{"{match: \"x\", activations: int16}"}));
  expect_valid(found());
  seen("x", {0, 1, 40}, {0, 0, 0}, {1, 1, 40});  // why one scale is coarse for x
  EXPECT_EQ(found()[0].why, "20.0 dB alone: the rounding of its input 'x' (one scale, but its widest channel is 40x the median one) leaves 20.0 dB, that of its weights 34.0, its own grid 50.8");
}

TEST_F(Causes, SpreadOfAHistogram) {
  std::vector<float> values;
  for (int i = 0; i < 10000; ++i) values.push_back(static_cast<float>(i) / 10000);
  const Spread spread = spread_of(seen("x", values, {-1, 0, 0}, {0, 1, 3}), 0.1);
  EXPECT_NEAR(spread.low, 0.1, 0.001);
  EXPECT_NEAR(spread.high, 0.9, 0.001);
  EXPECT_DOUBLE_EQ(spread.channel_ratio, 3);
}

}  // namespace
}  // namespace narrow
