#include "kernels/lut.h"

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC bug 105593: false alarms inside the intrinsics
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

#include <algorithm>
#include <limits>

#include "base/parallel.h"

namespace narrow {
namespace {

constexpr std::int64_t kChunk = 32768;

template <typename Fn>
void in_chunks(std::int64_t count, const Fn& fn) {
  parallel_for((count + kChunk - 1) / kChunk, [&](std::int64_t c) { fn(c * kChunk, std::min(kChunk, count - c * kChunk)); });
}

template <typename X, typename Y>
void entry_by_entry(const X* x, const Y* table, Y* y, std::int64_t count) {
  constexpr std::int32_t kFirst = std::numeric_limits<X>::min();
  in_chunks(count, [&](std::int64_t begin, std::int64_t n) {
    for (std::int64_t i = begin; i < begin + n; ++i) y[i] = table[x[i] - kFirst];
  });
}

template <typename T>
void interpolate(const std::int16_t* x, const Lut16Spec& spec, T* y, std::int64_t count) {
  const std::int32_t shift = 7 + spec.fraction_bits, half = 1 << (shift - 1);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t code = x[i] + 32768, f = code & 127;
    const std::int16_t* knot = spec.entries + (code >> 7);
    const std::int32_t value = spec.middle + ((knot[0] * (128 - f) + knot[1] * f + half) >> shift);
    y[i] = static_cast<T>(std::clamp(value, spec.low, spec.high));
  }
}

#if defined(__x86_64__)
// One 32-bit gather fetches both knots of a segment; a multiply-add of 16-bit pairs weighs them.
__attribute__((target("avx2"))) inline __m256i interpolate8(__m256i code, const Lut16Spec& spec) {
  const __m256i segment = _mm256_srli_epi32(code, 7);
  const __m256i f = _mm256_and_si256(code, _mm256_set1_epi32(127));
  const __m256i knots = _mm256_i32gather_epi32(reinterpret_cast<const int*>(spec.entries), segment, 2);
  const __m256i weights = _mm256_or_si256(_mm256_sub_epi32(_mm256_set1_epi32(128), f), _mm256_slli_epi32(f, 16));
  const std::int32_t shift = 7 + spec.fraction_bits;
  __m256i value = _mm256_add_epi32(_mm256_madd_epi16(knots, weights), _mm256_set1_epi32(1 << (shift - 1)));
  value = _mm256_add_epi32(_mm256_sra_epi32(value, _mm_cvtsi32_si128(shift)), _mm256_set1_epi32(spec.middle));
  return _mm256_min_epi32(_mm256_max_epi32(value, _mm256_set1_epi32(spec.low)), _mm256_set1_epi32(spec.high));
}

__attribute__((target("avx2"))) inline __m256i codes8(const std::int16_t* x) {
  const __m256i wide = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  return _mm256_add_epi32(wide, _mm256_set1_epi32(32768));
}

// 16 results per step, as i16 (u8 results are packed once more).
__attribute__((target("avx2"))) void interpolate_avx2(const std::int16_t* x, const Lut16Spec& spec, std::uint8_t* y8, std::int16_t* y16, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 16) {
    const __m256i a = interpolate8(codes8(x + i), spec), b = interpolate8(codes8(x + i + 8), spec);
    const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
    if (y16 != nullptr) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y16 + i), both);
    } else {
      const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y8 + i), bytes);
    }
  }
}

// The entry of `table` (512 of them) at each 9-bit index: eight 64-entry permutes and a tree of blends by the upper bits.
struct IndexBits {
  __mmask32 bit6, bit7, bit8;
};
__attribute__((target("avx512f,avx512bw"))) inline __m512i look_up512(const std::int16_t* table, __m512i index, const IndexBits& bits) {
  const auto part = [&](int k) __attribute__((target("avx512f,avx512bw"), always_inline)) {
    return _mm512_permutex2var_epi16(_mm512_loadu_si512(table + 64 * k), index, _mm512_loadu_si512(table + 64 * k + 32));
  };
  const __m512i a = _mm512_mask_blend_epi16(bits.bit6, part(0), part(1)), b = _mm512_mask_blend_epi16(bits.bit6, part(2), part(3));
  const __m512i c = _mm512_mask_blend_epi16(bits.bit6, part(4), part(5)), d = _mm512_mask_blend_epi16(bits.bit6, part(6), part(7));
  return _mm512_mask_blend_epi16(bits.bit8, _mm512_mask_blend_epi16(bits.bit7, a, b), _mm512_mask_blend_epi16(bits.bit7, c, d));
}

// 32 results per step; no gathers.
__attribute__((target("avx512f,avx512bw"))) void interpolate_avx512(const std::int16_t* x, const Lut16Spec& spec, std::uint8_t* y8, std::int16_t* y16, std::int64_t count) {
  const std::int32_t shift = 7 + spec.fraction_bits;
  const __m512i half = _mm512_set1_epi32(1 << (shift - 1)), middle = _mm512_set1_epi32(spec.middle);
  const __m512i low = _mm512_set1_epi16(static_cast<std::int16_t>(spec.low)), high = _mm512_set1_epi16(static_cast<std::int16_t>(spec.high));
  const __m128i by = _mm_cvtsi32_si128(shift);
  for (std::int64_t i = 0; i < count; i += 32) {
    const __m512i code = _mm512_xor_si512(_mm512_loadu_si512(x + i), _mm512_set1_epi16(-32768));  // 0..65535
    const __m512i index = _mm512_srli_epi16(code, 7), f = _mm512_and_si512(code, _mm512_set1_epi16(127));
    const IndexBits bits{_mm512_test_epi16_mask(index, _mm512_set1_epi16(64)), _mm512_test_epi16_mask(index, _mm512_set1_epi16(128)),
                         _mm512_test_epi16_mask(index, _mm512_set1_epi16(256))};
    const __m512i base = look_up512(spec.entries, index, bits), next = look_up512(spec.entries + 1, index, bits);
    const __m512i rest = _mm512_sub_epi16(_mm512_set1_epi16(128), f);
    __m512i first = _mm512_madd_epi16(_mm512_unpacklo_epi16(base, next), _mm512_unpacklo_epi16(rest, f));
    __m512i second = _mm512_madd_epi16(_mm512_unpackhi_epi16(base, next), _mm512_unpackhi_epi16(rest, f));
    first = _mm512_add_epi32(_mm512_sra_epi32(_mm512_add_epi32(first, half), by), middle);
    second = _mm512_add_epi32(_mm512_sra_epi32(_mm512_add_epi32(second, half), by), middle);
    const __m512i y = _mm512_min_epi16(_mm512_max_epi16(_mm512_packs_epi32(first, second), low), high);  // packing undoes the unpacking
    if (y16 != nullptr) {
      _mm512_storeu_si512(y16 + i, y);
    } else {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y8 + i), _mm512_cvtepi16_epi8(y));
    }
  }
}

// 256 bytes live in four registers: two 128-byte permutes and a blend by the index's top bit.
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) void bytes_vbmi(const std::uint8_t* x, const std::uint8_t* table, std::uint8_t* y, std::int64_t count) {
  const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64);
  const __m512i t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
  for (std::int64_t i = 0; i < count; i += 64) {
    const __m512i index = _mm512_loadu_si512(x + i);
    const __m512i low = _mm512_permutex2var_epi8(t0, index, t1), high = _mm512_permutex2var_epi8(t2, index, t3);
    _mm512_storeu_si512(y + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high));
  }
}

bool use_vbmi(Isa isa) {
  static const bool here = __builtin_cpu_supports("avx512vbmi") != 0;
  return here && isa == Isa::kAvx512Vnni;
}
#endif

// As many as the instruction set takes, the rest one by one.
template <typename T>
void interpolate_piece(const std::int16_t* x, const Lut16Spec& spec, T* y, std::int64_t count, [[maybe_unused]] Isa isa) {
  [[maybe_unused]] std::uint8_t* y8 = nullptr;
  [[maybe_unused]] std::int16_t* y16 = nullptr;
  if constexpr (sizeof(T) == 1) {
    y8 = y;
  } else {
    y16 = y;
  }
  std::int64_t done = 0;
#if defined(__x86_64__)
  if (isa == Isa::kAvx512Vnni) interpolate_avx512(x, spec, y8, y16, done = count / 32 * 32);
  if (isa == Isa::kAvx2) interpolate_avx2(x, spec, y8, y16, done = count / 16 * 16);
#endif
  interpolate(x + done, spec, y + done, count - done);
}

}  // namespace

void look_up(const std::uint8_t* x, const std::uint8_t* table, std::uint8_t* y, std::int64_t count, Isa isa) {
  isa = resolve_isa(isa);
  in_chunks(count, [&](std::int64_t begin, std::int64_t n) {
    std::int64_t i = 0;
#if defined(__x86_64__)
    if (use_vbmi(isa)) bytes_vbmi(x + begin, table, y + begin, i = n / 64 * 64);
#endif
    for (; i < n; ++i) y[begin + i] = table[x[begin + i]];
  });
}

void look_up(const std::uint8_t* x, const std::int16_t* table, std::int16_t* y, std::int64_t count) { entry_by_entry(x, table, y, count); }
void look_up(const std::int16_t* x, const std::uint8_t* table, std::uint8_t* y, std::int64_t count) { entry_by_entry(x, table, y, count); }
void look_up(const std::int16_t* x, const std::int16_t* table, std::int16_t* y, std::int64_t count) { entry_by_entry(x, table, y, count); }

void lut_i16_u8(const std::int16_t* x, const Lut16Spec& spec, std::uint8_t* y, std::int64_t count, Isa isa) {
  isa = resolve_isa(isa);
  in_chunks(count, [&](std::int64_t begin, std::int64_t n) { interpolate_piece(x + begin, spec, y + begin, n, isa); });
}

void lut_i16_i16(const std::int16_t* x, const Lut16Spec& spec, std::int16_t* y, std::int64_t count, Isa isa) {
  isa = resolve_isa(isa);
  in_chunks(count, [&](std::int64_t begin, std::int64_t n) { interpolate_piece(x + begin, spec, y + begin, n, isa); });
}

}  // namespace narrow
