// Depthwise convolution: vectors run across channels. The inputs of 4 (VNNI) or 2 (AVX2) kernel rows stand beside each
// other per channel, so that one instruction multiplies and adds them; such a column is formed once and serves all the
// output pixels that it overlaps.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/conv_u8s8.h"
#include "kernels/requantize_row.h"

namespace narrow {

// For problems that make_conv_u8s8() has checked, shape.depthwise(). `isa` is resolved.
std::unique_ptr<ConvU8S8> make_depthwise_u8s8(const ConvU8S8Problem& problem, Isa isa);

// One block of channels of a piece of one output row.
struct DepthwiseTile {
  const std::uint8_t* const* rows = nullptr;  // [kernel_h] start of the input rows, at the block's first channel; nullptr: padding
  std::int64_t in_w = 0, in_c = 0;            // extent of a row; bytes between pixels
  std::int64_t column = 0;                    // input column of the first pixel's first tap; may lie in the padding
  std::int64_t pixels = 0;
  std::int64_t stride = 1, dilation = 1, kernel_w = 1, kernel_h = 1;
  std::int64_t channels = 0;                  // of the block that exist
  std::uint8_t zero_point = 0;
  const std::uint8_t* padding = nullptr;      // 64 zero points
  const std::int8_t* weights = nullptr;       // packed block, see DepthwiseForm
  const std::int32_t* bias = nullptr;         // [block], zero point folded in
  std::uint8_t* columns = nullptr;            // room for the columns: see DepthwiseForm
  std::int32_t* acc = nullptr;                // [pixels][block]
};

// How an instruction set packs: weights [kernel_w][ceil(kernel_h / rows)][block][rows] of i8 or i16, zero below the kernel;
// weights, bias and accumulators of a block stand in `order`.
struct DepthwiseForm {
  std::int64_t rows = 1;
  ChannelOrder order = ChannelOrder::kConsecutive;
  bool widened = false;
  void (*wide)(const DepthwiseTile& tile) = nullptr;    // blocks of wide_block channels
  std::int64_t wide_block = 0;
  void (*narrow)(const DepthwiseTile& tile) = nullptr;  // a last block of at most narrow_block channels
  std::int64_t narrow_block = 0;
};

// The one of each file; only to be asked for where the processor has the instructions.
const DepthwiseForm& depthwise_form_portable();
const DepthwiseForm& depthwise_form_avx2();
const DepthwiseForm& depthwise_form_avx512vnni();

}  // namespace narrow
