// The path in-process on the tiny network, and what must hold between the views of a comparison.
#include "compile/compile.h"

#include <gtest/gtest.h>

#include "artifact/artifact.h"
#include "base/file.h"
#include "compile/products.h"
#include "measure/compare.h"
#include "run/executor.h"
#include "scene.h"

namespace narrow {
namespace {

using test::must;
using test::Scene;

struct Compiled {
  Scene scene = Scene::ready();
  Progress progress;
  CompileResult result;
  explicit Compiled(std::int64_t sensitivity = 0, const std::string& output = {})
      : result(must(compile({.model = scene.path("net.onnx"),
                             .data = {scene.path("data.npy")},
                             .samples = 32,
                             .compare_samples = 4,
                             .sensitivity_samples = sensitivity,
                             .output = output.empty() ? output : scene.path(output)},
                            progress))) {}
  const LayerComparison& layer(const std::string& node) const {
    for (const LayerComparison& l : result.comparison.layers) {
      if (l.node == node) return l;
    }
    throw std::runtime_error("no layer " + node);
  }
};

TEST(Compile, KeepsEveryProductOfThePath) {
  const Compiled c;
  EXPECT_EQ(c.result.stats.samples, 32U);
  EXPECT_EQ(c.result.stats.graph_hash, c.result.graph.hash());
  EXPECT_EQ(c.result.plan.graph_hash, c.result.graph.hash());
  must(c.result.network.verify());
  EXPECT_EQ(c.result.comparison.samples, 4);
  EXPECT_EQ(c.result.compared_on, "4 samples that calibration did not see");
  ASSERT_EQ(c.result.data.size(), 2U);
  EXPECT_TRUE(c.result.data[1].starts_with("x as fed: min -0.99")) << c.result.data[1];
  ASSERT_EQ(c.progress.times().size(), kPhases.size());
  for (std::size_t i = 0; i < kPhases.size(); ++i) EXPECT_EQ(c.progress.times()[i].name, kPhases[i]);
}

TEST(Compile, TheArtifactIsTheIntegerNetwork) {
  const Compiled c(0, "net");
  const Artifact artifact = must(read_artifact(c.scene.path("net.narrow")));
  EXPECT_EQ(artifact.contents.graph.hash(), c.result.network.hash());
  EXPECT_EQ(artifact.contents.plan_hash, c.result.plan.hash());
  EXPECT_EQ(artifact.contents.report.find("seconds"), std::string::npos) << "the same graph, plan and target give the same bytes";
  EXPECT_TRUE(pack(c.result, "net") == c.scene.read("net.narrow"));
}

TEST(Compile, TheFirstLayerAloneIsTheFirstLayer) {
  const Compiled c;
  const LayerComparison& first = c.layer("conv");
  EXPECT_EQ(first.isolated.noise_power(), first.cumulative.noise_power()) << "its inputs are the same in both views";
  const LayerComparison& last = c.layer("gemm");
  EXPECT_NE(last.isolated.noise_power(), last.cumulative.noise_power());
  EXPECT_EQ(last.cumulative.noise_power(), c.result.comparison.outputs[0].metrics.noise_power());
}

TEST(Compile, SensitivityIsMeasuredOnAsManySamplesAsItSays) {
  const Compiled c(7);
  EXPECT_EQ(c.result.comparison.samples, 7) << "more than are compared otherwise";
  const Compiled one(1);
  EXPECT_EQ(one.result.comparison.samples, 4);
  EXPECT_GT(c.layer("gemm").output.noise_power(), one.layer("gemm").output.noise_power()) << "sums over samples";
}

TEST(Compile, WhatALayerCostsAtTheOutputs) {
  const Compiled c(4);
  const LayerComparison& last = c.layer("gemm");
  EXPECT_EQ(last.output.noise_power(), last.isolated.noise_power()) << "the last layer alone is its own cost";
  const LayerComparison& flatten = c.layer("flatten");
  EXPECT_TRUE(flatten.moves);
  EXPECT_EQ(flatten.output.elements(), 0U);
  for (const char* node : {"conv", "depthwise", "pool"}) {
    EXPECT_EQ(c.layer(node).output.elements(), 20U) << node;
    EXPECT_GT(c.layer(node).output.sqnr_db(), 30) << node;
  }
}

TEST(Compile, ANetworkComparedWithItselfIsExact) {
  const Compiled c;
  class One : public Dataset {
   public:
    std::int64_t size() const override { return 1; }
    Result<Sample> load(std::int64_t) const override {
      std::mt19937_64 rng(3);
      return Sample{.name = "one", .inputs = {test::random_tensor({1, 3, 8, 8}, rng)}};
    }
    std::string name_of(std::int64_t) const override { return "one"; }
    std::string formula() const override { return ""; }
  };
  Progress progress;
  const Comparison same = must(compare_layers(c.result.graph, c.result.graph, One(), {}, progress));
  EXPECT_EQ(same.samples, 1);
  EXPECT_EQ(same.layers.size(), 6U);
  for (const LayerComparison& layer : same.layers) {
    EXPECT_EQ(layer.cumulative.noise_power(), 0) << layer.node;
    EXPECT_EQ(layer.isolated.noise_power(), 0) << layer.node;
    EXPECT_FALSE(layer.integer);
  }
  EXPECT_EQ(same.argmax_agreement(), 100);
}

TEST(Compile, InterruptLeavesAnError) {
  const Scene scene = Scene::ready();
  Progress progress;
  request_cancel();
  const auto result = compile({.model = scene.path("net.onnx"), .data = {scene.path("data.npy")}, .output = scene.path("net")}, progress);
  clear_cancel();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().exit_code, ExitCode::kInterrupted);
  EXPECT_FALSE(scene.exists("net.narrow"));
}

}  // namespace
}  // namespace narrow
