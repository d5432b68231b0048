#include "calibrate/calibrate.h"

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "calibrate/observe.h"
#include "data/sample_stream.h"
#include "run/executor.h"

namespace narrow {
namespace {

Error nan_error(const Graph& graph, ValueId id, const std::string& sample) {
  const Node* producer = graph.producer(id);
  if (producer == nullptr) {
    return error("input '{}' of sample '{}' holds NaN", graph.value(id).name, sample).with_help("check the file and the preprocessing in the recipe (a scale of 0 or a missing mean?)");
  }
  return error("layer '{}' ({}) gives NaN on sample '{}'", producer->name, producer->op, sample)
      .with_help("look for NaN or huge weights in this layer, or for a division by zero or a square root of a negative number before it");
}

bool holds_nan(const Tensor& tensor) {
  const std::span<const float> values = tensor.span<float>();
  return std::any_of(values.begin(), values.end(), [](float x) { return std::isnan(x); });
}

void warn_of_infinities(const Stats& stats, Diagnostics* diagnostics) {
  if (diagnostics == nullptr) return;
  for (const ValueStats& v : stats.values) {
    if (v.inf_count > 0) {
      diagnostics->warn(fmt::format("'{}' was infinite in {} of {} elements; its range comes from the others", v.value, v.inf_count, v.elements),
                        "infinities are clipped to the ends of the range; a mask of -inf should be a large negative number");
    }
  }
}

}  // namespace

Result<Stats> calibrate(const Graph& graph, std::span<const ValueId> sites, const Dataset& dataset, const CalibrateOptions& options) {
  Stats stats;
  stats.graph_hash = graph.hash();
  std::vector<std::int32_t> index(graph.value_slots(), -1);  // of stats.values, by value
  for (const ValueId id : sites) {
    if (graph.value(id).dtype != DType::kF32 || index[id.index] >= 0) continue;
    index[id.index] = static_cast<std::int32_t>(stats.values.size());
    stats.values.emplace_back().value = graph.value(id).name;
  }
  std::vector<bool> watched(graph.value_slots());  // what stays float and nobody observes may still not be NaN
  for (const ValueId id : graph.inputs()) watched[id.index] = graph.value(id).dtype == DType::kF32;
  for (const ValueId id : graph.outputs()) watched[id.index] = graph.value(id).dtype == DType::kF32;
  Executor executor(graph);
  const std::int64_t count = options.limit < 0 ? dataset.size() : std::min(options.limit, dataset.size());
  std::string first_failure;
  for (SampleStream stream(dataset, 0, count); !stream.done();) {
    const std::int64_t i = stream.index();
    const Result<Sample> sample = stream.next();
    NARROW_TRY(check_cancelled());
    if (!sample) {
      if (first_failure.empty()) first_failure = sample.error().message;
      if (options.diagnostics != nullptr) {
        options.diagnostics->warn(fmt::format("sample '{}' is left out: {}", dataset.name_of(i), sample.error().message), sample.error().help, sample.error().where);
      }
      continue;
    }
    ValueId nan;
    const auto observer = [&](ValueId id, const Tensor& tensor) {
      if (nan) return;
      if (index[id.index] < 0) {
        if (watched[id.index] && holds_nan(tensor)) nan = id;
        return;
      }
      ValueStats& value = stats.values[static_cast<std::size_t>(index[id.index])];
      observe(tensor, value);
      if (value.nan_count > 0) nan = id;
    };
    NARROW_TRY(executor.run(sample->inputs, observer));
    if (nan) return tl::unexpected(nan_error(graph, nan, sample->name));
    ++stats.samples;
    if (options.progress != nullptr) options.progress->step(i + 1, count, "samples");
  }
  if (stats.samples == 0) {
    if (first_failure.empty()) return error("there is not a single calibration sample").with_help("give a folder of images or arrays with --data");
    return error("none of the {} calibration samples could be read; the first: {}", count, first_failure).with_help("check --data and the preprocessing in the recipe");
  }
  warn_of_infinities(stats, options.diagnostics);
  return stats;
}

Status save_stats(const Stats& stats, const std::string& path) { return write_file(path, stats.to_json().dump()); }

Result<Stats> load_stats(const std::string& path, const Graph& graph) {
  const std::string text = NARROW_TRY(read_file(path));
  Stats stats = NARROW_TRY(Stats::from_json(NARROW_TRY(parse_json(text, path))));
  if (stats.graph_hash != graph.hash()) {
    return error("the statistics in '{}' were made for graph {}, this model is graph {}", path, hash_to_string(stats.graph_hash), hash_to_string(graph.hash()))
        .with_help("the model or the passes have changed since: calibrate again");
  }
  return stats;
}

}  // namespace narrow
