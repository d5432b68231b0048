// AVX2: a column holds two kernel rows of each channel, widened to 16 bits, in one 32-bit lane (vpmaddwd cannot saturate).
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "kernels/depthwise_u8s8.h"

#define NARROW_AVX2 __attribute__((target("avx2")))
#define NARROW_AVX2_INLINE NARROW_AVX2 __attribute__((always_inline)) inline

namespace narrow {
namespace {

constexpr std::int64_t kBlock = 16, kColumnBytes = kBlock * 4;

NARROW_AVX2_INLINE __m256i load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
NARROW_AVX2_INLINE void store(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
NARROW_AVX2_INLINE __m128i load_pixel(const std::uint8_t* p, std::int64_t channels) {
  if (channels >= kBlock) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  __m128i x = _mm_setzero_si128();
  std::memcpy(&x, p, static_cast<std::size_t>(channels));
  return x;
}

NARROW_AVX2 void tile(const DepthwiseTile& t) {
  const std::int64_t row_pairs = (t.kernel_h + 1) / 2, count = (t.pixels - 1) * t.stride + (t.kernel_w - 1) * t.dilation + 1;
  const __m128i zero_point = _mm_set1_epi8(static_cast<char>(t.zero_point));
  for (std::int64_t pair = 0; pair < row_pairs; ++pair) {
    const std::uint8_t* first = t.rows[2 * pair];
    const std::uint8_t* second = 2 * pair + 1 < t.kernel_h ? t.rows[2 * pair + 1] : nullptr;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t column = t.column + i;
      const bool inside = column >= 0 && column < t.in_w;
      const __m128i a = inside && first != nullptr ? load_pixel(first + column * t.in_c, t.channels) : zero_point;
      const __m128i b = inside && second != nullptr ? load_pixel(second + column * t.in_c, t.channels) : zero_point;
      std::uint8_t* out = t.columns + (i * row_pairs + pair) * kColumnBytes;
      store(out, _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b)));
      store(out + 32, _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b)));
    }
  }
  const __m256i bias0 = load(t.bias), bias1 = load(t.bias + 8);
  for (std::int64_t p = 0; p < t.pixels; ++p) {
    __m256i acc0 = bias0, acc1 = bias1;
    for (std::int64_t kx = 0; kx < t.kernel_w; ++kx) {
      const std::uint8_t* column = t.columns + (p * t.stride + kx * t.dilation) * row_pairs * kColumnBytes;
      const std::int8_t* w = t.weights + kx * row_pairs * kColumnBytes;
      for (std::int64_t pair = 0; pair < row_pairs; ++pair, column += kColumnBytes, w += kColumnBytes) {
        acc0 = _mm256_add_epi32(acc0, _mm256_madd_epi16(load(column), load(w)));
        acc1 = _mm256_add_epi32(acc1, _mm256_madd_epi16(load(column + 32), load(w + 32)));
      }
    }
    store(t.acc + p * kBlock, acc0);
    store(t.acc + p * kBlock + 8, acc1);
  }
}

constexpr DepthwiseForm kForm{.rows = 2, .widened = true, .wide = tile, .wide_block = kBlock, .narrow = tile, .narrow_block = kBlock};

}  // namespace

const DepthwiseForm& depthwise_form_avx2() { return kForm; }

}  // namespace narrow
#endif
