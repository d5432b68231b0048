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
    return _mm512_maskz_loadu_epi8(mask, p);
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
    return _mm256_maskz_loadu_epi8(mask, p);
  }
  NARROW_VNNI_INLINE Vector low8(Vector a, Vector b) { return _mm256_unpacklo_epi8(a, b); }
  NARROW_VNNI_INLINE Vector high8(Vector a, Vector b) { return _mm256_unpackhi_epi8(a, b); }
  NARROW_VNNI_INLINE Vector low16(Vector a, Vector b) { return _mm256_unpacklo_epi16(a, b); }
  NARROW_VNNI_INLINE Vector high16(Vector a, Vector b) { return _mm256_unpackhi_epi16(a, b); }
  NARROW_VNNI_INLINE Vector dot(Vector acc, Vector x, Vector w) { return _mm256_dpbusd_epi32(acc, x, w); }
};

// The four pixels x[0..3], one per kernel row, as dot product operands of 4 bytes per channel, in lane order.
template <typename V>
NARROW_VNNI_INLINE void interleave(const typename V::Vector (&x)[4], typename V::Vector (&out)[4]) {
  const typename V::Vector low01 = V::low8(x[0], x[1]), high01 = V::high8(x[0], x[1]);
  const typename V::Vector low23 = V::low8(x[2], x[3]), high23 = V::high8(x[2], x[3]);
  out[0] = V::low16(low01, low23);
  out[1] = V::high16(low01, low23);
  out[2] = V::low16(high01, high23);
  out[3] = V::high16(high01, high23);
}

// The `count` columns from t.column on, to t.columns[column][row group][4 registers].
template <typename V>
NARROW_VNNI void form_columns(const DepthwiseTile& t, std::int64_t count, std::int64_t row_groups) {
  using Vector = typename V::Vector;
  const Vector zero_point = V::load(t.padding);
  for (std::int64_t group = 0; group < row_groups; ++group) {
    const std::uint8_t* rows[4];
    for (std::int64_t i = 0; i < 4; ++i) rows[i] = group * 4 + i < t.kernel_h ? t.rows[group * 4 + i] : nullptr;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t column = t.column + i;
      const bool inside = column >= 0 && column < t.in_w;
      Vector x[4], packed[4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) x[r] = !inside || rows[r] == nullptr ? zero_point : V::load_pixel(rows[r] + column * t.in_c, t.channels);
      interleave<V>(x, packed);
      std::uint8_t* out = t.columns + (i * row_groups + group) * 4 * V::kBytes;
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) V::store(out + v * V::kBytes, packed[v]);
    }
  }
}

// Any kernel: all columns are formed first.
template <typename V>
NARROW_VNNI void tile_any(const DepthwiseTile& t) {
  using Vector = typename V::Vector;
  const std::int64_t row_groups = (t.kernel_h + 3) / 4, column_bytes = row_groups * 4 * V::kBytes;
  form_columns<V>(t, (t.pixels - 1) * t.stride + (t.kernel_w - 1) * t.dilation + 1, row_groups);
  for (std::int64_t p = 0; p < t.pixels; ++p) {
    Vector acc[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) acc[v] = V::load(t.bias + v * (V::kBytes / 4));
    const std::int8_t* w = t.weights;
    for (std::int64_t kx = 0; kx < t.kernel_w; ++kx) {
      const std::uint8_t* column = t.columns + (p * t.stride + kx * t.dilation) * column_bytes;
      for (std::int64_t group = 0; group < row_groups; ++group, column += 4 * V::kBytes, w += 4 * V::kBytes) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) acc[v] = V::dot(acc[v], V::load(column + v * V::kBytes), V::load(w + v * V::kBytes));
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) V::store(t.acc + p * V::kBytes + v * (V::kBytes / 4), acc[v]);
  }
}

// 3x3 without dilation: a column is used for its three (stride 2: one or two) pixels as soon as it is formed.
template <typename V, int kStride>
NARROW_VNNI void tile_3x3(const DepthwiseTile& t) {
  using Vector = typename V::Vector;
  Vector bias[4], w[3][4], open[2][4];  // open: sums of the pixels that have had one column (0) and two columns (1)
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    bias[v] = open[0][v] = open[1][v] = V::load(t.bias + v * (V::kBytes / 4));
#pragma GCC unroll 3
    for (int kx = 0; kx < 3; ++kx) w[kx][v] = V::load(t.weights + (kx * 4 + v) * V::kBytes);
  }
  const Vector zero_point = V::load(t.padding);
  const std::uint8_t* row[3];
  std::int64_t step[3];
  for (int r = 0; r < 3; ++r) {
    const bool inside = t.rows[r] != nullptr;
    step[r] = inside ? t.in_c : 0;
    row[r] = inside ? t.rows[r] : t.padding;
  }
  const std::int64_t count = (t.pixels - 1) * kStride + 3;
  std::int32_t* acc = t.acc;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t column = t.column + i;
    Vector x[4] = {zero_point, zero_point, zero_point, zero_point}, packed[4];
    if (column >= 0 && column < t.in_w) {
#pragma GCC unroll 3
      for (int r = 0; r < 3; ++r) x[r] = V::load_pixel(row[r] + column * step[r], t.channels);
    }
    interleave<V>(x, packed);
    if (kStride == 2 && i % 2 != 0) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) open[1][v] = V::dot(open[0][v], packed[v], w[1][v]);
      continue;
    }
    if (i >= 2) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) V::store(acc + v * (V::kBytes / 4), V::dot(open[1][v], packed[v], w[2][v]));
      acc += V::kBytes;
    }
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      if (kStride == 1) open[1][v] = V::dot(open[0][v], packed[v], w[1][v]);
      open[0][v] = V::dot(bias[v], packed[v], w[0][v]);
    }
  }
}

template <typename V>
void tile(const DepthwiseTile& t) {
  if (t.kernel_w != 3 || t.kernel_h != 3 || t.dilation != 1 || t.stride > 2) {
    tile_any<V>(t);
  } else if (t.stride == 1) {
    tile_3x3<V, 1>(t);
  } else {
    tile_3x3<V, 2>(t);
  }
}

constexpr DepthwiseForm kForm{.rows = 4, .order = ChannelOrder::kLanes, .wide = tile<Full>, .wide_block = 64, .narrow = tile<Half>, .narrow_block = 32};

}  // namespace

const DepthwiseForm& depthwise_form_avx512vnni() { return kForm; }

}  // namespace narrow
#endif
