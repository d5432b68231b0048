// Reading an activation once, fast: per-channel minimum, maximum, sum and sum of squares, and the bins of a histogram. Results do not
// depend on the instruction set: lanes are channels, nothing is reassociated.
#pragma once

#include <cstdint>

namespace narrow {

// Element i belongs to channel i % channels. Overwrites min, max, sum, squares (one entry per channel). Channels without an
// element get +inf, -inf, 0, 0. Returns false when a NaN, an infinity or an overflow was met: results are then meaningless.
bool scan_channels(const float* x, std::int64_t n, std::int64_t channels, float* min, float* max, double* sum, double* squares);

// Two interleaved counter tables hide the latency of hitting one bin again and again.
constexpr int kBinTables = 2;

// Adds one to tables[kBinTables * (bin - first_bin) + t] for every element; bin = floor(x / 2^exponent), |bin| < 2^22;
// exponent in [-100, 117]. All bins must lie in the tables.
void count_bins(const float* x, std::int64_t n, int exponent, std::int32_t first_bin, std::uint32_t* tables);
// The same over a fixed quarter of the elements: of each 64 successive ones a run of 16 whose place depends on the index of
// the block by a golden-ratio sequence, so that all channels are hit alike. first_block: index of x[0] / 64. n % 64 last
// elements are counted fully.
void count_bins_of_quarter(const float* x, std::int64_t n, std::int64_t first_block, int exponent, std::int32_t first_bin, std::uint32_t* tables);

}  // namespace narrow
