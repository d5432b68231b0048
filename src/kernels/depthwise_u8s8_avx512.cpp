// VNNI: a column holds 4 kernel rows of each channel in one 32-bit lane. Blocks of 64 channels fill four registers; a
// last block of at most 32 channels uses registers of half the length.
#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC bug 105593: false alarms inside the intrinsics
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "kernels/depthwise_u8s8.h"

#define NARROW_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define NARROW_VNNI_INLINE NARROW_VNNI __attribute__((always_inline)) static inline

namespace narrow {
namespace {

struct Full {
  using Vector = __m512i;
  static constexpr std::int64_t kBytes = 64;
  NARROW_VNNI_INLINE Vector load(const void* p) { return _mm512_loadu_si512(p); }
  NARROW_VNNI_INLINE void store(void* p, Vector v) { _mm512_storeu_si512(p, v); }
  NARROW_VNNI_INLINE Vector fill(std::uint8_t x) { return _mm512_set1_epi8(static_cast<char>(x)); }
  NARROW_VNNI_INLINE Vector load_pixel(const void* p, std::int64_t channels) {
    const __mmask64 mask = channels >= 64 ? ~0ULL : (1ULL << channels) - 1;
    // The unpacking below works within lanes of 16 bytes; transposing the 4-channel groups first makes its results consecutive.
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, _mm512_maskz_loadu_epi8(mask, p));
  }
  NARROW_VNNI_INLINE Vector low8(Vector a, Vector b) { return _mm512_unpacklo_epi8(a, b); }
  NARROW_VNNI_INLINE Vector high8(Vector a, Vector b) { return _mm512_unpackhi_epi8(a, b); }
  NARROW_VNNI_INLINE Vector low16(Vector a, Vector b) { return _mm512_unpacklo_epi16(a, b); }
  NARROW_VNNI_INLINE Vector high16(Vector a, Vector b) { return _mm512_unpackhi_epi16(a, b); }
  NARROW_VNNI_INLINE Vector dot(Vector acc, Vector x, Vector w) { return _mm512_dpbusd_epi32(acc, x, w); }
};

struct Half {
  using Vector = __m256i;
  static constexpr std::int64_t kBytes = 32;
  NARROW_VNNI_INLINE Vector load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  NARROW_VNNI_INLINE void store(void* p, Vector v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
  NARROW_VNNI_INLINE Vector fill(std::uint8_t x) { return _mm256_set1_epi8(static_cast<char>(x)); }
  NARROW_VNNI_INLINE Vector load_pixel(const void* p, std::int64_t channels) {
    const __mmask32 mask = channels >= 32 ? ~0U : (1U << channels) - 1;
    const __m256i order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    return _mm256_permutexvar_epi32(order, _mm256_maskz_loadu_epi8(mask, p));
  }
  NARROW_VNNI_INLINE Vector low8(Vector a, Vector b) { return _mm256_unpacklo_epi8(a, b); }
  NARROW_VNNI_INLINE Vector high8(Vector a, Vector b) { return _mm256_unpackhi_epi8(a, b); }
  NARROW_VNNI_INLINE Vector low16(Vector a, Vector b) { return _mm256_unpacklo_epi16(a, b); }
  NARROW_VNNI_INLINE Vector high16(Vector a, Vector b) { return _mm256_unpackhi_epi16(a, b); }
  NARROW_VNNI_INLINE Vector dot(Vector acc, Vector x, Vector w) { return _mm256_dpbusd_epi32(acc, x, w); }
};

// Columns [first, end) of the input, 4 kernel rows from `ky`, to out[column][row group][4 registers].
template <typename V>
NARROW_VNNI void form_columns(const DepthwiseTile& t, std::int64_t count, std::int64_t row_groups) {
  using Vector = typename V::Vector;
  const Vector zero_point = V::fill(t.zero_point);
  for (std::int64_t group = 0; group < row_groups; ++group) {
    const std::uint8_t* rows[4];
    for (std::int64_t i = 0; i < 4; ++i) rows[i] = group * 4 + i < t.kernel_h ? t.rows[group * 4 + i] : nullptr;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t column = t.column + i;
      std::uint8_t* out = t.columns + (i * row_groups + group) * 4 * V::kBytes;
      if (column < 0 || column >= t.in_w) {
        for (int v = 0; v < 4; ++v) V::store(out + v * V::kBytes, zero_point);
        continue;
      }
      Vector x[4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) x[r] = rows[r] == nullptr ? zero_point : V::load_pixel(rows[r] + column * t.in_c, t.channels);
      const Vector low01 = V::low8(x[0], x[1]), high01 = V::high8(x[0], x[1]);
      const Vector low23 = V::low8(x[2], x[3]), high23 = V::high8(x[2], x[3]);
      V::store(out, V::low16(low01, low23));
      V::store(out + V::kBytes, V::high16(low01, low23));
      V::store(out + 2 * V::kBytes, V::low16(high01, high23));
      V::store(out + 3 * V::kBytes, V::high16(high01, high23));
    }
  }
}

template <typename V>
NARROW_VNNI_INLINE void multiply(const DepthwiseTile& t, const std::int64_t kernel_w, const std::int64_t row_groups) {
  using Vector = typename V::Vector;
  Vector bias[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) bias[v] = V::load(t.bias + v * (V::kBytes / 4));
  for (std::int64_t p = 0; p < t.pixels; ++p) {
    Vector acc[4] = {bias[0], bias[1], bias[2], bias[3]};
#pragma GCC unroll 3
    for (std::int64_t kx = 0; kx < kernel_w; ++kx) {
      const std::uint8_t* column = t.columns + (p * t.stride + kx * t.dilation) * row_groups * 4 * V::kBytes;
      const std::int8_t* w = t.weights + kx * row_groups * 4 * V::kBytes;
      for (std::int64_t group = 0; group < row_groups; ++group) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) acc[v] = V::dot(acc[v], V::load(column + (group * 4 + v) * V::kBytes), V::load(w + (group * 4 + v) * V::kBytes));
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) V::store(t.acc + p * V::kBytes + v * (V::kBytes / 4), acc[v]);
  }
}

template <typename V>
NARROW_VNNI void tile(const DepthwiseTile& t) {
  const std::int64_t row_groups = (t.kernel_h + 3) / 4;
  form_columns<V>(t, (t.pixels - 1) * t.stride + (t.kernel_w - 1) * t.dilation + 1, row_groups);
  if (t.kernel_w == 3 && row_groups == 1) {
    multiply<V>(t, 3, 1);
  } else {
    multiply<V>(t, t.kernel_w, row_groups);
  }
}

constexpr DepthwiseForm kForm{.rows = 4, .wide = tile<Full>, .wide_block = 64, .narrow = tile<Half>, .narrow_block = 32};

}  // namespace

const DepthwiseForm& depthwise_form_avx512vnni() { return kForm; }

}  // namespace narrow
#endif
