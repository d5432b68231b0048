#include "measure/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "base/clones.h"
#include "base/parallel.h"

namespace narrow {
namespace {

constexpr std::size_t kLanes = 8;       // sums side by side, so that the loops can be vectorised; the order of additions is fixed
constexpr std::size_t kChunk = 1 << 15;  // elements; fixed, so that results do not depend on threads

struct Sums {
  double signal[kLanes] = {}, noise[kLanes] = {}, power[kLanes] = {}, product[kLanes] = {}, largest[kLanes] = {};
  std::uint64_t bad = 0;
};

template <typename Index>
inline void add_lanes(const float* reference, const float* other, Index lanes, Sums& sums, std::uint64_t* bad) {
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const float x = reference[lane], y = other[lane];
    const bool finite = x - x == 0 && y - y == 0;  // false for infinities and NaN
    const double a = finite ? static_cast<double>(x) : 0, b = finite ? static_cast<double>(y) : 0, d = a - b;
    bad[lane] += finite ? 0 : 1;
    sums.signal[lane] += a * a;
    sums.power[lane] += b * b;
    sums.product[lane] += a * b;
    sums.noise[lane] += d * d;
    const double size = d < 0 ? -d : d;
    sums.largest[lane] = sums.largest[lane] > size ? sums.largest[lane] : size;
  }
}

NARROW_CLONES void add_pairs(const float* reference, const float* other, std::size_t n, Sums& total) {
  Sums sums = total;
  std::uint64_t bad[kLanes] = {};
  const std::size_t whole = n / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) add_lanes(reference + i, other + i, std::integral_constant<std::size_t, kLanes>(), sums, bad);
  add_lanes(reference + whole, other + whole, n - whole, sums, bad);
  for (const std::uint64_t count : bad) sums.bad += count;
  total = sums;
}

NARROW_CLONES std::uint64_t count_outside(const float* x, std::size_t n, float low, float high) {
  std::uint64_t outside = 0;
  for (std::size_t i = 0; i < n; ++i) outside += x[i] < low || x[i] > high ? 1 : 0;
  return outside;
}

}  // namespace

template <typename Values>
void ErrorMetrics::add_chunks(std::span<const float> reference, const Values& values_at) {
  std::vector<Sums> chunks((reference.size() + kChunk - 1) / kChunk);
  parallel_for(static_cast<std::int64_t>(chunks.size()), [&](std::int64_t i) {
    const std::size_t begin = static_cast<std::size_t>(i) * kChunk, count = std::min(kChunk, reference.size() - begin);
    add_pairs(reference.data() + begin, values_at(begin, count), count, chunks[static_cast<std::size_t>(i)]);
  });
  elements_ += reference.size();
  for (const Sums& sums : chunks) {
    elements_ -= sums.bad;
    non_finite_ += sums.bad;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      signal_ += sums.signal[lane];
      noise_ += sums.noise[lane];
      other_ += sums.power[lane];
      product_ += sums.product[lane];
      max_abs_ = std::max(max_abs_, sums.largest[lane]);
    }
  }
}

void ErrorMetrics::add(std::span<const float> reference, std::span<const float> other) {
  NARROW_CHECK(reference.size() == other.size());
  add_chunks(reference, [&](std::size_t begin, std::size_t) { return other.data() + begin; });
}

void ErrorMetrics::add(const Tensor& reference, const Tensor& other) { add(reference.span<float>(), other.span<float>()); }

void ErrorMetrics::add_quantized(const Tensor& reference, const Tensor& other, const QuantParams& params) {
  NARROW_CHECK(reference.elements() == other.elements());
  if (params.per_channel()) return add(reference, dequantize(other, params));
  const auto* codes = static_cast<const std::byte*>(other.raw());
  const std::size_t size = size_of(other.dtype());
  // A chunk of codes becomes real in the cache of the thread that measures it; the whole tensor is never written out.
  add_chunks(reference.span<float>(), [&](std::size_t begin, std::size_t count) {
    thread_local std::vector<float> real(kChunk);
    Tensor chunk = Tensor::view(DType::kF32, {static_cast<std::int64_t>(count)}, real.data());
    dequantize(Tensor::view(other.dtype(), chunk.shape(), const_cast<std::byte*>(codes + begin * size)), params, chunk);
    return static_cast<const float*>(real.data());
  });
}

double ErrorMetrics::sqnr_db() const {
  if (elements_ == 0 && non_finite_ > 0) return -std::numeric_limits<double>::infinity();
  if (noise_ == 0) return std::numeric_limits<double>::infinity();
  if (signal_ == 0) return -std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal_ / noise_);
}

double ErrorMetrics::cosine() const {
  if (elements_ == 0 && non_finite_ > 0) return 0;
  if (signal_ == 0 && other_ == 0) return 1;
  if (signal_ == 0 || other_ == 0) return 0;
  return product_ / (std::sqrt(signal_) * std::sqrt(other_));
}

void ClipMeter::add(const Tensor& real, const QuantParams& params) {
  NARROW_CHECK(!params.per_channel(), "activations have one scale");
  const auto step = static_cast<double>(params.scale[0]);
  const auto low = static_cast<float>(params.lowest() - step);
  const auto high = static_cast<float>(params.highest() + step);
  const std::span<const float> values = real.span<float>();
  std::vector<std::uint64_t> outside((values.size() + kChunk - 1) / kChunk);
  parallel_for(static_cast<std::int64_t>(outside.size()), [&](std::int64_t i) {
    const std::size_t begin = static_cast<std::size_t>(i) * kChunk;
    outside[static_cast<std::size_t>(i)] = count_outside(values.data() + begin, std::min(kChunk, values.size() - begin), low, high);
  });
  clipped_ += std::accumulate(outside.begin(), outside.end(), std::uint64_t{0});
  elements_ += values.size();
}

}  // namespace narrow
