// AVX-512 form: 32 or 64 channels at a time, all rows of a tile for one set of factors held in registers.
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
  __m512i left, lowest, highest;  // of large factors
  __m512 scale;
};

template <Rounding kMode, bool kLarge>
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
  if constexpr (kLarge) {
    f.left = _mm512_loadu_si512(t.left.data() + channel);
    f.lowest = _mm512_loadu_si512(t.lowest.data() + channel);
    f.highest = _mm512_loadu_si512(t.highest.data() + channel);
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
template <Rounding kMode, bool kLarge>
NARROW_AVX512_INLINE __m512i rescale16(const std::int32_t* from, const Factors& f, __m512 top) {
  __m512i acc = _mm512_loadu_si512(from);
  if constexpr (kLarge) acc = _mm512_sllv_epi32(_mm512_min_epi32(_mm512_max_epi32(acc, f.lowest), f.highest), f.left);
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

struct Grid16 {  // constants of the grid for every form below
  __m512 top;
  __m512i zero_point16, zero_point32, low8, high8, low32, high32;
};
NARROW_AVX512_INLINE Grid16 load_grid(const RowGrid& g) {
  return {_mm512_set1_ps(static_cast<float>(g.high - g.zero_point)),
          _mm512_set1_epi16(static_cast<short>(g.zero_point)), _mm512_set1_epi32(g.zero_point),
          _mm512_set1_epi8(static_cast<char>(g.low)), _mm512_set1_epi8(static_cast<char>(g.high)),
          _mm512_set1_epi32(g.low - g.zero_point), _mm512_set1_epi32(g.high - g.zero_point)};
}

// Two vectors of results as 16-bit values, interleaved by lanes. For u8 grids saturated, which decides every later clamp.
template <bool kI16>
NARROW_AVX512_INLINE __m512i to_words(__m512i q0, __m512i q1, const Grid16& g) {
  if constexpr (!kI16) return _mm512_adds_epi16(_mm512_packs_epi32(q0, q1), g.zero_point16);
  q0 = _mm512_add_epi32(_mm512_min_epi32(_mm512_max_epi32(q0, g.low32), g.high32), g.zero_point32);
  q1 = _mm512_add_epi32(_mm512_min_epi32(_mm512_max_epi32(q1, g.low32), g.high32), g.zero_point32);
  return _mm512_packs_epi32(q0, q1);
}
NARROW_AVX512_INLINE __m512i to_bytes(__m512i words0, __m512i words1, const Grid16& g) {
  return _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(words0, words1), g.low8), g.high8);
}

NARROW_AVX512_INLINE void store(std::uint8_t* y, __m256i bytes, __mmask32 mask) {
  if (mask == 0xffffffffU) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), bytes);
  } else {
    _mm256_mask_storeu_epi8(y, mask, bytes);
  }
}

// At most 32 channels, either order. Bytes are packed two rows at a time.
template <Rounding kMode, bool kI16, bool kLarge>
NARROW_AVX512 void block32(const RequantizeTable& t, const std::int32_t* acc, std::ptrdiff_t acc_stride, std::int64_t rows, std::int64_t channel,
                           std::int64_t channels, void* y, std::ptrdiff_t y_stride) {
  const Factors f0 = load_factors<kMode, kLarge>(t, channel), f1 = load_factors<kMode, kLarge>(t, channel + 16);
  const Grid16 g = load_grid(t.grid);
  const __mmask32 mask = channels >= 32 ? 0xffffffffU : (1U << channels) - 1;
  const bool lanes = t.order == ChannelOrder::kLanes;
  if constexpr (kI16) {
    const __m512i order = lanes ? _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7) : _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for (std::int64_t row = 0; row < rows; ++row, acc += acc_stride) {
      const __m512i q0 = rescale16<kMode, kLarge>(acc, f0, g.top), q1 = rescale16<kMode, kLarge>(acc + 16, f1, g.top);
      _mm512_mask_storeu_epi16(static_cast<std::int16_t*>(y) + row * y_stride, mask, _mm512_permutexvar_epi64(order, to_words<true>(q0, q1, g)));
    }
  } else {
    const __m512i order = lanes ? _mm512_setr_epi32(0, 8, 1, 9, 4, 12, 5, 13, 2, 10, 3, 11, 6, 14, 7, 15)
                                : _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    std::uint8_t* out = static_cast<std::uint8_t*>(y);
    std::int64_t row = 0;
    for (; row + 1 < rows; row += 2, acc += 2 * acc_stride, out += 2 * y_stride) {
      const std::int32_t* next = acc + acc_stride;
      const __m512i a = to_words<false>(rescale16<kMode, kLarge>(acc, f0, g.top), rescale16<kMode, kLarge>(acc + 16, f1, g.top), g);
      const __m512i b = to_words<false>(rescale16<kMode, kLarge>(next, f0, g.top), rescale16<kMode, kLarge>(next + 16, f1, g.top), g);
      const __m512i bytes = _mm512_permutexvar_epi32(order, to_bytes(a, b, g));
      store(out, _mm512_castsi512_si256(bytes), mask);
      store(out + y_stride, _mm512_extracti64x4_epi64(bytes, 1), mask);
    }
    if (row < rows) {
      const __m512i a = to_words<false>(rescale16<kMode, kLarge>(acc, f0, g.top), rescale16<kMode, kLarge>(acc + 16, f1, g.top), g);
      store(out, _mm512_castsi512_si256(_mm512_permutexvar_epi32(order, to_bytes(a, a, g))), mask);
    }
  }
}

// 33 to 64 channels in lane order: packing twice undoes the unpacking.
template <Rounding kMode, bool kI16, bool kLarge>
NARROW_AVX512 void block64(const RequantizeTable& t, const std::int32_t* acc, std::int64_t rows, std::int64_t channel, std::int64_t channels, void* y,
                           std::ptrdiff_t y_stride) {
  const Factors f0 = load_factors<kMode, kLarge>(t, channel), f1 = load_factors<kMode, kLarge>(t, channel + 16);
  const Factors f2 = load_factors<kMode, kLarge>(t, channel + 32), f3 = load_factors<kMode, kLarge>(t, channel + 48);
  const Grid16 g = load_grid(t.grid);
  const __mmask64 mask = channels >= 64 ? ~0ULL : (1ULL << channels) - 1;
  for (std::int64_t row = 0; row < rows; ++row, acc += 64) {
    const __m512i q0 = rescale16<kMode, kLarge>(acc, f0, g.top), q1 = rescale16<kMode, kLarge>(acc + 16, f1, g.top);
    const __m512i q2 = rescale16<kMode, kLarge>(acc + 32, f2, g.top), q3 = rescale16<kMode, kLarge>(acc + 48, f3, g.top);
    const __m512i a = to_words<kI16>(q0, q1, g), b = to_words<kI16>(q2, q3, g);
    if constexpr (kI16) {
      std::int16_t* out = static_cast<std::int16_t*>(y) + row * y_stride;
      const __m512i first = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), b);
      const __m512i second = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), b);
      _mm512_storeu_si512(out, first);
      _mm512_mask_storeu_epi16(out + 32, static_cast<__mmask32>(mask >> 32), second);
    } else {
      _mm512_mask_storeu_epi8(static_cast<std::uint8_t*>(y) + row * y_stride, mask, to_bytes(a, b, g));
    }
  }
}

template <Rounding kMode, bool kI16, bool kLarge>
void block(const RequantizeTable& t, const std::int32_t* acc, std::ptrdiff_t acc_stride, std::int64_t count, std::int64_t channel, std::int64_t channels,
           void* y, std::ptrdiff_t y_stride) {
  if (t.order == ChannelOrder::kLanes && acc_stride == 64) {
    block64<kMode, kI16, kLarge>(t, acc, count, channel, channels, y, y_stride);
  } else {
    block32<kMode, kI16, kLarge>(t, acc, acc_stride, count, channel, channels, y, y_stride);
  }
}

template <Rounding kMode, bool kI16>
void rows_on(const RequantizeTable& t, const std::int32_t* acc, std::ptrdiff_t acc_stride, std::int64_t count, std::int64_t channel, std::int64_t channels,
             void* y, std::ptrdiff_t y_stride) {
  const std::int64_t step = t.order == ChannelOrder::kLanes ? acc_stride : 32;
  for (std::int64_t c = 0; c < channels; c += step) {
    const std::int64_t n = std::min(channels - c, step);
    const auto form = kMode != Rounding::kFloatRne && t.large(channel + c, n) ? block<kMode, kI16, kMode != Rounding::kFloatRne> : block<kMode, kI16, false>;
    form(t, acc + c, acc_stride, count, channel + c, n, static_cast<char*>(y) + c * (kI16 ? 2 : 1), y_stride);
  }
}

template <Rounding kMode>
void rows(const RequantizeTable& t, const std::int32_t* acc, std::ptrdiff_t acc_stride, std::int64_t count, std::int64_t channel, std::int64_t channels,
          void* y, std::ptrdiff_t y_stride) {
  (t.grid.i16 ? rows_on<kMode, true> : rows_on<kMode, false>)(t, acc, acc_stride, count, channel, channels, y, y_stride);
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
