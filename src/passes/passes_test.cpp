#include "passes/passes.h"

#include "graph/text.h"
#include "ops/op_def.h"
#include "run/executor.h"
#include "support.h"

namespace narrow {
namespace {

Graph parsed(std::string_view text) {
  return test::must(parse_graph(text, {.infer = [](Graph& graph, NodeId node, bool typed) -> Status { return typed ? Status() : infer_node(graph, node); }}));
}

Graph small() {
  return parsed(R"(graph "g"
    in %x: f32[1,4,4,2]
    %c = Conv(%x, %w: f32[2,1,1,2] = {1, 2, 3, 4}) {pads=[0,0,0,0], strides=[1,1], dilations=[1,1], group=1}
    %b = BatchNormalization(%c, %s: f32[2] = {2, 3}, %t: f32[2] = {1, 1}) {axis=3}
    %y = Relu(%b)
    out %y)");
}

TEST(Passes, ReportWhatTheyDidAndLeaveAGraphAtRest) {
  Graph g = small();
  std::vector<std::string> seen;
  const auto reports = test::must(run_passes(g, {.observer = [&](std::string_view pass, const Graph& graph) {
                                                  seen.emplace_back(pass);
                                                  test::must(graph.verify());
                                                }}));
  ASSERT_EQ(reports.size(), all_passes().size());
  std::size_t total = 0;
  for (const PassReport& r : reports) {
    total += r.rewrites;
    EXPECT_EQ(r.rewrites, r.name == "fold-affine" || r.name == "fuse-activation" ? 1U : 0U) << r.name;
  }
  EXPECT_EQ(total, 2U);
  EXPECT_EQ(seen, (std::vector<std::string>{"fold-affine", "fuse-activation"}));
  EXPECT_EQ(g.order().size(), 1U);
  EXPECT_EQ(g.node(g.order()[0]).origin.size(), 0U);  // the text gave none

  const std::uint64_t hash = g.hash();
  for (const PassReport& r : test::must(run_passes(g))) EXPECT_EQ(r.rewrites, 0U) << r.name;
  EXPECT_EQ(g.hash(), hash);
}

TEST(Passes, CanBeDisabledAndChosen) {
  Graph g = small();
  test::must(run_passes(g, {.disabled = {"fold-affine", "standalone-affine"}}));
  EXPECT_EQ(g.order().size(), 3U);
  test::must(run_passes(g, {.only = {"fold-affine"}}));
  EXPECT_EQ(g.order().size(), 2U);
  const auto wrong = run_passes(g, {.disabled = {"fold-afine"}});
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().to_string(), "error: there is no pass 'fold-afine'\n  help: did you mean 'fold-affine'?");
}

TEST(Passes, RewrittenConstantsKeepTheirNames) {
  // Both convolutions read one weight; each gets its own, and the names stay related to the original.
  Graph g = parsed(R"(graph "g"
    in %x: f32[1,4,4,2]
    const %w: f32[2,1,1,2] = {1, 2, 3, 4}
    %a = Conv(%x, %w) {pads=[0,0,0,0], strides=[1,1], dilations=[1,1], group=1}
    %b = Conv(%a, %w) {pads=[0,0,0,0], strides=[1,1], dilations=[1,1], group=1}
    %y = Mul(%b, %s: f32[2] = {2, 3})
    %t = Transpose(%y) {perm=[0,3,1,2]}
    %z = Add(%t, %offset: f32[2,4,4] = rand(1))
    %u = Transpose(%z) {perm=[0,2,3,1]}
    %v = Conv(%u, %k: f32[1,1,1,2] = {1, 1}) {pads=[0,0,0,0], strides=[1,1], dilations=[1,1], group=1}
    out %v)");
  test::must(run_passes(g));
  std::vector<std::string> names;
  for (const ValueId id : g.live_values()) {
    if (g.value(id).is_constant()) names.push_back(g.value(id).name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"w", "k", "offset", "w_1"}));
  EXPECT_TRUE(g.value(g.find_value("w")).constant.same_bytes(Tensor::of<float>({2, 1, 1, 2}, {1, 2, 3, 4})));
  EXPECT_TRUE(g.value(g.find_value("w_1")).constant.same_bytes(Tensor::of<float>({2, 1, 1, 2}, {2, 4, 9, 12})));
}

TEST(Passes, BatchNormalizationOfRandomConvolutionsIsFolded) {
  NARROW_SEEDED(rng);
  for (int i = 0; i < 20; ++i) {
    const std::int64_t groups = 1 + static_cast<std::int64_t>(rng() % 3), per_group = 1 + static_cast<std::int64_t>(rng() % 3), out = groups * (1 + static_cast<std::int64_t>(rng() % 3));
    const std::int64_t channels = groups * per_group, pad = static_cast<std::int64_t>(rng() % 2);
    Graph g = parsed(fmt::format(R"(graph "g"
      in %x: f32[1,5,5,{0}]
      %a = BatchNormalization(%x, %s1: f32[{0}] = rand({4}), %t1: f32[{0}] = rand({5})) {{axis=3}}
      %c = Conv(%a, %w: f32[{1},3,3,{2}] = rand({6})) {{pads=[{3},{3},{3},{3}], strides=[1,1], dilations=[1,1], group={7}}}
      %y = BatchNormalization(%c, %s2: f32[{1}] = rand({8}), %t2: f32[{1}] = rand({9})) {{axis=3}}
      out %y)", channels, out, per_group, pad, i, i + 100, i + 200, groups, i + 300, i + 400));
    Graph folded = g;
    test::must(run_passes(folded));
    EXPECT_EQ(folded.order().size(), pad == 0 ? 1U : 2U);  // padded: the first one becomes a convolution of its own
    const std::vector<Tensor> x{test::random_tensor({1, 5, 5, channels}, rng)};
    const Tensor before = test::must(Executor(g, {.normative = true}).run(x))[0], after = test::must(Executor(folded, {.normative = true}).run(x))[0];
    EXPECT_LT(test::max_abs_difference(before, after), 1e-5);
  }
}

}  // namespace
}  // namespace narrow
