// The whole path on a model: what imports is simplified, calibrated on noise, planned, lowered and run, or refused with an error.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <iterator>

#include "graph/text.h"
#include "model/import.h"
#include "passes/passes.h"
#include "whole_path.h"

namespace {

using namespace narrow;

// Errors are the model's fault; what must not fail is checked.
Status go(Graph graph, const Recipe& recipe, const Target& target) {
  NARROW_CHECK(run_passes(graph).has_value());
  if (!fuzz::is_small(graph)) return {};
  const Stats stats = NARROW_TRY(fuzz::stats_of_noise(graph, recipe, target));
  Diagnostics diagnostics;
  Plan plan = NARROW_TRY(make_plan(graph, stats, recipe, target, diagnostics));
  if (!fuzz::use_plan(graph, plan, target)) return {};  // no integers can express these magnitudes
  const Status fits = accept_plan(plan, graph, target, diagnostics);
  NARROW_CHECK(fits.has_value(), "{}", fits.error().to_string());
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int file = ::memfd_create("fuzz.onnx", MFD_CLOEXEC);
  NARROW_CHECK(file >= 0 && ::write(file, data, size) == static_cast<ssize_t>(size));
  Diagnostics diagnostics;
  auto graph = import_onnx(fmt::format("/proc/self/fd/{}", file), {}, diagnostics);
  ::close(file);
  if (!graph || !fuzz::is_small(*graph)) return 0;
  static const Target targets[] = {load_target("generic-int8").value(), load_target("tflite").value(), load_target("ort").value()};
  const Target& target = targets[size % std::size(targets)];  // as good as chance
  Recipe recipe;
  recipe.activations = size % 5 == 0 ? DType::kI16 : DType::kI8;
  if (const Status status = go(std::move(*graph), recipe, target); !status) fuzz::check_error(status.error());
  return 0;
}
