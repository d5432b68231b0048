// One tensor of one sample into the statistics of its value: one vectorised pass for exact per-channel minimum, maximum
// and mean, one for the histogram (of a fixed quarter of large tensors). The result does not depend on the thread count.
#pragma once

#include "calibrate/stats.h"
#include "tensor/tensor.h"

namespace narrow {

// Tensors above this many elements enter the histogram with a quarter of them; minimum and maximum stay exact.
constexpr std::int64_t kFullHistogramLimit = 32768;

// f32. Adds one sample to `stats`; equals merging the statistics of a single sample. The shape must be that of earlier
// samples.
void observe(const Tensor& tensor, ValueStats& stats);

}  // namespace narrow
