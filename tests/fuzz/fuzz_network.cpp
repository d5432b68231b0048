// Networks as text: what parses and fits its operators must run, by the plain loops and by the fast ones, on any data. Networks
// of integers alone give the same bytes by both.
#include <cstdint>
#include <cstring>
#include <string_view>

#include "ops/parse_network.h"
#include "ops/verify_network.h"
#include "run/executor.h"

namespace {

using namespace narrow;

constexpr std::int64_t kMostElements = 1 << 16;  // of all values together: time, not safety

bool is_small(const Graph& graph) {
  std::int64_t total = 0;
  for (const ValueId id : graph.live_values()) {
    total += element_count(graph.value(id).shape);
    if (total > kMostElements) return false;
  }
  return true;
}

bool is_integer(const Graph& graph) {
  for (const ValueId id : graph.live_values()) {
    if (is_float(graph.value(id).dtype) && !graph.value(id).is_constant()) return false;
  }
  return true;
}

Tensor noise(const Value& value) {
  const Tensor codes = random_constant(DType::kU8, {static_cast<std::int64_t>(size_of(value.dtype)) * element_count(value.shape)}, 1);
  Tensor out(value.dtype, value.shape);
  if (value.dtype == DType::kBool) return Tensor::zeros(value.dtype, value.shape);
  if (out.bytes() > 0) std::memcpy(out.raw(), codes.raw(), out.bytes());
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size > 4096 || text.find("00000") != text.npos) return 0;  // generated constants may be large on purpose
  const auto graph = parse_network(text);
  if (!graph || !verify_network(*graph) || !is_small(*graph)) return 0;
  std::vector<Tensor> inputs;
  for (const ValueId id : graph->inputs()) inputs.push_back(noise(graph->value(id)));
  std::vector<Tensor> results[2];
  for (const bool normative : {true, false}) {
    Executor executor(*graph, {.normative = normative});
    auto outputs = executor.run(inputs);
    NARROW_CHECK(outputs.has_value());
    results[normative] = std::move(*outputs);
  }
  if (!is_integer(*graph)) return 0;
  for (std::size_t i = 0; i < results[0].size(); ++i) NARROW_CHECK(results[0][i].same_bytes(results[1][i]), "output {}", i);
  return 0;
}
