#include "kernels/lut.h"

#include <immintrin.h>

#include <algorithm>

#include "base/parallel.h"

namespace narrow {
namespace {

constexpr std::int64_t kChunk = 32768;

template <typename Fn>
void in_chunks(std::int64_t count, const Fn& fn) {
  parallel_for((count + kChunk - 1) / kChunk, [&](std::int64_t c) { fn(c * kChunk, std::min(kChunk, count - c * kChunk)); });
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

bool use_avx2(Isa isa) {
  static const bool here = __builtin_cpu_supports("avx2") != 0;
  return here && isa != Isa::kPortable;
}
bool use_vbmi(Isa isa) {
  static const bool here = __builtin_cpu_supports("avx512vbmi") != 0 && __builtin_cpu_supports("avx512bw") != 0;
  return here && (isa == Isa::kBest || isa == Isa::kAvx512Vnni);
}

}  // namespace

void lut_u8_u8(const std::uint8_t* x, const std::uint8_t* table, std::uint8_t* y, std::int64_t count, Isa isa) {
  in_chunks(count, [&](std::int64_t begin, std::int64_t n) {
    std::int64_t i = 0;
    if (use_vbmi(isa)) {
      i = n / 64 * 64;
      bytes_vbmi(x + begin, table, y + begin, i);
    }
    for (; i < n; ++i) y[begin + i] = table[x[begin + i]];
  });
}

void lut_u8_i16(const std::uint8_t* x, const std::int16_t* table, std::int16_t* y, std::int64_t count) {
  in_chunks(count, [&](std::int64_t begin, std::int64_t n) {
    for (std::int64_t i = begin; i < begin + n; ++i) y[i] = table[x[i]];
  });
}

void lut_i16_u8(const std::int16_t* x, const Lut16Spec& spec, std::uint8_t* y, std::int64_t count, Isa isa) {
  in_chunks(count, [&](std::int64_t begin, std::int64_t n) {
    const std::int64_t fast = use_avx2(isa) ? n / 16 * 16 : 0;
    if (fast > 0) interpolate_avx2(x + begin, spec, y + begin, nullptr, fast);
    interpolate(x + begin + fast, spec, y + begin + fast, n - fast);
  });
}

void lut_i16_i16(const std::int16_t* x, const Lut16Spec& spec, std::int16_t* y, std::int64_t count, Isa isa) {
  in_chunks(count, [&](std::int64_t begin, std::int64_t n) {
    const std::int64_t fast = use_avx2(isa) ? n / 16 * 16 : 0;
    if (fast > 0) interpolate_avx2(x + begin, spec, nullptr, y + begin, fast);
    interpolate(x + begin + fast, spec, y + begin + fast, n - fast);
  });
}

}  // namespace narrow
