#include "whole_path.h"

#include <cstring>
#include <memory>

#include "artifact/artifact.h"
#include "calibrate/calibrate.h"
#include "data/dataset.h"
#include "graph/text.h"
#include "lower/lower.h"
#include "lower/qdq.h"
#include "model/export_onnx.h"
#include "ops/verify_network.h"
#include "run/executor.h"

namespace narrow::fuzz {
namespace {

constexpr std::int64_t kMostElements = 1 << 16;  // of all values together

bool is_integer(const Graph& graph) {
  for (const ValueId id : graph.live_values()) {
    if (is_float(graph.value(id).dtype) && !graph.value(id).is_constant()) return false;
  }
  return true;
}

class Noise : public Dataset {
 public:
  explicit Noise(const Graph& graph) : graph_(graph) {}
  std::int64_t size() const override { return 2; }
  Result<Sample> load(std::int64_t index) const override { return Sample{.name = name_of(index), .inputs = small_numbers(graph_, static_cast<std::uint64_t>(index) + 1)}; }
  std::string name_of(std::int64_t index) const override { return fmt::format("noise {}", index); }
  std::string formula() const override { return {}; }

 private:
  const Graph& graph_;
};

}  // namespace

bool is_small(const Graph& graph) {
  std::int64_t total = 0;
  for (const ValueId id : graph.live_values()) {
    total += element_count(graph.value(id).shape);
    if (total > kMostElements) return false;
  }
  return true;
}

std::vector<Tensor> random_bits(const Graph& graph) {
  std::vector<Tensor> out;
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    Tensor& tensor = out.emplace_back(Tensor::zeros(value.dtype, value.shape));
    if (value.dtype == DType::kBool || tensor.bytes() == 0) continue;
    const Tensor codes = random_constant(DType::kU8, {static_cast<std::int64_t>(tensor.bytes())}, 1);
    std::memcpy(tensor.raw(), codes.raw(), tensor.bytes());
  }
  return out;
}

std::vector<Tensor> small_numbers(const Graph& graph, std::uint64_t seed) {
  std::vector<Tensor> out;
  for (const ValueId id : graph.inputs()) out.push_back(random_constant(graph.value(id).dtype, graph.value(id).shape, seed, is_float(graph.value(id).dtype) ? -2 : 0, 1));
  return out;
}

void run_both_ways(const Graph& network, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> results[2];
  for (const bool normative : {true, false}) {
    Executor executor(network, {.normative = normative});
    auto outputs = executor.run(inputs);
    NARROW_CHECK(outputs.has_value());
    results[normative] = std::move(*outputs);
  }
  if (!is_integer(network)) return;
  for (std::size_t i = 0; i < results[0].size(); ++i) NARROW_CHECK(results[0][i].same_bytes(results[1][i]), "output {}", i);
}

Result<Stats> stats_of_noise(const Graph& graph, const Recipe& recipe, const Target& target) { return calibrate(graph, quantizer_sites(graph, recipe, target), Noise(graph)); }

bool use_plan(const Graph& graph, const Plan& plan, const Target& target) {
  const Result<Graph> network = lower(graph, plan, target);
  if (!network) {
    check_error(network.error());
    return false;
  }
  const Status fits = verify_network(*network);
  NARROW_CHECK(fits.has_value(), "{}\n{}", fits.error().to_string(), print_graph(*network));
  run_both_ways(*network, random_bits(*network));
  ArtifactContents contents;
  contents.plan = plan.to_text();
  contents.graph = *network;
  const std::string bytes = artifact_bytes(contents);
  const auto memory = std::make_shared<Tensor>(DType::kU8, Shape{static_cast<std::int64_t>(bytes.size())});
  std::memcpy(memory->raw(), bytes.data(), bytes.size());
  const auto read = parse_artifact({static_cast<const std::byte*>(memory->raw()), bytes.size()}, "fuzz.narrow", memory);
  NARROW_CHECK(read.has_value() && read->contents.graph.hash() == network->hash(), "{}", read ? "another graph" : read.error().to_string());
  const Result<Graph> qdq = build_qdq(graph, plan, &*network);
  if (!qdq) check_error(qdq.error());
  else if (const auto onnx = onnx_bytes(*qdq); !onnx) check_error(onnx.error());
  return true;
}

void check_error(const Error& error) { NARROW_CHECK(!error.to_string().empty() && error.exit_code != ExitCode::kInternal, "{}", error.to_string()); }

}  // namespace narrow::fuzz
