#include "calibrate/observe.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "kernels/range_scan.h"

namespace narrow {
namespace {

constexpr std::int64_t kChunk = 16 * 1024;  // elements; fixed, so that sums do not depend on threads
constexpr std::int64_t kUnnamedChannels = 64;  // lanes for tensors whose last axis is too long to be channels

struct Extremes {
  std::vector<float> min, max;
  std::vector<double> sum, squares;
  std::vector<std::int64_t> count;  // finite elements
};

// Chunks hold whole rows of channels, so that element 0 of a chunk is channel 0.
Extremes scan_finite(const float* x, std::int64_t n, std::int64_t channels, bool* finite) {
  const std::int64_t chunk = std::max<std::int64_t>(1, kChunk / channels) * channels;
  const std::int64_t chunks = (n + chunk - 1) / chunk;
  const auto width = static_cast<std::size_t>(channels);
  const std::size_t cells = width * static_cast<std::size_t>(chunks);
  Extremes all{std::vector<float>(cells), std::vector<float>(cells), std::vector<double>(cells), std::vector<double>(cells), {}};
  std::vector<char> good(static_cast<std::size_t>(chunks));
  parallel_for(chunks, [&](std::int64_t i) {
    const std::int64_t at = i * channels;
    good[static_cast<std::size_t>(i)] = scan_channels(x + i * chunk, std::min(chunk, n - i * chunk), channels, all.min.data() + at, all.max.data() + at, all.sum.data() + at,
                                                      all.squares.data() + at);
  });
  for (std::size_t i = 1; i < static_cast<std::size_t>(chunks); ++i) {
    for (std::size_t c = 0; c < width; ++c) {
      all.min[c] = std::min(all.min[c], all.min[i * width + c]);
      all.max[c] = std::max(all.max[c], all.max[i * width + c]);
      all.sum[c] += all.sum[i * width + c];
      all.squares[c] += all.squares[i * width + c];
    }
  }
  all.min.resize(width);
  all.max.resize(width);
  all.sum.resize(width);
  all.squares.resize(width);
  all.count.resize(width);
  for (std::int64_t c = 0; c < channels; ++c) all.count[static_cast<std::size_t>(c)] = (n - c + channels - 1) / channels;
  *finite = std::all_of(good.begin(), good.end(), [](char g) { return g != 0; });
  return all;
}

// The slow way round NaN and infinities; also right when a float sum overflowed although all elements are finite.
Extremes scan_any(const float* x, std::int64_t n, std::int64_t channels, ValueStats& stats) {
  const auto width = static_cast<std::size_t>(channels);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Extremes all{std::vector<float>(width, kInf), std::vector<float>(width, -kInf), std::vector<double>(width), std::vector<double>(width), std::vector<std::int64_t>(width)};
  for (std::int64_t i = 0; i < n; ++i) {
    const auto c = static_cast<std::size_t>(i % channels);
    if (std::isfinite(x[i])) {
      all.min[c] = std::min(all.min[c], x[i] + 0.0F);
      all.max[c] = std::max(all.max[c], x[i] + 0.0F);
      all.sum[c] += static_cast<double>(x[i]);
      all.squares[c] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      ++all.count[c];
    } else {
      ++(std::isnan(x[i]) ? stats.nan_count : stats.inf_count);
    }
  }
  return all;
}

void fill_histogram(const float* x, std::int64_t n, DyadicHistogram& histogram) {
  const bool full = n <= kFullHistogramLimit;
  const auto bins = histogram.counts().size();
  const auto first = static_cast<std::int32_t>(histogram.first_bin());
  // Counts are integers: here the number of parts may follow the threads.
  const std::int64_t chunks = std::clamp<std::int64_t>(n / (2 * kChunk), 1, thread_count());
  const std::int64_t chunk = ((n + chunks - 1) / chunks + 63) / 64 * 64;
  std::vector<std::uint32_t> tables(static_cast<std::size_t>(chunks) * bins * kBinTables);
  parallel_for(chunks, [&](std::int64_t i) {
    const std::int64_t begin = i * chunk, count = std::min(chunk, n - begin);
    std::uint32_t* table = tables.data() + static_cast<std::size_t>(i) * bins * kBinTables;
    if (count <= 0) return;
    if (full) count_bins(x + begin, count, histogram.exponent(), first, table);
    else count_bins_of_quarter(x + begin, count, begin / 64, histogram.exponent(), first, table);
  });
  std::vector<std::uint64_t> sums(bins);
  for (std::size_t t = 0; t < tables.size(); t += bins * kBinTables) {
    for (std::size_t b = 0; b < bins; ++b) sums[b] += std::uint64_t{tables[t + b * kBinTables]} + tables[t + b * kBinTables + 1];
  }
  for (std::size_t b = 0; b < bins; ++b) {
    if (sums[b] > 0) histogram.add_count(histogram.first_bin() + static_cast<std::int64_t>(b), sums[b]);
  }
}

}  // namespace

void observe(const Tensor& tensor, ValueStats& stats) {
  static_assert(kBinTables == 2);
  const float* x = tensor.data<float>();
  const std::int64_t n = tensor.elements();
  if (n == 0) return;
  const std::int64_t last = tensor.shape().empty() ? 1 : tensor.shape().back();
  const bool has_channels = last <= ValueStats::kMaxChannels;
  const std::int64_t channels = has_channels ? last : kUnnamedChannels;

  const bool first_time = stats.elements == stats.nan_count + stats.inf_count;  // nothing finite so far
  bool finite = true;
  Extremes seen = scan_finite(x, n, channels, &finite);
  if (!finite) seen = scan_any(x, n, channels, stats);
  ++stats.samples;
  stats.elements += static_cast<std::uint64_t>(n);
  const float lo = *std::min_element(seen.min.begin(), seen.min.end()), hi = *std::max_element(seen.max.begin(), seen.max.end());
  if (!(lo <= hi)) return;  // not one finite element
  stats.min = first_time ? lo : std::min(stats.min, lo);
  stats.max = first_time ? hi : std::max(stats.max, hi);
  stats.sum_of_min.add(static_cast<double>(lo));
  stats.sum_of_max.add(static_cast<double>(hi));
  if (has_channels) {
    const auto width = static_cast<std::size_t>(channels);
    stats.channel_sum.resize(width);
    stats.channel_squares.resize(width);
    stats.channel_min.resize(width, std::numeric_limits<float>::infinity());
    stats.channel_max.resize(width, -std::numeric_limits<float>::infinity());
    for (std::size_t c = 0; c < width; ++c) {
      stats.channel_min[c] = std::min(stats.channel_min[c], seen.min[c]);
      stats.channel_max[c] = std::max(stats.channel_max[c], seen.max[c]);
      if (seen.count[c] == 0) continue;
      stats.channel_sum[c].add(seen.sum[c] / static_cast<double>(seen.count[c]));
      stats.channel_squares[c].add(seen.squares[c] / static_cast<double>(seen.count[c]));
    }
  }
  stats.histogram.cover(lo, hi);
  if (finite) {
    fill_histogram(x, n, stats.histogram);
  } else {
    std::vector<float> kept;
    std::copy_if(x, x + n, std::back_inserter(kept), [](float v) { return std::isfinite(v); });
    stats.histogram.add(kept);
  }
}

}  // namespace narrow
