// Samples in order, read ahead in parallel: as many at a time as there are threads, so that decoding keeps all cores busy and
// memory stays that of a few samples.
#pragma once

#include <vector>

#include "base/diagnostics.h"
#include "data/dataset.h"

namespace narrow {

class SampleStream {
 public:
  // Samples [first, first + count) of the data set, which must outlive the stream; count is cut to what there is.
  SampleStream(const Dataset& dataset, std::int64_t first, std::int64_t count);
  bool done() const { return next_ >= end_; }
  std::int64_t index() const { return next_; }  // of the sample that next() returns
  Result<Sample> next();                        // the error of load(), if any; the stream goes on after it

 private:
  const Dataset& dataset_;
  std::int64_t next_;
  std::int64_t end_;
  std::int64_t loaded_;                         // samples [next_, loaded_) wait in ahead_, last first
  std::vector<Result<Sample>> ahead_;
};

// Names a sample that cannot be read and is passed over, as every command does while others remain.
void warn_left_out(const Dataset& dataset, std::int64_t index, const Error& reason, Diagnostics& diagnostics);
// Can a sample from `first` on be read?
bool any_readable(const Dataset& dataset, std::int64_t first);

}  // namespace narrow
