// Plain C++, one kernel row at a time: no columns are formed.

#include "kernels/depthwise_u8s8.h"

namespace narrow {
namespace {

constexpr int kBlock = 32;

void tile(const DepthwiseTile& t) {
  for (std::int64_t p = 0; p < t.pixels; ++p) {
    std::uint32_t acc[kBlock];  // modulo 2^32, see conv_u8s8_portable.cpp
    for (int c = 0; c < kBlock; ++c) acc[c] = static_cast<std::uint32_t>(t.bias[c]);
    for (std::int64_t kx = 0; kx < t.kernel_w; ++kx) {
      const std::int64_t column = t.column + p * t.stride + kx * t.dilation;
      for (std::int64_t ky = 0; ky < t.kernel_h; ++ky) {
        const std::int8_t* w = t.weights + (kx * t.kernel_h + ky) * kBlock;
        if (t.rows[ky] == nullptr || column < 0 || column >= t.in_w) {
          for (int c = 0; c < kBlock; ++c) acc[c] += static_cast<std::uint32_t>(t.zero_point * w[c]);
          continue;
        }
        const std::uint8_t* x = t.rows[ky] + column * t.in_c;
        for (std::int64_t c = 0; c < t.channels; ++c) acc[c] += static_cast<std::uint32_t>(x[c] * w[c]);
      }
    }
    for (int c = 0; c < kBlock; ++c) t.acc[p * kBlock + c] = static_cast<std::int32_t>(acc[c]);
  }
}

constexpr DepthwiseForm kForm{.rows = 1, .wide = tile, .wide_block = kBlock, .narrow = tile, .narrow_block = kBlock};

}  // namespace

const DepthwiseForm& depthwise_form_portable() { return kForm; }

}  // namespace narrow
