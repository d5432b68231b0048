#include "tensor/quant_params.h"

#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "base/text.h"

namespace narrow {
namespace {

constexpr std::int64_t kChunk = 1 << 15;  // elements that one thread takes at a time

int width_of(const QuantParams& p) { return p.bits > 0 ? p.bits : static_cast<int>(size_of(p.dtype)) * 8; }
bool is_signed(DType dtype) { return dtype != DType::kU8 && dtype != DType::kU16; }

// Calls fn(index of the channel, first element, count) over runs of equal channel.
template <typename Fn>
void for_channels(const Shape& shape, int axis, const Fn& fn) {
  if (axis < 0) return fn(std::size_t{0}, std::int64_t{0}, element_count(shape));
  std::int64_t inner = 1, outer = 1;
  for (int i = 0; i < axis; ++i) outer *= shape[static_cast<std::size_t>(i)];
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  const std::int64_t channels = shape[static_cast<std::size_t>(axis)];
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t c = 0; c < channels; ++c) fn(static_cast<std::size_t>(c), (o * channels + c) * inner, inner);
  }
}

template <typename Fn>
void with_integer(DType dtype, const Fn& fn) {
  switch (dtype) {
    case DType::kI8: return fn(std::int8_t{});
    case DType::kU8: return fn(std::uint8_t{});
    case DType::kI16: return fn(std::int16_t{});
    case DType::kU16: return fn(std::uint16_t{});
    case DType::kI32: return fn(std::int32_t{});
    case DType::kI64: return fn(std::int64_t{});
    default: NARROW_CHECK(false, "{} is not a quantized type", name_of(dtype));
  }
}

// quantize() of a run of elements, without branches so that compilers vectorise it: where there is a rounding instruction it is
// an order of magnitude faster than the library call, with the same bits.
template <typename T>
[[gnu::always_inline]] inline void quantize_elements(const float* x, T* y, std::int64_t n, float scale, std::int32_t zero_point, std::int32_t qmin, std::int32_t qmax) {
  const auto zero = static_cast<float>(zero_point), low = static_cast<float>(qmin), high = static_cast<float>(qmax);
  for (std::int64_t i = 0; i < n; ++i) {
    float q = __builtin_nearbyintf(x[i] / scale) + zero;
    q = q != q ? zero : q;
    q = q < low ? low : q;
    q = q > high ? high : q;
    y[i] = static_cast<T>(static_cast<std::int32_t>(q));
  }
}

template <typename T>
void quantize_run(const float* x, T* y, std::int64_t n, float scale, std::int32_t zero_point, std::int32_t qmin, std::int32_t qmax) {
  quantize_elements(x, y, n, scale, zero_point, qmin, qmax);
}

template <typename T>
__attribute__((target("avx2"))) void quantize_run_avx2(const float* x, T* y, std::int64_t n, float scale, std::int32_t zero_point, std::int32_t qmin, std::int32_t qmax) {
  quantize_elements(x, y, n, scale, zero_point, qmin, qmax);
}

}  // namespace

QuantParams QuantParams::per_tensor(DType dtype, float scale, std::int32_t zero_point) {
  QuantParams p;
  p.dtype = dtype;
  p.scale = {scale};
  p.zero_point = {zero_point};
  return p;
}

std::int64_t QuantParams::qmin() const {
  if (!is_signed(dtype)) return 0;
  return -qmax() - (narrow_range ? 0 : 1);
}

std::int64_t QuantParams::qmax() const {
  const int width = width_of(*this);
  return is_signed(dtype) ? (width == 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << (width - 1)) - 1) : (std::int64_t{1} << width) - 1;
}

std::string QuantParams::to_string() const {
  std::string out(name_of(dtype));
  if (bits > 0) out += fmt::format(" bits={}", bits);
  if (!per_channel()) return out + fmt::format(" scale={} zp={}", exact(scale[0]), zero_point[0]);
  const auto [low, high] = std::minmax_element(scale.begin(), scale.end());
  const auto [zlow, zhigh] = std::minmax_element(zero_point.begin(), zero_point.end());
  out += fmt::format(" axis={} scale[{}]={}..{}", axis, scale.size(), exact(*low), exact(*high));
  return out + (*zlow == *zhigh ? fmt::format(" zp={}", *zlow) : fmt::format(" zp={}..{}", *zlow, *zhigh));
}

Tensor quantize(const Tensor& real, const QuantParams& params) {
  Tensor out(params.dtype, real.shape());
  quantize(real, params, out);
  return out;
}

void quantize(const Tensor& real, const QuantParams& params, Tensor& codes) {
  const float* x = real.data<float>();
  const double low = static_cast<double>(params.qmin()), high = static_cast<double>(params.qmax());
  with_integer(params.dtype, [&](auto tag) {
    using T = decltype(tag);
    T* y = codes.data<T>();
    for_channels(real.shape(), params.axis, [&](std::size_t c, std::int64_t begin, std::int64_t count) {
      const float s = params.scale[c];
      const std::int32_t z = params.zero_point[c];
      if constexpr (sizeof(T) <= 2) {
        const auto run = __builtin_cpu_supports("avx2") ? quantize_run_avx2<T> : quantize_run<T>;
        parallel_for((count + kChunk - 1) / kChunk, [&](std::int64_t i) {
          const std::int64_t from = begin + i * kChunk;
          run(x + from, y + from, std::min(kChunk, begin + count - from), s, z, static_cast<std::int32_t>(low), static_cast<std::int32_t>(high));
        });
      } else {  // biases: double keeps all 32 bits
        for (std::int64_t i = begin; i < begin + count; ++i) {
          const double q = round_half_even(static_cast<double>(x[i]) / static_cast<double>(s)) + z;
          y[i] = q <= low ? static_cast<T>(params.qmin()) : q >= high ? static_cast<T>(params.qmax()) : static_cast<T>(q);
        }
      }
    });
  });
}

Tensor dequantize(const Tensor& quantized, const QuantParams& params) {
  Tensor out(DType::kF32, quantized.shape());
  dequantize(quantized, params, out);
  return out;
}

void dequantize(const Tensor& quantized, const QuantParams& params, Tensor& real) {
  float* y = real.data<float>();
  with_integer(quantized.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = quantized.data<T>();
    for_channels(quantized.shape(), params.axis, [&](std::size_t c, std::int64_t begin, std::int64_t count) {
      const double s = static_cast<double>(params.scale[c]);
      const std::int64_t z = params.zero_point[c];
      parallel_for((count + kChunk - 1) / kChunk, [&](std::int64_t i) {
        const std::int64_t from = begin + i * kChunk, end = std::min(begin + count, from + kChunk);
        for (std::int64_t k = from; k < end; ++k) {
          if constexpr (sizeof(T) <= 2) y[k] = static_cast<float>(s * static_cast<double>(static_cast<std::int32_t>(x[k]) - static_cast<std::int32_t>(z)));
          else y[k] = static_cast<float>(s * static_cast<double>(static_cast<std::int64_t>(x[k]) - z));
        }
      });
    });
  });
}

QuantParams params_from_range(double lo, double hi, const GridOptions& options) {
  NARROW_CHECK(std::isfinite(lo) && std::isfinite(hi) && lo <= hi, "range [{}, {}]", lo, hi);
  QuantParams p;
  p.dtype = options.dtype;
  p.bits = options.bits;
  p.narrow_range = options.narrow_range;
  lo = std::min(lo, 0.0);
  hi = std::max(hi, 0.0);
  const auto qmin = static_cast<double>(p.qmin()), qmax = static_cast<double>(p.qmax());
  const bool has_negatives = is_signed(p.dtype);
  double scale = 0;
  double zero = 0;
  if (options.symmetric) {
    const double bound = std::max(-lo, hi);
    zero = has_negatives ? 0 : (lo < 0 ? (qmax + 1) / 2 : 0);  // unsigned data keep the whole unsigned grid
    scale = bound / (qmax - zero);
  } else {
    scale = (hi - lo) / (qmax - qmin);
  }
  // Nothing to represent (all zeros, or denormals that no multiplier could express): any scale is exact for 0. That of a range as wide as 1
  // is tame, and fine enough for the bias that is counted in it.
  if (scale < static_cast<double>(std::numeric_limits<float>::min())) scale = 1 / (qmax - qmin);
  const auto single = static_cast<float>(std::min(scale, static_cast<double>(std::numeric_limits<float>::max())));
  if (!options.symmetric) zero = std::clamp(round_half_even(qmin - lo / static_cast<double>(single)), qmin, qmax);
  p.scale = {single};
  p.zero_point = {static_cast<std::int32_t>(zero)};
  return p;
}

}  // namespace narrow
