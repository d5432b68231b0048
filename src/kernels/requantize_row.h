// requantize() over rows of s32 accumulators, one rescaling factor per channel: the last step of the fast integer kernels.
// The vector forms give the bits of kernels/requantize.h for every accumulator and factor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/isa.h"
#include "kernels/requantize.h"

namespace narrow {

// Where the results live: u8 (0 <= low, zero_point, high <= 255) or i16 (the same within 16 bits).
struct RowGrid {
  std::int32_t zero_point = 0, low = 0, high = 255;
  bool i16 = false;
  bool valid() const {
    const std::int32_t first = i16 ? INT16_MIN : 0, last = i16 ? INT16_MAX : 255;
    return zero_point >= first && zero_point <= last && low >= first && high <= last && low <= high;
  }
};

// How the accumulators of a block of channels stand: consecutively, or as unpacking within 16-byte lanes leaves them. Such
// blocks have 64 channels, a last one of at most 32 has 32; acc_stride is the block's width.
enum class ChannelOrder : std::uint8_t { kConsecutive, kLanes };
constexpr std::int64_t channel_of_lane_position(std::int64_t position, std::int64_t width) {
  const std::int64_t quarter = width / 4;
  return position % quarter / 4 * 16 + position / quarter * 4 + position % 4;
}

// Factors in the order of the channels, padded so that whole vectors can be loaded from any channel.
struct RequantizeTable {
  static constexpr std::size_t kPadding = 64;
  Rounding mode = Rounding::kSingleRound;
  ChannelOrder order = ChannelOrder::kConsecutive;
  RowGrid grid;
  std::vector<Rescale> factors;          // by channel; the arrays below by position
  std::vector<std::int32_t> multiplier;
  std::vector<std::int32_t> shift;       // right shift of the product's high 32 bits: single_round t - 32, double_round t - 31
  std::vector<std::int32_t> round;       // added before it: single_round 2^(t-33); double_round: mask of the bits shifted out
  std::vector<float> scale;
  // Large factors (single_round: t < 33, M >= 1/4; double_round: t < 31, M >= 1): the accumulator is clamped to
  // [-reach, reach], where its result has left every 16-bit grid, and shifted left before the product.
  std::vector<std::int32_t> left, lowest, highest;
  std::vector<std::int32_t> large_before; // how many channels before are such
  bool large(std::int64_t first, std::int64_t count) const {
    return large_before[static_cast<std::size_t>(first)] != large_before[static_cast<std::size_t>(first + count)];
  }
};

// acc[row][acc_stride], readable to the next multiple of 32 channels; y[row][y_stride] elements of the grid's type.
using RequantizeFn = void (*)(const RequantizeTable& table, const std::int32_t* acc, std::ptrdiff_t acc_stride, std::int64_t rows, std::int64_t channel,
                              std::int64_t channels, void* y, std::ptrdiff_t y_stride);

class RowRequantizer {
 public:
  // grid.valid() must hold; factors as to_fixed_point() gives them (multiplier >= 0, 1 <= shift <= 62).
  // Lane order is for AVX-512 only.
  RowRequantizer(std::span<const Rescale> factors, Rounding mode, RowGrid grid, Isa isa = Isa::kBest, ChannelOrder order = ChannelOrder::kConsecutive);
  // Channels [channel, channel + channels); acc points at the accumulator of `channel` in the first row, y at its result.
  // In lane order exactly one block.
  void run(const std::int32_t* acc, std::ptrdiff_t acc_stride, std::int64_t rows, std::int64_t channel, std::int64_t channels, void* y,
           std::ptrdiff_t y_stride) const {
    run_(table_, acc, acc_stride, rows, channel, channels, y, y_stride);
  }
  static bool takes(std::span<const Rescale> factors);

 private:
  RequantizeTable table_;
  RequantizeFn run_;
};

// requantize() element by element.
void requantize_rows_portable(const RequantizeTable& table, const std::int32_t* acc, std::ptrdiff_t acc_stride, std::int64_t rows, std::int64_t channel,
                              std::int64_t channels, void* y, std::ptrdiff_t y_stride);
RequantizeFn requantize_rows_avx2(Rounding mode);
RequantizeFn requantize_rows_avx512(Rounding mode);

}  // namespace narrow
