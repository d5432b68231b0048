// AVX2 form: 16 channels at a time.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#include "kernels/requantize_row.h"

#define NARROW_AVX2 __attribute__((target("avx2")))
#define NARROW_AVX2_INLINE NARROW_AVX2 __attribute__((always_inline)) inline

namespace narrow {
namespace {

struct Factors {  // of 8 channels
  __m256i multiplier, multiplier_odd, shift, round, half;
  __m256i left, lowest, highest;  // of large factors
  __m256 scale;
};

NARROW_AVX2_INLINE __m256i load(const std::int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

template <Rounding kMode, bool kLarge>
NARROW_AVX2_INLINE Factors load_factors(const RequantizeTable& t, std::int64_t channel) {
  Factors f{};
  if constexpr (kMode == Rounding::kFloatRne) {
    f.scale = _mm256_loadu_ps(t.scale.data() + channel);
  } else {
    f.multiplier = load(t.multiplier.data() + channel);
    f.multiplier_odd = _mm256_srli_epi64(f.multiplier, 32);
    f.shift = load(t.shift.data() + channel);
    f.round = load(t.round.data() + channel);
    f.half = _mm256_srli_epi32(f.round, 1);
  }
  if constexpr (kLarge) {
    f.left = load(t.left.data() + channel);
    f.lowest = load(t.lowest.data() + channel);
    f.highest = load(t.highest.data() + channel);
  }
  return f;
}

template <bool kDoubled>
NARROW_AVX2_INLINE __m256i high_half(__m256i acc, const Factors& f) {
  __m256i even = _mm256_mul_epi32(acc, f.multiplier);
  __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(acc, 32), f.multiplier_odd);
  if constexpr (kDoubled) {
    const __m256i nudge = _mm256_set1_epi64x(std::int64_t{1} << 31);
    even = _mm256_add_epi64(_mm256_add_epi64(even, even), nudge);
    odd = _mm256_add_epi64(_mm256_add_epi64(odd, odd), nudge);
  }
  return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}

// See requantize_row_avx512.cpp.
template <Rounding kMode, bool kLarge>
NARROW_AVX2_INLINE __m256i rescale8(__m256i acc, const Factors& f, __m256 top) {
  if constexpr (kLarge) acc = _mm256_sllv_epi32(_mm256_min_epi32(_mm256_max_epi32(acc, f.lowest), f.highest), f.left);
  if constexpr (kMode == Rounding::kSingleRound) {
    return _mm256_srav_epi32(_mm256_add_epi32(high_half<false>(acc, f), f.round), f.shift);
  } else if constexpr (kMode == Rounding::kDoubleRound) {
    const __m256i high = high_half<true>(acc, f);
    const __m256i threshold = _mm256_sub_epi32(f.half, _mm256_srai_epi32(high, 31));
    const __m256i up = _mm256_cmpgt_epi32(_mm256_and_si256(high, f.round), threshold);
    return _mm256_sub_epi32(_mm256_srav_epi32(high, f.shift), up);
  } else {
    return _mm256_cvtps_epi32(_mm256_min_ps(top, _mm256_mul_ps(_mm256_cvtepi32_ps(acc), f.scale)));
  }
}

template <Rounding kMode, bool kI16, bool kLarge>
NARROW_AVX2 void block16(const RequantizeTable& t, const std::int32_t* acc, std::ptrdiff_t acc_stride, std::int64_t rows, std::int64_t channel,
                         std::int64_t channels, void* y, std::ptrdiff_t y_stride) {
  const Factors f0 = load_factors<kMode, kLarge>(t, channel), f1 = load_factors<kMode, kLarge>(t, channel + 8);
  const RowGrid& g = t.grid;
  const __m256 top = _mm256_set1_ps(static_cast<float>(g.high - g.zero_point));
  const __m256i low32 = _mm256_set1_epi32(g.low - g.zero_point), high32 = _mm256_set1_epi32(g.high - g.zero_point);
  const __m256i low16 = _mm256_set1_epi16(static_cast<short>(g.low)), high16 = _mm256_set1_epi16(static_cast<short>(g.high));
  const __m256i zero_point32 = _mm256_set1_epi32(g.zero_point), zero_point16 = _mm256_set1_epi16(static_cast<short>(g.zero_point));
  const std::size_t bytes = static_cast<std::size_t>(channels) * (kI16 ? 2 : 1);
  for (std::int64_t row = 0; row < rows; ++row, acc += acc_stride) {
    __m256i q0 = rescale8<kMode, kLarge>(load(acc), f0, top);
    __m256i q1 = rescale8<kMode, kLarge>(load(acc + 8), f1, top);
    if constexpr (kI16) {
      q0 = _mm256_add_epi32(_mm256_min_epi32(_mm256_max_epi32(q0, low32), high32), zero_point32);
      q1 = _mm256_add_epi32(_mm256_min_epi32(_mm256_max_epi32(q1, low32), high32), zero_point32);
      const __m256i q = _mm256_permute4x64_epi64(_mm256_packs_epi32(q0, q1), 0xD8);
      std::int16_t* out = static_cast<std::int16_t*>(y) + row * y_stride;
      if (channels == 16) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), q);
      } else {
        std::memcpy(out, &q, bytes);
      }
    } else {
      __m256i q = _mm256_adds_epi16(_mm256_packs_epi32(q0, q1), zero_point16);
      q = _mm256_min_epi16(_mm256_max_epi16(q, low16), high16);
      q = _mm256_permute4x64_epi64(q, 0xD8);
      const __m128i packed = _mm_packus_epi16(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
      std::uint8_t* out = static_cast<std::uint8_t*>(y) + row * y_stride;
      if (channels == 16) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out), packed);
      } else {
        std::memcpy(out, &packed, bytes);
      }
    }
  }
}

template <Rounding kMode, bool kI16>
void rows_on(const RequantizeTable& t, const std::int32_t* acc, std::ptrdiff_t acc_stride, std::int64_t count, std::int64_t channel, std::int64_t channels,
             void* y, std::ptrdiff_t y_stride) {
  for (std::int64_t c = 0; c < channels; c += 16) {
    const std::int64_t n = std::min<std::int64_t>(channels - c, 16);
    const auto form = kMode != Rounding::kFloatRne && t.large(channel + c, n) ? block16<kMode, kI16, kMode != Rounding::kFloatRne> : block16<kMode, kI16, false>;
    form(t, acc + c, acc_stride, count, channel + c, n, static_cast<char*>(y) + c * (kI16 ? 2 : 1), y_stride);
  }
}

template <Rounding kMode>
void rows(const RequantizeTable& t, const std::int32_t* acc, std::ptrdiff_t acc_stride, std::int64_t count, std::int64_t channel, std::int64_t channels,
          void* y, std::ptrdiff_t y_stride) {
  (t.grid.i16 ? rows_on<kMode, true> : rows_on<kMode, false>)(t, acc, acc_stride, count, channel, channels, y, y_stride);
}

}  // namespace

RequantizeFn requantize_rows_avx2(Rounding mode) {
  switch (mode) {
    case Rounding::kSingleRound: return rows<Rounding::kSingleRound>;
    case Rounding::kDoubleRound: return rows<Rounding::kDoubleRound>;
    case Rounding::kFloatRne: return rows<Rounding::kFloatRne>;
  }
  return nullptr;
}

}  // namespace narrow
#endif
