// VNNI: one vpdpbusd adds 4 products to each of 16 channels. 14 pixels x 32 channels fill 28 of the 32 registers.
#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC bug 105593: false alarms inside the intrinsics
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cstring>
#include <utility>

#include "kernels/conv_u8s8_tile.h"

#define NARROW_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

namespace narrow {
namespace {

constexpr int kMaxPixels = 14;

template <int kPixels, int kVectors>
NARROW_VNNI void tile(const ConvTile& t) {
  __m512i acc[kPixels][kVectors];
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) acc[p][v] = _mm512_loadu_si512(t.bias + 16 * v);
  }
  const std::ptrdiff_t stride = t.pixel_stride;
  const std::uint8_t* w = t.weights;
  for (std::int64_t tap = 0; tap < t.tap_count; ++tap) {
    // Every third pixel has a pointer, its neighbours are one and two strides away: the addressing modes suffice.
    const std::uint8_t* x[5];
#pragma GCC unroll 5
    for (int i = 0; i < 5; ++i) x[i] = t.x + t.taps[tap] + 3 * i * stride;
    for (std::int64_t group = 0; group < t.groups; ++group) {
      __m512i weights[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) weights[v] = _mm512_loadu_si512(w + 64 * v);
      w += 64 * kVectors;
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) {
        std::int32_t four;
        std::memcpy(&four, x[p / 3] + (p % 3) * stride, 4);
        const __m512i pixel = _mm512_set1_epi32(four);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) acc[p][v] = _mm512_dpbusd_epi32(acc[p][v], pixel, weights[v]);
      }
#pragma GCC unroll 5
      for (int i = 0; i < 5; ++i) x[i] += 4;
    }
  }
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_si512(t.acc + p * kConvPanel + 16 * v, acc[p][v]);
  }
}

template <std::size_t... kIndex>
constexpr ConvTileSet table(std::index_sequence<kIndex...>) {
  ConvTileSet set;
  set.max_pixels = kMaxPixels;
  ((set.wide[kIndex + 1] = tile<kIndex + 1, 2>, set.half[kIndex + 1] = tile<kIndex + 1, 1>), ...);
  return set;
}
constexpr ConvTileSet kTiles = table(std::make_index_sequence<kMaxPixels>());

}  // namespace

const ConvTileSet& conv_tiles_avx512vnni() { return kTiles; }

}  // namespace narrow
#endif
