#include "calibrate/calibrate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>

#include "base/file.h"
#include "ops/op_def.h"
#include "base/parallel.h"
#include "support.h"

namespace narrow {
namespace {

using test::must;

// Samples made in memory; every loaded one is counted while it lives through its keeper.
class MemoryDataset : public Dataset {
 public:
  std::vector<Tensor> tensors;
  std::vector<std::int64_t> broken;
  std::int64_t cancel_at = -1;
  std::int64_t size() const override { return static_cast<std::int64_t>(tensors.size()); }
  Result<Sample> load(std::int64_t index) const override {
    if (index == cancel_at) request_cancel();
    if (std::count(broken.begin(), broken.end(), index) > 0) return error("'{}' is not an image", name_of(index)).with_help("convert it to png");
    Sample s;
    s.name = name_of(index);
    auto* storage = new Tensor(tensors[static_cast<std::size_t>(index)]);
    const int alive = ++alive_;
    for (int most = most_alive_; alive > most && !most_alive_.compare_exchange_weak(most, alive);) {}
    const std::shared_ptr<const void> keeper(storage, [this](const Tensor* t) { --alive_; delete t; });
    s.inputs.push_back(Tensor::view(DType::kF32, storage->shape(), storage->raw(), keeper));
    return s;
  }
  std::string name_of(std::int64_t index) const override { return fmt::format("s{}", index); }
  std::string formula() const override { return ""; }
  int most_alive() const { return most_alive_; }

 private:
  mutable std::atomic<int> alive_{0};
  mutable std::atomic<int> most_alive_{0};
};

struct Net {
  Graph graph;
  ValueId x, a, b;
};

Net make_net() {
  Net n;
  n.x = n.graph.add_input("x", DType::kF32, {1, 4});
  n.a = must(append_inferred(n.graph, {.name = "root", .op = "Sqrt", .inputs = {n.x}}));
  n.b = must(append_inferred(n.graph, {.name = "act", .op = "Relu", .inputs = {n.a}}));
  n.graph.add_output(n.b);
  return n;
}

TEST(Calibrate, ObservesTheSites) {
  const Net n = make_net();
  MemoryDataset data;
  data.tensors = {Tensor::of<float>({1, 4}, {0, 1, 4, 9}), Tensor::of<float>({1, 4}, {16, 25, 36, 49})};
  const std::vector<ValueId> sites{n.x, n.b};
  const Stats stats = must(calibrate(n.graph, sites, data));
  ASSERT_EQ(stats.values.size(), 2U);
  EXPECT_EQ(stats.samples, 2U);
  EXPECT_EQ(stats.graph_hash, n.graph.hash());
  EXPECT_EQ(stats.values[0].value, "x");
  EXPECT_EQ(stats.find("act")->max, 7);
  EXPECT_EQ(stats.find("act")->elements, 8U);
  EXPECT_EQ(stats.find("root"), nullptr);
  EXPECT_EQ(must(calibrate(n.graph, sites, data, {.limit = 1})).find("act")->max, 3);
}

TEST(Calibrate, SamplesLiveAsThreadsWhateverTheirNumber) {
  const Net n = make_net();
  MemoryDataset data;
  for (int i = 0; i < 50; ++i) data.tensors.push_back(Tensor::of<float>({1, 4}, {0, 1, 4, static_cast<float>(i)}));
  must(calibrate(n.graph, std::vector<ValueId>{n.b}, data));
  EXPECT_LE(data.most_alive(), thread_count());
}

TEST(Calibrate, HalvesMergeToTheWhole) {
  NARROW_SEEDED(rng);
  const Net n = make_net();
  MemoryDataset all, left, right;
  for (int i = 0; i < 9; ++i) all.tensors.push_back(test::random_tensor({1, 4}, rng, 0, std::ldexp(1.0F, i)));
  left.tensors.assign(all.tensors.begin(), all.tensors.begin() + 4);
  right.tensors.assign(all.tensors.begin() + 4, all.tensors.end());
  const std::vector<ValueId> sites{n.x, n.a, n.b};
  Stats merged = must(calibrate(n.graph, sites, right));
  must(merged.merge(must(calibrate(n.graph, sites, left))));
  const Stats whole = must(calibrate(n.graph, sites, all));
  EXPECT_EQ(merged, whole);
  EXPECT_EQ(merged.hash(), whole.hash());
}

TEST(Calibrate, LeavesOutWhatCannotBeRead) {
  const Net n = make_net();
  MemoryDataset data;
  data.tensors = {Tensor::of<float>({1, 4}, {0, 1, 4, 9}), Tensor::of<float>({1, 4}, {0, 1, 4, 16}), Tensor::of<float>({1, 4}, {0, 1, 4, 25})};
  data.broken = {1};
  Diagnostics diagnostics;
  const Stats stats = must(calibrate(n.graph, std::vector<ValueId>{n.b}, data, {.diagnostics = &diagnostics}));
  EXPECT_EQ(stats.samples, 2U);
  ASSERT_EQ(diagnostics.all().size(), 1U);
  EXPECT_EQ(diagnostics.all()[0].to_string(), "warning: sample 's1' is left out: 's1' is not an image\n  help: convert it to png");
  data.broken = {0, 1, 2};
  EXPECT_EQ(calibrate(n.graph, std::vector<ValueId>{n.b}, data).error().message, "none of the 3 calibration samples could be read; the first: 's0' is not an image");
  data.tensors.clear();
  EXPECT_EQ(calibrate(n.graph, std::vector<ValueId>{n.b}, data).error().message, "there is not a single calibration sample");
}

TEST(Calibrate, NanNamesTheLayerAndTheSample) {
  const Net n = make_net();
  MemoryDataset data;
  data.tensors = {Tensor::of<float>({1, 4}, {0, 1, 4, 9}), Tensor::of<float>({1, 4}, {0, 1, -4, 9})};
  EXPECT_EQ(calibrate(n.graph, std::vector<ValueId>{n.x, n.a, n.b}, data).error().message, "layer 'root' (Sqrt) gives NaN on sample 's1'");
  data.tensors = {Tensor::of<float>({1, 4}, {0, 1, std::numeric_limits<float>::quiet_NaN(), 9})};
  EXPECT_EQ(calibrate(n.graph, std::vector<ValueId>{n.x, n.a, n.b}, data).error().message, "input 'x' of sample 's0' holds NaN");
  EXPECT_EQ(calibrate(n.graph, std::vector<ValueId>{n.x}, data).error().help, "check the file and the preprocessing in the recipe (a scale of 0, or for a raw file another 'dtype'?)");
}

TEST(Calibrate, TheFirstOfManyBadSamplesIsNamedForAnyThreadCount) {
  const Net n = make_net();
  MemoryDataset data;
  for (int i = 0; i < 40; ++i) data.tensors.push_back(Tensor::of<float>({1, 4}, {0, 1, i < 20 ? 4.0F : -4.0F, 9}));
  data.broken = {3, 19, 30};
  const int before = thread_count();
  for (const int threads : {1, 2, 7}) {
    set_thread_count(threads);
    EXPECT_EQ(calibrate(n.graph, std::vector<ValueId>{n.a}, data).error().message, "layer 'root' (Sqrt) gives NaN on sample 's20'") << threads;
    Diagnostics diagnostics;
    must(calibrate(n.graph, std::vector<ValueId>{n.b}, data, {.limit = 20, .diagnostics = &diagnostics}));
    ASSERT_EQ(diagnostics.all().size(), 2U);
    EXPECT_EQ(diagnostics.all()[0].message, "sample 's3' is left out: 's3' is not an image");
    EXPECT_EQ(diagnostics.all()[1].message, "sample 's19' is left out: 's19' is not an image");
  }
  set_thread_count(before);
}

TEST(Calibrate, EqualForAnyThreadCountAndOrder) {
  NARROW_SEEDED(rng);
  // Deep 1x1 convolutions of few pixels: where threads that share a layer might add in another order.
  Graph graph;
  ValueId v = graph.add_input("x", DType::kF32, {1, 7, 7, 320});
  std::vector<ValueId> sites{v};
  for (int i = 0; i < 4; ++i) {
    const std::int64_t in = i % 2 == 0 ? 320 : 960, out = 1280 - in;
    const ValueId w = graph.add_constant(fmt::format("w{}", i), test::random_tensor({out, 1, 1, in}, rng, -0.1F, 0.1F));
    sites.push_back(v = must(append_inferred(graph, {.name = fmt::format("conv{}", i), .op = "Conv", .inputs = {v, w}})));
  }
  graph.add_output(v);
  MemoryDataset data, backwards;
  for (int i = 0; i < 9; ++i) data.tensors.push_back(test::random_tensor({1, 7, 7, 320}, rng));
  backwards.tensors.assign(data.tensors.rbegin(), data.tensors.rend());
  const int before = thread_count();
  set_thread_count(1);
  const Stats expected = must(calibrate(graph, sites, data));
  for (const int threads : {1, 2, 7}) {
    set_thread_count(threads);
    EXPECT_EQ(must(calibrate(graph, sites, data)), expected) << threads;
    EXPECT_EQ(must(calibrate(graph, sites, backwards)), expected) << threads;
  }
  set_thread_count(before);
}

TEST(Calibrate, EqualForAnyBatchSize) {
  NARROW_SEEDED(rng);
  const Tensor weight = test::random_tensor({24, 3, 3, 8}, rng);
  const auto network = [&](std::int64_t batch) {
    Graph graph;
    const ValueId x = graph.add_input("x", DType::kF32, {batch, 40, 40, 8});
    NodeSpec conv{.name = "conv", .op = "Conv", .inputs = {x, graph.add_constant("w", weight)}};
    conv.output_names = {"y"};
    graph.add_output(must(append_inferred(graph, std::move(conv))));
    return graph;
  };
  const Tensor all = test::random_tensor({12, 40, 40, 8}, rng);  // 12,800 elements a sample: its histogram is full; 34,656 of y: a quarter
  std::optional<Stats> expected;
  for (const std::int64_t batch : {1, 2, 3, 12}) {
    const Graph graph = network(batch);
    MemoryDataset data;
    const std::int64_t size = batch * 40 * 40 * 8;
    for (std::int64_t i = 0; i < 12 / batch; ++i) data.tensors.push_back(Tensor::view(DType::kF32, {batch, 40, 40, 8}, const_cast<float*>(all.data<float>()) + i * size).clone());
    Stats stats = must(calibrate(graph, std::vector<ValueId>{graph.inputs()[0], graph.outputs()[0]}, data));
    EXPECT_EQ(stats.samples, 12U);
    stats.graph_hash = 0;
    if (!expected) expected = stats;
    EXPECT_EQ(stats, *expected) << batch;
  }
}

// [steps, batch, features] -> [batch, features]: the first axis of the input is none of the outputs'.
TEST(Calibrate, FirstAxesThatOutputsDoNotHaveCountNoSamples) {
  NARROW_SEEDED(rng);
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, {12, 1, 6});
  NodeSpec mean{.name = "mean", .op = "ReduceMean", .inputs = {x}};
  mean.attrs.set("axes", std::vector<std::int64_t>{0});
  mean.attrs.set("keepdims", 0);
  mean.output_names = {"y"};
  graph.add_output(must(append_inferred(graph, std::move(mean))));
  MemoryDataset data;
  for (int i = 0; i < 5; ++i) data.tensors.push_back(test::random_tensor({12, 1, 6}, rng));
  const Stats stats = must(calibrate(graph, std::vector<ValueId>{graph.inputs()[0], graph.outputs()[0]}, data));
  EXPECT_EQ(stats.samples, 5U);
  for (const ValueStats& value : stats.values) EXPECT_EQ(value.samples, 5U) << value.value;
}

TEST(Calibrate, NanOfAnOutputThatStaysFloatIsFoundToo) {
  const Net n = make_net();
  MemoryDataset data;
  data.tensors = {Tensor::of<float>({1, 4}, {0, 1, -4, 9})};
  Graph graph = n.graph;
  graph.set_output(0, n.a);
  graph.remove_dead();
  EXPECT_EQ(calibrate(graph, {}, data).error().message, "layer 'root' (Sqrt) gives NaN on sample 's0'");
  data.tensors = {Tensor::of<float>({1, 4}, {0, std::numeric_limits<float>::quiet_NaN(), 4, 9})};
  EXPECT_EQ(calibrate(graph, {}, data).error().message, "input 'x' of sample 's0' holds NaN");
}

// Logits with a mask: what the Softmax cannot tell from minus infinity does not widen their range.
TEST(Calibrate, ValuesAreObservedAsTheirOnlyReaderSeesThem) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, {1, 4});
  NodeSpec softmax{.name = "y", .op = "Softmax", .inputs = {x}};
  softmax.attrs.set("axis", 1);
  graph.add_output(must(append_inferred(graph, std::move(softmax))));
  MemoryDataset data;
  data.tensors = {Tensor::of<float>({1, 4}, {3, -1e9F, -2, 1}), Tensor::of<float>({1, 4}, {-1, -1e9F, -1e9F, 0})};
  const Stats stats = must(calibrate(graph, std::vector<ValueId>{x}, data));
  EXPECT_EQ(stats.values[0].min, -16);
  EXPECT_EQ(stats.values[0].max, 3);
  graph.add_output(must(append_inferred(graph, {.name = "z", .op = "Relu", .inputs = {x}})));
  EXPECT_EQ(must(calibrate(graph, std::vector<ValueId>{x}, data)).values[0].min, -1e9F) << "the Relu sees all of it";
}

TEST(Calibrate, InfinitiesAreReported) {
  const Net n = make_net();
  MemoryDataset data;
  data.tensors = {Tensor::of<float>({1, 4}, {0, 1, std::numeric_limits<float>::infinity(), 9})};
  Diagnostics diagnostics;
  EXPECT_EQ(must(calibrate(n.graph, std::vector<ValueId>{n.x}, data, {.diagnostics = &diagnostics})).values[0].max, 9);
  EXPECT_EQ(diagnostics.all().at(0).message, "'x' was infinite in 1 of 4 elements; its range comes from the others");
}

TEST(Calibrate, StopsBetweenSamplesWhenInterrupted) {
  const Net n = make_net();
  MemoryDataset data;
  for (int i = 0; i < 20; ++i) data.tensors.push_back(Tensor::of<float>({1, 4}, {0, 1, 4, 9}));
  data.cancel_at = 3;
  const auto stats = calibrate(n.graph, std::vector<ValueId>{n.b}, data);
  clear_cancel();
  ASSERT_FALSE(stats.has_value());
  EXPECT_EQ(stats.error().exit_code, ExitCode::kInterrupted);
}

TEST(StatsFile, RoundTripAndStaleness) {
  const Net n = make_net();
  MemoryDataset data;
  data.tensors = {Tensor::of<float>({1, 4}, {0, 1, 4, 9.1F}), Tensor::of<float>({1, 4}, {1e-3F, 1e5F, 0, 2})};
  const Stats stats = must(calibrate(n.graph, std::vector<ValueId>{n.x, n.a, n.b}, data));
  const std::string path = test::temporary_folder() + "/stats.json";
  must(write_file(path, stats.to_json().dump()));
  EXPECT_EQ(must(load_stats(path, n.graph)), stats);
  Net other = make_net();
  other.graph.attrs(other.graph.find_node("act")).set("k", 1);
  EXPECT_TRUE(load_stats(path, other.graph).error().message.find("were made for graph") != std::string::npos);
  must(write_file(path, "{\"narrow_stats\": 99, \"values\": []}"));
  EXPECT_EQ(load_stats(path, n.graph).error().message, "statistics of version 99, this program reads version 1");
  Json huge = stats.to_json();
  Json value = huge.find("values")->items()[0];
  value["max"] = 1e92;  // a float cannot hold it
  huge["values"] = Json::array();
  huge["values"].push_back(value);
  must(write_file(path, huge.dump()));
  EXPECT_EQ(load_stats(path, n.graph).error().message, "\"max\" in the statistics is not a number that a float holds");
  must(write_file(path, "{\"a\": 1}"));
  EXPECT_EQ(load_stats(path, n.graph).error().message, "this is not a statistics file of narrow");
}

}  // namespace
}  // namespace narrow
