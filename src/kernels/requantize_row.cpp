#include "kernels/requantize_row.h"

#include <algorithm>

#include "base/error.h"

namespace narrow {
namespace {

// How far the accumulator must be shifted left before the product; 0: not at all. In both modes the accumulator ±2^(kReach - left)
// is then mapped beyond ±2^18, further than any 16-bit grid and zero point; larger factors do so from ±1 on.
constexpr int kReach = 21;
int left_shift(const Rescale& r, Rounding mode) {
  const int wanted = mode == Rounding::kSingleRound ? 33 : 31;
  return std::clamp(wanted - r.shift, 0, kReach);
}

// Inverse of channel_of_lane_position() over all blocks.
std::size_t lane_position(std::size_t channel, std::size_t channels) {
  const std::size_t block = channel / 64 * 64, width = channels - block <= 32 ? 32 : 64, c = channel - block;
  return block + c % 16 / 4 * (width / 4) + c / 16 * 4 + c % 4;
}

}  // namespace

bool RowRequantizer::takes(std::span<const Rescale> factors) {
  for (const Rescale& r : factors) {
    if (r.multiplier < 0 || r.shift < 1 || r.shift > 62) return false;
  }
  return true;
}

RowRequantizer::RowRequantizer(std::span<const Rescale> factors, Rounding mode, RowGrid grid, Isa isa, ChannelOrder order) {
  NARROW_CHECK(grid.valid() && takes(factors));
  const std::size_t padded = factors.size() + RequantizeTable::kPadding;
  NARROW_CHECK(order == ChannelOrder::kConsecutive || resolve_isa(isa) == Isa::kAvx512Vnni);
  table_.mode = mode;
  table_.order = order;
  table_.grid = grid;
  table_.factors.assign(factors.begin(), factors.end());
  table_.multiplier.assign(padded, 0);
  table_.shift.assign(padded, 0);
  table_.round.assign(padded, 0);
  table_.scale.assign(padded, 0);
  table_.left.assign(padded, 0);
  table_.lowest.assign(padded, INT32_MIN);
  table_.highest.assign(padded, INT32_MAX);
  table_.large_before.assign(factors.size() + 1, 0);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    Rescale r = factors[i];
    if (r.multiplier == 0) r.shift = 40;  // underflow: 0 in any form
    const int left = mode == Rounding::kFloatRne ? 0 : left_shift(r, mode);
    table_.large_before[i + 1] = table_.large_before[i] + (left > 0 ? 1 : 0);
    const std::size_t at = order == ChannelOrder::kConsecutive ? i : lane_position(i, factors.size());
    table_.multiplier[at] = r.multiplier;
    table_.scale[at] = r.scale;
    if (left > 0) {
      table_.left[at] = left;
      table_.highest[at] = std::int32_t{1} << (kReach - left);
      table_.lowest[at] = -table_.highest[at];
    }
    if (mode == Rounding::kSingleRound) {
      const int shift = std::max(r.shift, 33);
      table_.shift[at] = shift - 32;
      table_.round[at] = std::int32_t{1} << (shift - 33);
    } else if (mode == Rounding::kDoubleRound) {
      table_.shift[at] = std::max(r.shift, 31) - 31;
      table_.round[at] = static_cast<std::int32_t>((std::uint32_t{1} << table_.shift[at]) - 1);
    }
  }
  switch (resolve_isa(isa)) {
#if defined(__x86_64__)
    case Isa::kAvx512Vnni: run_ = requantize_rows_avx512(mode); break;
    case Isa::kAvx2: run_ = requantize_rows_avx2(mode); break;
#endif
    default: run_ = requantize_rows_portable;
  }
}

void requantize_rows_portable(const RequantizeTable& table, const std::int32_t* acc, std::ptrdiff_t acc_stride, std::int64_t rows, std::int64_t channel,
                              std::int64_t channels, void* y, std::ptrdiff_t y_stride) {
  const RowGrid& grid = table.grid;
  const Rescale* factors = table.factors.data() + channel;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int32_t q = requantize(acc[row * acc_stride + c], factors[c], table.mode, grid.zero_point, grid.low, grid.high);
      if (grid.i16) {
        static_cast<std::int16_t*>(y)[row * y_stride + c] = static_cast<std::int16_t>(q);
      } else {
        static_cast<std::uint8_t*>(y)[row * y_stride + c] = static_cast<std::uint8_t>(q);
      }
    }
  }
}

}  // namespace narrow
