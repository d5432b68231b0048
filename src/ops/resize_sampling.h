// Where Resize reads: exact rational positions, so that float and integer networks pick the same neighbours (ONNX operator Resize).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace narrow {

// What every output index along one axis reads: `taps` source indices with weights that sum to `denominator`
// (exact for nearest and linear; cubic weights are reals and sum to 1).
struct Sampling {
  int taps = 1;
  std::vector<std::int64_t> index;
  std::vector<double> weight;
  std::int64_t denominator = 1;
};
// attrs: of a Resize in internal form; d: entry of its "scales" (0 height, 1 width); in, out: extents of that axis.
Sampling sampling_of(const Attrs& attrs, std::size_t d, std::int64_t in, std::int64_t out);

// Linear interpolation as ONNX Runtime 1.20 has it: positions in float, whose last bits decide what is half-way between two codes.
// Two indices and two weights for every output; from the last pixel on both are that pixel.
struct FloatSampling {
  std::vector<std::int64_t> index;
  std::vector<float> weight;
};
FloatSampling float_sampling_of(const Attrs& attrs, std::size_t d, std::int64_t in, std::int64_t out);

}  // namespace narrow
