#include "run/executor.h"

#include "run/arena.h"
#include "support.h"

namespace narrow {
namespace {

TEST(Executor, RunsNodesInOrderAndShowsThemToTheObserver) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, {1, 4});
  const ValueId a = test::must(append_inferred(graph, {.name = "a", .op = "Relu", .inputs = {x}}));
  const ValueId b = test::must(append_inferred(graph, {.name = "b", .op = "Relu", .inputs = {a}}));
  graph.add_output(b);
  test::must(graph.verify());
  Executor executor(graph);
  std::vector<std::string> seen;
  const Tensor in = Tensor::of<float>({1, 4}, {-1, 2, -3, 4});
  const auto out = test::must(executor.run(std::vector<Tensor>{in}, [&](ValueId v, const Tensor&) { seen.push_back(graph.value(v).name); }));
  EXPECT_TRUE(out[0].same_bytes(Tensor::of<float>({1, 4}, {0, 2, 0, 4})));
  EXPECT_EQ(seen, (std::vector<std::string>{"x", "a", "b"}));
}

TEST(Executor, NamesTheInputOfWrongShape) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, {1, 4});
  graph.add_output(test::must(append_inferred(graph, {.name = "a", .op = "Relu", .inputs = {x}})));
  Executor executor(graph);
  const auto out = executor.run(std::vector<Tensor>{Tensor::zeros(DType::kF32, {2, 4})});
  ASSERT_FALSE(out.has_value());
  EXPECT_EQ(out.error().message, "input 'x' is f32[2,4], wanted f32[1,4]");
}

TEST(Arena, BlocksAliveTogetherNeverOverlap) {
  NARROW_SEEDED(rng);
  std::vector<ArenaBlock> blocks(200);
  std::size_t sum = 0;
  for (ArenaBlock& b : blocks) {
    b.bytes = rng() % 10000;
    b.first = static_cast<std::int64_t>(rng() % 100);
    b.last = b.first + static_cast<std::int64_t>(rng() % 5);
    sum += b.bytes;
  }
  const std::size_t total = plan_arena(blocks);
  EXPECT_LT(total, sum / 3);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const ArenaBlock &a = blocks[i], &b = blocks[j];
      if (a.bytes == 0 || b.bytes == 0 || a.last < b.first || b.last < a.first) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) << i << " " << j;
    }
    EXPECT_LE(blocks[i].offset + blocks[i].bytes, total);
  }
}

}  // namespace
}  // namespace narrow
