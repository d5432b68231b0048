#include "kernels/range_scan.h"

#include "base/clones.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace narrow {
namespace {

constexpr std::int64_t kLanes = 64;   // narrow channel counts are unrolled to at least this many lanes
constexpr std::int64_t kRun = 16;     // elements of a subset run
constexpr std::int64_t kBlock = 64;   // elements it is taken from
constexpr std::int64_t kFlush = 256;  // rows summed in float before they are added up in double

inline float smaller(float a, float b) { return a < b ? a : b; }
inline float larger(float a, float b) { return a > b ? a : b; }

NARROW_CLONES
void scan_rows(const float* x, std::int64_t rows, std::int64_t lanes, float* __restrict lo, float* __restrict hi, float* __restrict sum, float* __restrict squares) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * lanes) {
    const float *p0 = x, *p1 = x + lanes, *p2 = x + 2 * lanes, *p3 = x + 3 * lanes;
    for (std::int64_t c = 0; c < lanes; ++c) {
      lo[c] = smaller(lo[c], smaller(smaller(p0[c], p1[c]), smaller(p2[c], p3[c])));
      hi[c] = larger(hi[c], larger(larger(p0[c], p1[c]), larger(p2[c], p3[c])));
      sum[c] += (p0[c] + p1[c]) + (p2[c] + p3[c]);
      squares[c] += (p0[c] * p0[c] + p1[c] * p1[c]) + (p2[c] * p2[c] + p3[c] * p3[c]);
    }
  }
  for (; r < rows; ++r, x += lanes) {
    for (std::int64_t c = 0; c < lanes; ++c) {
      lo[c] = smaller(lo[c], x[c]);
      hi[c] = larger(hi[c], x[c]);
      sum[c] += x[c];
      squares[c] += x[c] * x[c];
    }
  }
}

// floor(x / width) without a floor: truncation, minus one where that lies above x. Comparing in real units keeps tiny
// negative x, whose quotient underflows, in bin -1.
NARROW_CLONES
void bins_of(const float* x, std::int64_t n, float inverse, float width, std::int32_t first, std::int32_t* bins) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto truncated = static_cast<std::int32_t>(x[i] * inverse);
    bins[i] = truncated - (x[i] < static_cast<float>(truncated) * width ? 1 : 0) - first;
  }
}

void count(const std::int32_t* bins, std::int64_t n, std::uint32_t* tables) {
  std::int64_t i = 0;
  for (; i + kBinTables <= n; i += kBinTables) {
    for (int t = 0; t < kBinTables; ++t) ++tables[kBinTables * bins[i + t] + t];
  }
  for (; i < n; ++i) ++tables[kBinTables * bins[i]];
}

}  // namespace

bool scan_channels(const float* x, std::int64_t n, std::int64_t channels, float* min, float* max, double* sum, double* squares) {
  const std::int64_t copies = channels >= kLanes ? 1 : (kLanes + channels - 1) / channels;
  const std::int64_t lanes = channels * copies;
  std::vector<float> scratch(static_cast<std::size_t>(4 * lanes));
  float *lo = scratch.data(), *hi = lo + lanes, *part = hi + lanes, *square_part = part + lanes;
  std::fill(lo, lo + lanes, std::numeric_limits<float>::infinity());
  std::fill(hi, hi + lanes, -std::numeric_limits<float>::infinity());
  std::fill(sum, sum + channels, 0.0);
  std::fill(squares, squares + channels, 0.0);
  bool finite = true;
  const auto flush = [&] {
    for (std::int64_t k = 0; k < copies; ++k) {
      for (std::int64_t c = 0; c < channels; ++c) {
        sum[c] += static_cast<double>(part[k * channels + c]);
        squares[c] += static_cast<double>(square_part[k * channels + c]);
      }
    }
    std::fill(part, part + 2 * lanes, 0.0F);
  };
  const std::int64_t rows = n / lanes;
  for (std::int64_t r = 0; r < rows; r += kFlush) {
    const std::int64_t some = std::min(kFlush, rows - r);
    scan_rows(x + r * lanes, some, lanes, lo, hi, part, square_part);
    flush();
  }
  if (const std::int64_t rest = n - rows * lanes; rest > 0) {
    scan_rows(x + rows * lanes, 1, rest, lo, hi, part, square_part);
    flush();
  }
  for (std::int64_t c = 0; c < channels; ++c) {
    min[c] = lo[c];
    max[c] = hi[c];
    for (std::int64_t k = 1; k < copies; ++k) {
      min[c] = smaller(min[c], lo[k * channels + c]);
      max[c] = larger(max[c], hi[k * channels + c]);
    }
    min[c] += 0.0F;  // -0 becomes 0: which of the two came first must not show
    max[c] += 0.0F;
    finite = finite && std::isfinite(sum[c]) && std::isfinite(squares[c]);
  }
  return finite;
}

void count_bins(const float* x, std::int64_t n, int exponent, std::int32_t first_bin, std::uint32_t* tables) {
  const float width = std::ldexp(1.0F, exponent), inverse = std::ldexp(1.0F, -exponent);
  std::int32_t bins[256];
  for (std::int64_t i = 0; i < n; i += 256) {
    const std::int64_t some = std::min<std::int64_t>(256, n - i);
    bins_of(x + i, some, inverse, width, first_bin, bins);
    count(bins, some, tables);
  }
}

void count_bins_of_quarter(const float* x, std::int64_t n, std::int64_t first_block, int exponent, std::int32_t first_bin, std::uint32_t* tables) {
  const float width = std::ldexp(1.0F, exponent), inverse = std::ldexp(1.0F, -exponent);
  constexpr std::int64_t kRuns = 16;
  float picked[kRuns * kRun];
  std::int32_t bins[kRuns * kRun];
  const std::int64_t blocks = n / kBlock;
  for (std::int64_t b = 0; b < blocks; b += kRuns) {
    const std::int64_t some = std::min(kRuns, blocks - b);
    for (std::int64_t k = 0; k < some; ++k) {
      const std::uint64_t place = (static_cast<std::uint64_t>(first_block + b + k) * 0x9E3779B97F4A7C15ULL) >> 62;
      std::copy_n(x + (b + k) * kBlock + static_cast<std::int64_t>(place) * kRun, kRun, picked + k * kRun);
    }
    bins_of(picked, some * kRun, inverse, width, first_bin, bins);
    count(bins, some * kRun, tables);
  }
  count_bins(x + blocks * kBlock, n - blocks * kBlock, exponent, first_bin, tables);
}

}  // namespace narrow
