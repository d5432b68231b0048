#include "data/sample_stream.h"

#include <algorithm>

#include "base/parallel.h"

namespace narrow {

SampleStream::SampleStream(const Dataset& dataset, std::int64_t first, std::int64_t count)
    : dataset_(dataset), next_(first), end_(std::min(dataset.size(), first + count)), loaded_(first) {}

Result<Sample> SampleStream::next() {
  NARROW_CHECK(!done());
  if (next_ == loaded_) {
    const std::int64_t count = std::min<std::int64_t>(thread_count(), end_ - next_);
    ahead_.assign(static_cast<std::size_t>(count), Result<Sample>());
    parallel_for(count, [&](std::int64_t i) { ahead_[static_cast<std::size_t>(count - 1 - i)] = dataset_.load(next_ + i); });
    loaded_ = next_ + count;
  }
  Result<Sample> sample = std::move(ahead_.back());
  ahead_.pop_back();
  ++next_;
  return sample;
}

void warn_left_out(const Dataset& dataset, std::int64_t index, const Error& reason, Diagnostics& diagnostics) {
  diagnostics.warn(fmt::format("sample '{}' is left out: {}", dataset.name_of(index), reason.message), reason.help, reason.where);
}

bool any_readable(const Dataset& dataset, std::int64_t first) {
  for (std::int64_t i = first; i < dataset.size(); ++i) {
    if (dataset.load(i)) return true;
  }
  return false;
}

}  // namespace narrow
