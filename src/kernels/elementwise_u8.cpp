#include "kernels/elementwise_u8.h"

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC bug 105593: false alarms inside the intrinsics
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

#include <algorithm>

#include "base/parallel.h"
#include "tensor/quant_params.h"

namespace narrow {
namespace {

constexpr std::int64_t kChunk = 8192;   // per thread at a time: a few microseconds
constexpr std::int64_t kPiece = 1024;   // accumulators on the stack
constexpr std::int64_t kRow = 32;       // a piece is rescaled as rows of this length

template <typename Fn>
void in_chunks(std::int64_t count, const Fn& fn) {
  parallel_for((count + kChunk - 1) / kChunk, [&](std::int64_t c) { fn(c * kChunk, std::min(kChunk, count - c * kChunk)); });
}

OperandsU8 advanced(const OperandsU8& o, std::int64_t by) { return {o.a + o.a_step * by, o.b + o.b_step * by, o.a_step, o.b_step}; }

std::vector<Rescale> uniform(const Rescale& factor) { return std::vector<Rescale>(kRow, factor); }

// The accumulators of a piece, all with the same factor. acc has room for whole rows.
void rescale_piece(const RowRequantizer& requantizer, const std::int32_t* acc, std::uint8_t* y, std::int64_t count) {
  const std::int64_t rows = count / kRow;
  requantizer.run(acc, kRow, rows, 0, kRow, y, kRow);
  if (rows * kRow < count) requantizer.run(acc + rows * kRow, kRow, 1, 0, count - rows * kRow, y + rows * kRow, kRow);
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bw"))) std::int64_t quantize_avx512(const float* x, float scale, std::int32_t zero_point, std::int32_t low,
                                                                         std::int32_t high, std::uint8_t* y, std::int64_t count) {
  const __m512 divisor = _mm512_set1_ps(scale), zero = _mm512_set1_ps(static_cast<float>(zero_point));
  const __m512 least = _mm512_set1_ps(static_cast<float>(low)), most = _mm512_set1_ps(static_cast<float>(high));
  std::int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m512 q = _mm512_add_ps(_mm512_roundscale_ps(_mm512_div_ps(_mm512_loadu_ps(x + i), divisor), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), zero);
    const __m512 clamped = _mm512_min_ps(_mm512_max_ps(q, least), most);
    const __m512 known = _mm512_mask_blend_ps(_mm512_cmp_ps_mask(q, q, _CMP_UNORD_Q), clamped, zero);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(known)));
  }
  return i;
}

__attribute__((target("avx2"))) std::int64_t quantize_avx2(const float* x, float scale, std::int32_t zero_point, std::int32_t low, std::int32_t high,
                                                           std::uint8_t* y, std::int64_t count) {
  const __m256 divisor = _mm256_set1_ps(scale), zero = _mm256_set1_ps(static_cast<float>(zero_point));
  const __m256 least = _mm256_set1_ps(static_cast<float>(low)), most = _mm256_set1_ps(static_cast<float>(high));
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 q = _mm256_add_ps(_mm256_round_ps(_mm256_div_ps(_mm256_loadu_ps(x + i), divisor), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), zero);
    const __m256 clamped = _mm256_min_ps(_mm256_max_ps(q, least), most);
    const __m256i known = _mm256_cvtps_epi32(_mm256_blendv_ps(clamped, zero, _mm256_cmp_ps(q, q, _CMP_UNORD_Q)));
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(known), _mm256_extracti128_si256(known, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(y + i), _mm_packus_epi16(words, words));
  }
  return i;
}
#endif

// As quantize_f32_u8, on the calling thread.
void quantize_piece(const float* x, float scale, std::int32_t zero_point, std::int32_t low, std::int32_t high, std::uint8_t* y, std::int64_t count, Isa isa) {
  std::int64_t i = 0;
#if defined(__x86_64__)
  if (isa == Isa::kAvx512Vnni) i = quantize_avx512(x, scale, zero_point, low, high, y, count);
  if (isa == Isa::kAvx2) i = quantize_avx2(x, scale, zero_point, low, high, y, count);
#endif
  for (; i < count; ++i) y[i] = static_cast<std::uint8_t>(quantize(x[i], scale, zero_point, low, high));
}

// acc[i] = table_a[a] + table_b[b].
template <typename T>
void add_tables(const OperandsU8& o, const T* table_a, const T* table_b, T* acc, std::int64_t count) {
  if (o.a_step != 0 && o.b_step != 0) {
    for (std::int64_t i = 0; i < count; ++i) acc[i] = table_a[o.a[i]] + table_b[o.b[i]];
  } else {
    for (std::int64_t i = 0; i < count; ++i) acc[i] = table_a[o.a[i * o.a_step]] + table_b[o.b[i * o.b_step]];
  }
}

inline __attribute__((always_inline)) void fused_sums_of(const OperandsU8& o, const FusedSum& sum, float* out, std::int64_t count) {
  if (o.a_step != 0 && o.b_step != 0) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = sum(o.a[i], o.b[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) out[i] = sum(o.a[i * o.a_step], o.b[i * o.b_step]);
  }
}
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void fused_sums_fma(const OperandsU8& o, const FusedSum& sum, float* out, std::int64_t count) { fused_sums_of(o, sum, out, count); }
#endif

// Without the instruction, std::fma computes the same in software.
void fused_sums(const OperandsU8& o, const FusedSum& sum, float* out, std::int64_t count, Isa isa) {
#if defined(__x86_64__)
  if (isa != Isa::kPortable && __builtin_cpu_supports("fma")) return fused_sums_fma(o, sum, out, count);
#endif
  (void)isa;
  fused_sums_of(o, sum, out, count);
}

}  // namespace

void quantize_f32_u8(const float* x, float scale, std::int32_t zero_point, std::int32_t low, std::int32_t high, std::uint8_t* y, std::int64_t count, Isa isa) {
  isa = resolve_isa(isa);
  in_chunks(count, [&](std::int64_t begin, std::int64_t n) { quantize_piece(x + begin, scale, zero_point, low, high, y + begin, n, isa); });
}

void dequantize_u8_f32(const std::uint8_t* x, float scale, std::int32_t zero_point, float* y, std::int64_t count) {
  in_chunks(count, [&](std::int64_t begin, std::int64_t n) {
    for (std::int64_t i = begin; i < begin + n; ++i) y[i] = scale * static_cast<float>(x[i] - zero_point);
  });
}

AddU8::AddU8(const Spec& spec, Isa isa)
    : isa_(resolve_isa(isa)), rounding_(spec.rounding), grid_(spec.grid), requantizer_(uniform(spec.y), spec.rounding, spec.grid, isa), fused_(spec.sign_b == 1), y_scale_(spec.y.scale) {
  if (rounding_ == Rounding::kFloatRne) {
    sum_ = FusedSum(spec.a.scale, spec.a_zero_point, spec.b.scale, spec.b_zero_point, spec.y.scale, spec.grid.zero_point);
    for (std::int32_t q = 0; q < 256; ++q) {
      a_real_[static_cast<std::size_t>(q)] = dequantize(q, spec.a.scale, spec.a_zero_point);
      b_real_[static_cast<std::size_t>(q)] = -dequantize(q, spec.b.scale, spec.b_zero_point);
    }
    return;
  }
  for (std::int32_t q = 0; q < 256; ++q) {
    const std::int64_t unit = std::int64_t{1} << spec.left_shift;
    a_[static_cast<std::size_t>(q)] = rescale((q - spec.a_zero_point) * unit, spec.a, rounding_);
    b_[static_cast<std::size_t>(q)] = spec.sign_b * rescale((q - spec.b_zero_point) * unit, spec.b, rounding_);
  }
}

void AddU8::piece(const OperandsU8& operands, std::uint8_t* y, std::int64_t count) const {
  if (rounding_ == Rounding::kFloatRne) {
    float sum[kPiece];
    if (fused_) {
      fused_sums(operands, sum_, sum, count, isa_);
      quantize_piece(sum, 1, 0, grid_.low, grid_.high, y, count, isa_);
    } else {
      add_tables(operands, a_real_.data(), b_real_.data(), sum, count);
      quantize_piece(sum, y_scale_, grid_.zero_point, grid_.low, grid_.high, y, count, isa_);
    }
    return;
  }
  alignas(64) std::int32_t acc[kPiece];
  add_tables(operands, a_.data(), b_.data(), acc, count);
  rescale_piece(requantizer_, acc, y, count);
}

void AddU8::run(const OperandsU8& operands, std::uint8_t* y, std::int64_t count) const {
  in_chunks(count, [&](std::int64_t begin, std::int64_t n) {
    for (std::int64_t i = begin; i < begin + n; i += kPiece) piece(advanced(operands, i), y + i, std::min(kPiece, begin + n - i));
  });
}

MulU8::MulU8(const Spec& spec, Isa isa) : isa_(resolve_isa(isa)), spec_(spec), requantizer_(uniform(spec.factor), spec.rounding, spec.grid, isa) {}

void MulU8::piece(const OperandsU8& o, std::uint8_t* y, std::int64_t count) const {
  alignas(64) std::int32_t acc[kPiece];
  const std::int32_t za = spec_.a_zero_point, zb = spec_.b_zero_point;
  if (o.a_step != 0 && o.b_step != 0) {
    for (std::int64_t i = 0; i < count; ++i) acc[i] = (o.a[i] - za) * (o.b[i] - zb);
  } else {
    for (std::int64_t i = 0; i < count; ++i) acc[i] = (o.a[i * o.a_step] - za) * (o.b[i * o.b_step] - zb);
  }
  if (spec_.rounding == Rounding::kFloatRne) {
    float real[kPiece];
    const float factor = spec_.factor.scale, zero = static_cast<float>(spec_.grid.zero_point);
    for (std::int64_t i = 0; i < count; ++i) real[i] = static_cast<float>(acc[i]) * factor + zero;
    quantize_piece(real, 1, 0, spec_.grid.low, spec_.grid.high, y, count, isa_);
  } else {
    rescale_piece(requantizer_, acc, y, count);
  }
}

void MulU8::run(const OperandsU8& operands, std::uint8_t* y, std::int64_t count) const {
  in_chunks(count, [&](std::int64_t begin, std::int64_t n) {
    for (std::int64_t i = begin; i < begin + n; i += kPiece) piece(advanced(operands, i), y + i, std::min(kPiece, begin + n - i));
  });
}

}  // namespace narrow
