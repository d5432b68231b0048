// Whole networks on this machine: the float and the integer executor side by side, in one run.
//   network_bench [--threads N] [--seconds S] [--target NAME] [--profile N] MODEL.onnx...
// Inputs are random: neither executor's time depends on the data. --profile lists the N slowest nodes of each network.
// One line per model: name, float ms, integer ms, ratio (the fastest run of each counts, runs alternate).
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>

#include "base/parallel.h"
#include "calibrate/calibrate.h"
#include "lower/lower.h"
#include "model/import.h"
#include "passes/passes.h"
#include "plan/plan.h"
#include "run/executor.h"

namespace narrow {
namespace {

struct Options {
  int threads = 2;
  double seconds = 2;
  std::string target = "generic-int8";
  std::size_t profile = 0;
  std::vector<std::string> models;
};

// Samples of uniform noise for every input.
class Noise final : public Dataset {
 public:
  explicit Noise(const Graph& graph) {
    for (const ValueId id : graph.inputs()) types_.push_back({graph.value(id).dtype, graph.value(id).shape});
  }
  std::int64_t size() const override { return 2; }
  std::string name_of(std::int64_t index) const override { return fmt::format("noise[{}]", index); }
  std::string formula() const override { return "uniform in [-1, 1]"; }
  Result<Sample> load(std::int64_t index) const override {
    std::mt19937_64 rng(static_cast<std::uint64_t>(index) + 1);
    std::uniform_real_distribution<float> pick(-1, 1);
    Sample sample{.name = name_of(index), .inputs = {}};
    for (const TensorType& type : types_) {
      Tensor x = Tensor::zeros(type.dtype, type.shape);
      if (type.dtype == DType::kF32) std::generate_n(x.data<float>(), x.elements(), [&] { return pick(rng); });
      sample.inputs.push_back(std::move(x));
    }
    return sample;
  }

 private:
  std::vector<TensorType> types_;
};

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Time of one run in seconds.
Result<double> time_once(Executor& executor, std::span<const Tensor> inputs) {
  const double start = seconds_now();
  NARROW_TRY(executor.run(inputs));
  return seconds_now() - start;
}

// The slowest nodes: the fastest time of each over some runs, with its operator and the shape it makes.
Status print_profile(Executor& executor, std::span<const Tensor> inputs, std::size_t count) {
  const Graph& graph = executor.graph();
  std::vector<double> best(graph.node_slots(), 1e9);
  for (int run = 0; run < 10; ++run) {
    double last = seconds_now();
    const auto observer = [&](ValueId value, const Tensor&) {
      const NodeId node = graph.value(value).producer;
      const double now = seconds_now();
      if (node && graph.node(node).outputs[0] == value) best[node.index] = std::min(best[node.index], now - last);
      last = seconds_now();
    };
    NARROW_TRY(executor.run(inputs, observer));
  }
  std::vector<NodeId> nodes(graph.order().begin(), graph.order().end());
  std::stable_sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) { return best[a.index] > best[b.index]; });
  double total = 0;
  std::map<std::string, double> by_operator;
  for (const NodeId id : nodes) {
    total += best[id.index];
    by_operator[graph.node(id).op] += best[id.index];
  }
  fmt::print("  sum of the nodes {:.3f} ms:", total * 1e3);
  for (const auto& [op, seconds] : by_operator) fmt::print(" {} {:.3f}", op, seconds * 1e3);
  fmt::print("\n");
  for (std::size_t i = 0; i < std::min(count, nodes.size()); ++i) {
    const Node& node = graph.node(nodes[i]);
    fmt::print("  {:8.1f} us  {:14} {} -> {}  {}\n", best[nodes[i].index] * 1e6, node.op, to_string(graph.value(node.inputs[0]).shape),
               to_string(graph.value(node.outputs[0]).shape), node.name);
  }
  return {};
}

Status bench(const std::string& path, const Options& options) {
  Diagnostics diagnostics;
  Graph graph = NARROW_TRY(import_onnx(path, {}, diagnostics));
  NARROW_TRY(run_passes(graph));
  const Target target = NARROW_TRY(load_target(options.target));
  const Recipe recipe;
  const Noise noise(graph);
  const Stats stats = NARROW_TRY(calibrate(graph, quantizer_sites(graph, recipe, target), noise));
  const Plan plan = NARROW_TRY(make_plan(graph, stats, recipe, target, diagnostics));
  const Graph integer = NARROW_TRY(lower(graph, plan, target));

  Executor float_executor(graph), integer_executor(integer);
  const std::vector<Tensor> real = NARROW_TRY(noise.load(0)).inputs;
  std::vector<Tensor> codes = real;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const auto& quant = integer.value(integer.inputs()[i]).quant;
    if (quant && codes[i].dtype() == DType::kF32) codes[i] = quantize(codes[i], *quant);
  }
  double best_float = 1e9, best_integer = 1e9;
  const double end = seconds_now() + options.seconds;
  for (int run = 0; run < 5 || seconds_now() < end; ++run) {
    best_float = std::min(best_float, NARROW_TRY(time_once(float_executor, real)));
    best_integer = std::min(best_integer, NARROW_TRY(time_once(integer_executor, codes)));
  }
  fmt::print("{:44} float {:8.3f} ms   integer {:8.3f} ms   float / integer {:.2f}\n", std::filesystem::path(path).filename().string(), best_float * 1e3,
             best_integer * 1e3, best_float / best_integer);
  if (options.profile > 0) {
    NARROW_TRY(print_profile(float_executor, real, options.profile));
    NARROW_TRY(print_profile(integer_executor, codes, options.profile));
  }
  return {};
}

}  // namespace
}  // namespace narrow

int main(int argc, char** argv) {
  narrow::limit_spinning(argv);
  narrow::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (arg == "--threads") {
      options.threads = std::atoi(value), ++i;
    } else if (arg == "--seconds") {
      options.seconds = std::atof(value), ++i;
    } else if (arg == "--target") {
      options.target = value, ++i;
    } else if (arg == "--profile") {
      options.profile = static_cast<std::size_t>(std::atoi(value)), ++i;
    } else {
      options.models.emplace_back(arg);
    }
  }
  narrow::set_thread_count(options.threads);
  for (const std::string& model : options.models) {
    if (const narrow::Status status = narrow::bench(model, options); !status) {
      fmt::print(stderr, "{}\n", status.error().to_string());
      return 1;
    }
  }
  return 0;
}
