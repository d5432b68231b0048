// AVX2: activations and weights widened to 16 bits, so that vpmaddwd cannot saturate (vpmaddubsw would). A panel of 16
// channels is two registers; 6 pixels x 16 channels leave room for operands and product in 16 registers.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>
#include <utility>

#include "kernels/conv_u8s8_tile.h"

#define NARROW_AVX2 __attribute__((target("avx2")))

namespace narrow {
namespace {

constexpr int kMaxPixels = 6;

template <int kPixels, int kVectors>
NARROW_AVX2 void tile(const ConvTile& t) {
  const std::ptrdiff_t stride = t.pixel_stride;
  // Wide panels are swept two vectors (16 channels) at a time.
  for (int half = 0; half < kVectors; half += 2) {
    __m256i acc[kPixels][2];
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) acc[p][v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(t.bias + 8 * (half + v)));
    }
    const std::uint8_t* w = t.weights + 32 * half;
    for (std::int64_t tap = 0; tap < t.tap_count; ++tap) {
      const std::uint8_t* x0 = t.x + t.taps[tap];
      const std::uint8_t* x3 = x0 + 3 * stride;
      for (std::int64_t group = 0; group < t.groups; ++group) {
        const __m256i w0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
        const __m256i w1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 32));
        w += 32 * kVectors;
#pragma GCC unroll 8
        for (int p = 0; p < kPixels; ++p) {
          std::int32_t two;
          std::memcpy(&two, (p < 3 ? x0 : x3) + (p % 3) * stride, 4);
          const __m256i pixel = _mm256_set1_epi32(two);
          acc[p][0] = _mm256_add_epi32(acc[p][0], _mm256_madd_epi16(pixel, w0));
          acc[p][1] = _mm256_add_epi32(acc[p][1], _mm256_madd_epi16(pixel, w1));
        }
        x0 += 4;
        x3 += 4;
      }
    }
#pragma GCC unroll 8
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(t.acc + p * kConvPanel + 8 * (half + v)), acc[p][v]);
      }
    }
  }
}

template <std::size_t... kIndex>
constexpr ConvTileSet table(std::index_sequence<kIndex...>) {
  ConvTileSet set;
  set.max_pixels = kMaxPixels;
  set.widened = true;
  ((set.wide[kIndex + 1] = tile<kIndex + 1, 4>, set.half[kIndex + 1] = tile<kIndex + 1, 2>), ...);
  return set;
}
constexpr ConvTileSet kTiles = table(std::make_index_sequence<kMaxPixels>());

}  // namespace

const ConvTileSet& conv_tiles_avx2() { return kTiles; }

}  // namespace narrow
#endif
