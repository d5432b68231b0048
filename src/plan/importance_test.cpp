#include "plan/importance.h"

#include "calibrate/observe.h"
#include "ops/parse_network.h"
#include "support.h"

namespace narrow {
namespace {

using test::must;

// Channels with variances 1, 4 (values +-1, +-2).
ValueStats two_channels() {
  ValueStats stats;
  stats.value = "x";
  observe(Tensor::of<float>({2, 2}, {1, 2, -1, -2}), stats);
  return stats;
}

std::vector<double> importance_in(std::string_view text) {
  const Graph graph = must(parse_network(text));
  std::vector<NodeChoice> choices(graph.node_slots());
  for (NodeChoice& c : choices) c.integer = true;
  return channel_importance(graph, graph.find_value("x"), two_channels(), choices);
}

TEST(Importance, RelativeErrorOfALinearReader) {
  // Output 0: variance 1 * 1 + 9 * 4 = 37; output 1: 4 * 1 + 0 = 4. Mean of W^2 / variance.
  const std::vector<double> l = importance_in("graph \"g\"\nin %x: f32[2,2]\n%y = Gemm(%x, %w: f32[2,2] = {1, 3, 2, 0})\nout %y\n");
  ASSERT_EQ(l.size(), 2U);
  EXPECT_DOUBLE_EQ(l[0], (1.0 / 37 + 4.0 / 4) / 2);
  EXPECT_DOUBLE_EQ(l[1], (9.0 / 37 + 0) / 2);
}

TEST(Importance, DepthwiseReadersBalanceTheChannels) {
  const std::vector<double> l = importance_in(
      "graph \"g\"\nin %x: f32[1,1,2,2]\n%y = Conv(%x, %w: f32[2,1,1,1] = {7, 0.1}) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=2}\nout %y\n");
  EXPECT_DOUBLE_EQ(l.at(0), 0.5 / 1);
  EXPECT_NEAR(l.at(1), 0.5 / 4, 1e-12);
}

TEST(Importance, BehindADepthwiseReader) {
  // 1x1 filters {1, 1} see channels that the depthwise layer has made 7 and 0.1 times as large: W^2 = 49 and 0.01.
  const std::vector<double> l = importance_in(
      "graph \"g\"\nin %x: f32[1,1,2,2]\n%d = Conv(%x, %k: f32[2,1,1,1] = {7, 0.1}) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=2}\n"
      "%y = Conv(%d, %w: f32[1,1,1,2] = {1, 1}) {strides=[1,1], pads=[0,0,0,0], dilations=[1,1], group=1}\nout %y\n");
  EXPECT_NEAR(l.at(0), 49 / (49 + 0.01 * 4), 1e-9);
  EXPECT_NEAR(l.at(1), 0.01 / (49 + 0.01 * 4), 1e-9);
}

TEST(Importance, OtherReadersCountTheValueItself) {
  const std::vector<double> l = importance_in("graph \"g\"\nin %x: f32[2,2]\n%y = Gemm(%x, %w: f32[1,2] = {1, 0})\n%z = Exp(%x)\nout %y\nout %z\n");
  EXPECT_DOUBLE_EQ(l.at(0), 1 + 1 / 2.5 / 2);
  EXPECT_DOUBLE_EQ(l.at(1), 0 + 1 / 2.5 / 2);
  EXPECT_TRUE(importance_in("graph \"g\"\nin %x: f32[2,2]\n%z = Exp(%x)\nout %z\n").empty());
}

}  // namespace
}  // namespace narrow
