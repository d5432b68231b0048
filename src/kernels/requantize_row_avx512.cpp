// AVX-512 form: 32 channels at a time, all rows of a tile for one set of factors held in registers.
#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC bug 105593: false alarms inside the intrinsics
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include "kernels/requantize_row.h"

#define NARROW_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define NARROW_AVX512_INLINE NARROW_AVX512 __attribute__((always_inline)) inline

namespace narrow {
namespace {

struct Factors {  // of 16 channels
  __m512i multiplier, multiplier_odd, shift, round, half;
  __m512 scale;
};

template <Rounding kMode>
NARROW_AVX512_INLINE Factors load_factors(const RequantizeTable& t, std::int64_t channel) {
  Factors f{};
  if constexpr (kMode == Rounding::kFloatRne) {
    f.scale = _mm512_loadu_ps(t.scale.data() + channel);
  } else {
    f.multiplier = _mm512_loadu_si512(t.multiplier.data() + channel);
    f.multiplier_odd = _mm512_srli_epi64(f.multiplier, 32);
    f.shift = _mm512_loadu_si512(t.shift.data() + channel);
    f.round = _mm512_loadu_si512(t.round.data() + channel);
    f.half = _mm512_srli_epi32(f.round, 1);
  }
  return f;
}

// High 32 bits of the 16 sums product + addend, where `doubled` products are taken twice.
template <bool kDoubled>
NARROW_AVX512_INLINE __m512i high_half(__m512i acc, const Factors& f) {
  __m512i even = _mm512_mul_epi32(acc, f.multiplier);
  __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(acc, 32), f.multiplier_odd);
  if constexpr (kDoubled) {
    const __m512i nudge = _mm512_set1_epi64(std::int64_t{1} << 31);
    even = _mm512_add_epi64(_mm512_add_epi64(even, even), nudge);
    odd = _mm512_add_epi64(_mm512_add_epi64(odd, odd), nudge);
  }
  return _mm512_mask_shuffle_epi32(odd, 0x5555, even, _MM_PERM_DDBB);
}

// The rescaled values; under float_rne not above `top` (as float), so that the conversion cannot wrap around.
template <Rounding kMode>
NARROW_AVX512_INLINE __m512i rescale16(__m512i acc, const Factors& f, __m512 top) {
  if constexpr (kMode == Rounding::kSingleRound) {
    return _mm512_srav_epi32(_mm512_add_epi32(high_half<false>(acc, f), f.round), f.shift);
  } else if constexpr (kMode == Rounding::kDoubleRound) {
    // floor((2 * product + 2^31) / 2^32) is gemmlowp's doubling high multiplication for either sign.
    const __m512i high = high_half<true>(acc, f);
    const __m512i threshold = _mm512_sub_epi32(f.half, _mm512_srai_epi32(high, 31));
    const __mmask16 up = _mm512_cmpgt_epi32_mask(_mm512_and_si512(high, f.round), threshold);
    const __m512i low = _mm512_srav_epi32(high, f.shift);
    return _mm512_mask_sub_epi32(low, up, low, _mm512_set1_epi32(-1));
  } else {
    // min(top, NaN) is NaN, which converts to INT32_MIN, as rescale_float() has it; so do values below the range.
    return _mm512_cvtps_epi32(_mm512_min_ps(top, _mm512_mul_ps(_mm512_cvtepi32_ps(acc), f.scale)));
  }
}

NARROW_AVX512_INLINE __m512i interleave_halves(__m512i packed) {
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), packed);
}

template <Rounding kMode, bool kI16>
NARROW_AVX512 void block32(const RequantizeTable& t, const std::int32_t* acc, std::ptrdiff_t acc_stride, std::int64_t rows, std::int64_t channel,
                           std::int64_t channels, void* y, std::ptrdiff_t y_stride) {
  const Factors f0 = load_factors<kMode>(t, channel), f1 = load_factors<kMode>(t, channel + 16);
  const OutputGrid& g = t.grid;
  const __m512 top = _mm512_set1_ps(static_cast<float>(g.high - g.zero_point));
  const __mmask32 mask = channels >= 32 ? 0xffffffffU : (1U << channels) - 1;
  if constexpr (kI16) {
    const __m512i low = _mm512_set1_epi32(g.low - g.zero_point), high = _mm512_set1_epi32(g.high - g.zero_point);
    const __m512i zero_point = _mm512_set1_epi16(static_cast<short>(g.zero_point));
    for (std::int64_t row = 0; row < rows; ++row, acc += acc_stride) {
      __m512i q0 = rescale16<kMode>(_mm512_loadu_si512(acc), f0, top);
      __m512i q1 = rescale16<kMode>(_mm512_loadu_si512(acc + 16), f1, top);
      q0 = _mm512_min_epi32(_mm512_max_epi32(q0, low), high);
      q1 = _mm512_min_epi32(_mm512_max_epi32(q1, low), high);
      // Adding the zero point modulo 2^16 is exact: the sum lies on the grid.
      const __m512i words = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(q0)), _mm512_cvtepi32_epi16(q1), 1);
      _mm512_mask_storeu_epi16(static_cast<std::int16_t*>(y) + row * y_stride, mask, _mm512_add_epi16(words, zero_point));
    }
  } else {
    const __m512i low = _mm512_set1_epi16(static_cast<short>(g.low)), high = _mm512_set1_epi16(static_cast<short>(g.high));
    const __m512i zero_point = _mm512_set1_epi16(static_cast<short>(g.zero_point));
    for (std::int64_t row = 0; row < rows; ++row, acc += acc_stride) {
      const __m512i q0 = rescale16<kMode>(_mm512_loadu_si512(acc), f0, top);
      const __m512i q1 = rescale16<kMode>(_mm512_loadu_si512(acc + 16), f1, top);
      // 16 saturated bits decide every clamp to a u8 grid.
      __m512i q = _mm512_adds_epi16(_mm512_packs_epi32(q0, q1), zero_point);
      q = _mm512_min_epi16(_mm512_max_epi16(q, low), high);
      const __m256i bytes = _mm512_cvtepi16_epi8(interleave_halves(q));
      std::uint8_t* out = static_cast<std::uint8_t*>(y) + row * y_stride;
      if (channels >= 32) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), bytes);
      } else {
        _mm256_mask_storeu_epi8(out, mask, bytes);
      }
    }
  }
}

template <Rounding kMode>
void rows(const RequantizeTable& t, const std::int32_t* acc, std::ptrdiff_t acc_stride, std::int64_t count, std::int64_t channel, std::int64_t channels,
          void* y, std::ptrdiff_t y_stride) {
  for (std::int64_t c = 0; c < channels; c += 32) {
    const std::int64_t n = std::min<std::int64_t>(channels - c, 32);
    void* out = static_cast<char*>(y) + c * (t.grid.i16 ? 2 : 1);
    const std::size_t first = static_cast<std::size_t>(channel + c);
    if (t.slow_before[first] != t.slow_before[first + static_cast<std::size_t>(n)]) {
      requantize_rows_portable(t, acc + c, acc_stride, count, channel + c, n, out, y_stride);
    } else if (t.grid.i16) {
      block32<kMode, true>(t, acc + c, acc_stride, count, channel + c, n, out, y_stride);
    } else {
      block32<kMode, false>(t, acc + c, acc_stride, count, channel + c, n, out, y_stride);
    }
  }
}

}  // namespace

RequantizeFn requantize_rows_avx512(Rounding mode) {
  switch (mode) {
    case Rounding::kSingleRound: return rows<Rounding::kSingleRound>;
    case Rounding::kDoubleRound: return rows<Rounding::kDoubleRound>;
    case Rounding::kFloatRne: return rows<Rounding::kFloatRne>;
  }
  return nullptr;
}

}  // namespace narrow
#endif
