// Plain C++ on the 16-bit form: loops over the channels of a panel that any compiler vectorises.
#include <cstring>

#include "kernels/conv_u8s8_tile.h"

namespace narrow {
namespace {

constexpr int kMaxPixels = 4;

template <int kPixels, int kChannels>
void tile(const ConvTile& t) {
  std::uint32_t acc[kPixels][kChannels];  // modulo 2^32: sums with the zero point folded in may pass the limits on their way
  for (int p = 0; p < kPixels; ++p) std::memcpy(acc[p], t.bias, sizeof acc[p]);
  const std::uint8_t* w = t.weights;
  for (std::int64_t tap = 0; tap < t.tap_count; ++tap) {
    const std::uint8_t* x = t.x + t.taps[tap];
    for (std::int64_t group = 0; group < t.groups; ++group, x += 4, w += 4 * kChannels) {
      std::int16_t weights[kChannels][2];
      std::memcpy(weights, w, sizeof weights);
      for (int p = 0; p < kPixels; ++p) {
        std::int16_t pixel[2];
        std::memcpy(pixel, x + p * t.pixel_stride, sizeof pixel);
        for (int c = 0; c < kChannels; ++c) acc[p][c] += static_cast<std::uint32_t>(pixel[0] * weights[c][0] + pixel[1] * weights[c][1]);
      }
    }
  }
  for (int p = 0; p < kPixels; ++p) std::memcpy(t.acc + p * kConvPanel, acc[p], sizeof acc[p]);
}

constexpr ConvTileSet kTiles{.max_pixels = kMaxPixels,
                             .widened = true,
                             .wide = {nullptr, tile<1, 32>, tile<2, 32>, tile<3, 32>, tile<4, 32>},
                             .half = {nullptr, tile<1, 16>, tile<2, 16>, tile<3, 16>, tile<4, 16>}};

}  // namespace

const ConvTileSet& conv_tiles_portable() { return kTiles; }

}  // namespace narrow
