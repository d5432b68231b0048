#include "measure/trials.h"

#include <limits>

#include "calibrate/calibrate.h"
#include "lower/lower.h"
#include "ops/op_def.h"
#include "support.h"

namespace narrow {
namespace {

using test::must;

class MemoryDataset : public Dataset {
 public:
  std::vector<Tensor> tensors;
  std::int64_t size() const override { return std::ssize(tensors); }
  Result<Sample> load(std::int64_t index) const override {
    Sample sample;
    sample.inputs.push_back(tensors[static_cast<std::size_t>(index)]);
    return sample;
  }
  std::string name_of(std::int64_t index) const override { return std::to_string(index); }
  std::string formula() const override { return ""; }
};

// x[1,8] -> Gemm a -> Relu b -> Gemm c. The weights of a have one outlier per row, so that rounding the others costs much; those of
// c are exact on their grid.
class TrialsTest : public ::testing::Test {
 protected:
  Graph graph;
  MemoryDataset data;
  Stats stats;
  Recipe recipe;
  Target target;
  Plan plan;
  Graph network;
  std::vector<Sample> samples;

  void SetUp() override {
    NARROW_SEEDED(rng);
    Tensor wa = test::random_tensor({8, 8}, rng, -0.05F, 0.05F), wc(DType::kF32, {4, 8});
    for (std::size_t row = 0; row < 8; ++row) wa.span<float>()[row * 8] = 5;
    for (std::size_t i = 0; i < 32; ++i) wc.span<float>()[i] = i % 8 == 0 ? 127.0F / 128 : static_cast<float>(i % 5) / 128;
    const ValueId x = graph.add_input("x", DType::kF32, {1, 8});
    const ValueId a = must(append_inferred(graph, {.name = "a", .op = "Gemm", .inputs = {x, graph.add_constant("wa", wa)}}));
    const ValueId b = must(append_inferred(graph, {.name = "b", .op = "Relu", .inputs = {a}}));
    graph.add_output(must(append_inferred(graph, {.name = "c", .op = "Gemm", .inputs = {b, graph.add_constant("wc", wc)}})));
    for (int i = 0; i < 16; ++i) {
      data.tensors.push_back(test::random_tensor({1, 8}, rng));
      data.tensors.back().span<float>()[0] = 0;  // what meets the outliers
    }
    stats = must(calibrate(graph, quantizer_sites(graph, recipe, target), data));
    Diagnostics none;
    plan = must(make_plan(graph, stats, recipe, target, none));
    network = must(lower(graph, plan, target));
    for (int i = 0; i < 16; ++i) samples.push_back(must(data.load(i)));
  }
};

TEST_F(TrialsTest, SourcesOfNoise) {
  const std::vector<std::string> layers{"a", "b", "c", "unknown"};
  const SourcesByLayer sources = must(measure_sources(graph, plan, layers, samples));
  ASSERT_EQ(sources.size(), 2U) << "linear layers only";
  EXPECT_LT(sources.at("a").weights.sqnr_db(), 20);
  EXPECT_GT(sources.at("a").inputs.sqnr_db(), 30);
  EXPECT_EQ(sources.at("c").weights.sqnr_db(), std::numeric_limits<double>::infinity()) << "its weights are exact";
  EXPECT_LT(sources.at("c").inputs.sqnr_db(), 60);
  EXPECT_EQ(sources.at("a").weights.elements(), 16U * 8);
}

TEST_F(TrialsTest, WishesAreMeasured) {
  const Trials trials = must(Trials::begin(graph, stats, recipe, target, samples));
  const double before = must(trials.measure(network));
  const std::vector<std::string> nothing, keep{"{match: \"a\", keep: float}"}, wide{"{match: \"*\", activations: int16}"}, unknown{"{match: \"z\", keep: float}"};
  EXPECT_EQ(must(trials.with(nothing)), before);
  EXPECT_GT(must(trials.with(keep)), before + 10);
  EXPECT_LT(must(trials.with(wide)), before + 1) << "the weights are what costs";
  EXPECT_EQ(must(trials.with(unknown)), std::nullopt);
  target.activations = {DType::kI8};
  EXPECT_EQ(must(trials.with(wide)), std::nullopt) << "the target has no 16-bit activations";
}

TEST_F(TrialsTest, TheMostHelpfulFirst) {
  const Trials trials = must(Trials::begin(graph, stats, recipe, target, samples));
  Advice advice;
  advice.findings.push_back({.layer = "c", .why = "", .wishes = {"{match: \"c\", activations: int16}", "{match: \"z\", keep: float}"}});
  advice.findings.push_back({.layer = "a", .why = "", .wishes = {"{match: \"a\", activations: int16}", "{match: \"a\", keep: float}"}});
  must(try_out(advice, trials, network, plan));
  EXPECT_EQ(advice.before_db, must(trials.measure(network)));
  EXPECT_EQ(advice.findings[0].layer, "a");
  EXPECT_EQ(advice.findings[0].wishes, (std::vector<std::string>{"{match: \"a\", keep: float}"})) << "the better of two";
  EXPECT_GT(*advice.findings[0].output_db, *advice.before_db + 10);
  EXPECT_EQ(advice.findings[1].wishes, (std::vector<std::string>{"{match: \"c\", activations: int16}"})) << "what is refused is not advised";
  EXPECT_LT(*advice.weights_only_db, *advice.before_db + 1);
  EXPECT_EQ(advice.samples, 16);
  EXPECT_TRUE(advice.points.empty());
}

TEST_F(TrialsTest, EffortIsBounded) {
  EXPECT_EQ(trial_samples(graph), 32);
  Graph large;
  const ValueId x = large.add_input("x", DType::kF32, {1, 512, 512, 64});
  large.add_output(must(append_inferred(large, {.name = "r", .op = "Relu", .inputs = {x}})));
  EXPECT_EQ(trial_samples(large), 2);
}

}  // namespace
}  // namespace narrow
