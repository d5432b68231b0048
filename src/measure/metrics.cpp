#include "measure/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "base/clones.h"
#include "base/parallel.h"

namespace narrow {
namespace {

constexpr std::size_t kLanes = 8;       // sums side by side, so that the loops can be vectorised; the order of additions is fixed
constexpr std::size_t kChunk = 1 << 15;  // elements; fixed, so that results do not depend on threads

struct Sums {
  double signal[kLanes] = {}, noise[kLanes] = {}, power[kLanes] = {}, product[kLanes] = {}, largest[kLanes] = {};
  std::uint64_t bad = 0, lost = 0;
};

// Vectors of the compiler: eight lanes on every processor, whatever the width of its registers.
using Floats = float __attribute__((vector_size(4 * kLanes)));
using Words = std::int32_t __attribute__((vector_size(4 * kLanes)));
using Doubles = double __attribute__((vector_size(8 * kLanes)));
using Longs = std::int64_t __attribute__((vector_size(8 * kLanes)));

// n: a multiple of kLanes. Pairs that are not both finite count as bad and as 0, 0; where the reference is, as lost.
NARROW_CLONES void add_whole(const float* reference, const float* other, std::size_t n, Sums& total) {
  Doubles signal{}, noise{}, power{}, product{}, largest{};
  Words bad{}, lost{};
  for (std::size_t i = 0; i < n; i += kLanes) {
    Floats x, y;
    std::memcpy(&x, reference + i, sizeof x);
    std::memcpy(&y, other + i, sizeof y);
    const Words known = x - x == 0.0F, finite = known & (y - y == 0.0F);  // all ones; infinities and NaN: zero
    bad += finite + 1;
    lost -= known & ~finite;
    const Doubles a = __builtin_convertvector(reinterpret_cast<Floats>(reinterpret_cast<Words>(x) & finite), Doubles);
    const Doubles b = __builtin_convertvector(reinterpret_cast<Floats>(reinterpret_cast<Words>(y) & finite), Doubles);
    const Doubles d = a - b;
    signal += a * a;
    power += b * b;
    product += a * b;
    noise += d * d;
    const Longs size = reinterpret_cast<Longs>(d) & std::numeric_limits<std::int64_t>::max();
    const Longs larger = reinterpret_cast<Doubles>(size) > largest;
    largest = reinterpret_cast<Doubles>((size & larger) | (reinterpret_cast<Longs>(largest) & ~larger));
  }
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    total.signal[lane] = signal[lane];
    total.noise[lane] = noise[lane];
    total.power[lane] = power[lane];
    total.product[lane] = product[lane];
    total.largest[lane] = largest[lane];
    total.bad += static_cast<std::uint64_t>(bad[lane]);
    total.lost += static_cast<std::uint64_t>(lost[lane]);
  }
}

Sums sums_of(const float* reference, const float* other, std::size_t n) {
  Sums sums, rest;
  const std::size_t whole = n / kLanes * kLanes;
  add_whole(reference, other, whole, sums);
  if (whole == n) return sums;
  float last[2][kLanes] = {};
  std::copy_n(reference + whole, n - whole, last[0]);
  std::copy_n(other + whole, n - whole, last[1]);
  add_whole(last[0], last[1], kLanes, rest);  // pairs of zeros add nothing
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sums.signal[lane] += rest.signal[lane];
    sums.noise[lane] += rest.noise[lane];
    sums.power[lane] += rest.power[lane];
    sums.product[lane] += rest.product[lane];
    sums.largest[lane] = std::max(sums.largest[lane], rest.largest[lane]);
  }
  sums.bad += rest.bad;
  sums.lost += rest.lost;
  return sums;
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
    chunks[static_cast<std::size_t>(i)] = sums_of(reference.data() + begin, values_at(begin, count), count);
  });
  elements_ += reference.size();
  for (const Sums& sums : chunks) {
    elements_ -= sums.bad;
    non_finite_ += sums.bad;
    lost_ += sums.lost;
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
  if (lost_ > 0 || (elements_ == 0 && non_finite_ > 0)) return -std::numeric_limits<double>::infinity();
  if (noise_ == 0) return std::numeric_limits<double>::infinity();
  if (signal_ == 0) return -std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal_ / noise_);
}

double ErrorMetrics::cosine() const {
  if (lost_ > 0 || (elements_ == 0 && non_finite_ > 0)) return 0;
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
