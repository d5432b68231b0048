// The inner part of conv_u8s8: a tile of up to kMaxPixels output pixels of one row times one panel of output channels. One
// implementation per instruction set; the driver in conv_u8s8.cpp knows them through ConvTileSet.
//
// A pixel's input is a list of taps, each a contiguous run of channels (a whole kernel row when the kernel is dense). Runs
// are read in groups of 4 bytes: 4 u8 (VNNI) or 2 i16 (the input is widened while it is copied). Packed weights of a
// panel: [tap][group][channel of the panel][elements of the group], zero where a run ends inside a group.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/isa.h"

namespace narrow {

struct ConvTile {
  const std::uint8_t* x = nullptr;        // first tap of the first pixel
  std::ptrdiff_t pixel_stride = 0;        // bytes between the tile's pixels
  const std::ptrdiff_t* taps = nullptr;   // bytes from the first tap
  std::int64_t tap_count = 0;
  std::int64_t groups = 0;                // 4-byte groups per tap
  const std::uint8_t* weights = nullptr;  // the packed panel
  const std::int32_t* bias = nullptr;     // [channels of the panel], zero point folded in
  std::int32_t* acc = nullptr;            // [pixels][kConvPanel]
};

constexpr int kConvPanel = 32;  // channels of a wide panel; also the row length of ConvTile::acc

using ConvTileFn = void (*)(const ConvTile& tile);

struct ConvTileSet {
  int max_pixels = 0;
  bool widened = false;  // input and weights are i16
  ConvTileFn wide[16] = {};    // [pixels]: panels of 32 channels
  ConvTileFn half[16] = {};    // panels of 16 channels
};

// Of a resolved instruction set.
const ConvTileSet& conv_tile_set(Isa isa);

// The one of each file; only to be asked for where the processor has the instructions.
const ConvTileSet& conv_tiles_portable();
const ConvTileSet& conv_tiles_avx2();
const ConvTileSet& conv_tiles_avx512vnni();

}  // namespace narrow
