#include "calibrate/calibrate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <mutex>

#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "calibrate/observe.h"
#include "data/sample_stream.h"
#include "ops/op_def.h"
#include "run/executor.h"

namespace narrow {
namespace {

Error nan_error(const Graph& graph, ValueId id, const std::string& sample) {
  const Node* producer = graph.producer(id);
  if (producer == nullptr) {
    return error("input '{}' of sample '{}' holds NaN", graph.value(id).name, sample).with_help("check the file and the preprocessing in the recipe (a scale of 0, or for a raw file another 'dtype'?)");
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

// What a sample ended with.
struct Failure {
  std::int64_t sample;
  Error error;
};

// Statistics of some samples: what one thread has seen. Merging is exact (stats.h), so that who saw which sample does not matter.
class Part {
 public:
  Part(const Graph& graph, std::span<const ValueId> sites) : graph_(graph), batch_(batch_of(graph)), index_(graph.value_slots(), -1), watched_(graph.value_slots()) {
    for (const ValueId id : sites) {
      if (graph.value(id).dtype != DType::kF32 || index_[id.index] >= 0) continue;
      index_[id.index] = static_cast<std::int32_t>(stats.values.size());
      stats.values.emplace_back().value = graph.value(id).name;
    }
    for (const ValueId id : graph.inputs()) watched_[id.index] = graph.value(id).dtype == DType::kF32;
    for (const ValueId id : graph.outputs()) watched_[id.index] = graph.value(id).dtype == DType::kF32;
  }

  Status add(Executor& executor, const Sample& sample) {
    ValueId nan;
    const auto observer = [&](ValueId id, const Tensor& tensor) {
      if (nan) return;
      if (index_[id.index] < 0) {
        if (watched_[id.index] && holds_nan(tensor)) nan = id;
        return;
      }
      ValueStats& value = stats.values[static_cast<std::size_t>(index_[id.index])];
      const Node* reader = selective_reader(graph_, id);
      Tensor seen = reader == nullptr ? tensor : tensor.clone();
      if (reader != nullptr) op_of(*reader).as_read(*reader, seen);
      for_samples(seen, [&](const Tensor& sample) { observe(sample, value); });
      if (value.nan_count > 0) nan = id;
    };
    NARROW_TRY(executor.run(sample.inputs, observer));
    if (nan) return tl::unexpected(nan_error(graph_, nan, sample.name));
    stats.samples += static_cast<std::uint64_t>(batch_);
    return {};
  }

  Stats stats;
  std::vector<Failure> unread;  // left out
  std::vector<Failure> fatal;   // at most one: this part went no further

 private:
  // Samples that one run takes, when the first extents of all inputs agree on it and those of the outputs are made of as many. Otherwise the
  // first axis counts something else, like the steps of a sequence.
  static std::int64_t batch_of(const Graph& graph) {
    std::int64_t batch = 0;
    for (const ValueId id : graph.inputs()) {
      const Shape& shape = graph.value(id).shape;
      if (shape.size() < 2 || shape[0] < 1 || (batch != 0 && shape[0] != batch)) return 1;
      batch = shape[0];
    }
    for (const ValueId id : graph.outputs()) {
      const Shape& shape = graph.value(id).shape;
      if (batch > 1 && (shape.empty() || shape[0] % batch != 0)) return 1;
    }
    return std::max<std::int64_t>(batch, 1);
  }

  // Sample by sample, so that statistics do not depend on how many a run takes. A tensor that the samples do not divide is one piece.
  template <typename Fn>
  void for_samples(const Tensor& tensor, const Fn& fn) const {
    Shape shape = tensor.shape();
    if (batch_ == 1 || shape.empty() || shape[0] % batch_ != 0 || tensor.elements() == 0) return fn(tensor);
    shape[0] /= batch_;
    const std::size_t bytes = tensor.bytes() / static_cast<std::size_t>(batch_);
    for (std::int64_t i = 0; i < batch_; ++i) {
      fn(Tensor::view(tensor.dtype(), shape, static_cast<std::byte*>(const_cast<void*>(tensor.raw())) + static_cast<std::size_t>(i) * bytes));
    }
  }

  const Graph& graph_;
  std::int64_t batch_;
  std::vector<std::int32_t> index_;  // of stats.values, by value
  std::vector<bool> watched_;        // what stays float and nobody observes may still not be NaN
};

// One executor per thread, each with samples of its own: no thread waits for another within a network. As many as fit in a fixed
// amount of memory; of a network so large that these are only a few, one, with all threads inside its layers.
std::int64_t worker_count(const Graph& graph, std::int64_t samples) {
  constexpr std::int64_t kMost = std::int64_t{256} << 20, kFew = 4;
  std::int64_t constants = 0, largest = 0;  // bytes
  for (const ValueId id : graph.live_values()) {
    const Value& v = graph.value(id);
    const std::int64_t bytes = element_count(v.shape) * static_cast<std::int64_t>(size_of(v.dtype));
    if (v.is_constant()) constants += bytes;
    else largest = std::max(largest, bytes);
  }
  const std::int64_t threads = std::clamp<std::int64_t>(samples, 1, thread_count());
  const std::int64_t fit = kMost / std::max<std::int64_t>(constants + 4 * largest, 1);
  return fit >= threads ? threads : fit >= kFew ? fit : 1;
}

std::vector<Failure> sorted(std::vector<Failure> failures) {
  std::sort(failures.begin(), failures.end(), [](const Failure& a, const Failure& b) { return a.sample < b.sample; });
  return failures;
}

}  // namespace

Result<Stats> calibrate(const Graph& graph, std::span<const ValueId> sites, const Dataset& dataset, const CalibrateOptions& options) {
  const std::int64_t count = options.limit < 0 ? dataset.size() : std::min(options.limit, dataset.size());
  std::vector<Part> parts(static_cast<std::size_t>(worker_count(graph, count)), Part(graph, sites));
  std::atomic<std::int64_t> next = 0, done = 0;
  std::atomic<bool> stop = false;
  std::mutex progress;
  // Samples are handed out in order: when one fails, those before it are done or under way, and the first failure is always the same.
  parallel_for(std::ssize(parts), [&](std::int64_t w) {
    Part& part = parts[static_cast<std::size_t>(w)];
    Executor executor(graph);
    while (!stop && !cancelled()) {
      const std::int64_t i = next++;
      if (i >= count) return;
      Result<Sample> sample = dataset.load(i);
      if (!sample) {
        part.unread.push_back({i, std::move(sample.error())});
      } else if (Status status = part.add(executor, *sample); !status) {
        part.fatal.push_back({i, std::move(status.error())});
        stop = true;
      }
      const std::int64_t so_far = ++done;
      const std::lock_guard lock(progress);
      if (options.progress != nullptr) options.progress->step(so_far, count, "samples");
    }
  });
  NARROW_TRY(check_cancelled());

  Stats stats = std::move(parts[0].stats);
  std::vector<Failure> unread, fatal;
  for (Part& part : parts) {
    if (&part != &parts[0]) NARROW_TRY(stats.merge(part.stats));
    std::move(part.unread.begin(), part.unread.end(), std::back_inserter(unread));
    std::move(part.fatal.begin(), part.fatal.end(), std::back_inserter(fatal));
  }
  stats.graph_hash = graph.hash();
  unread = sorted(std::move(unread));
  if (!fatal.empty()) return tl::unexpected(sorted(std::move(fatal))[0].error);
  for (const Failure& failure : unread) {
    if (options.diagnostics != nullptr) warn_left_out(dataset, failure.sample, failure.error, *options.diagnostics);
  }
  if (stats.samples == 0) {
    if (unread.empty()) return error("there is not a single calibration sample").with_help("give a folder of images or arrays with --data");
    return error("none of the {} calibration samples could be read; the first: {}", count, unread[0].error.message).with_help("check --data and the preprocessing in the recipe");
  }
  warn_of_infinities(stats, options.diagnostics);
  return stats;
}


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
