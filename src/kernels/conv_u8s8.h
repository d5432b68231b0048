// Fast integer convolution and matrix product (a product [M,K]·[N,K]ᵀ is a 1x1 convolution over M pixels): u8 activations,
// s8 weights, s32 accumulators, requantized output. Bit-equal to the normative loops of ops/conv.cpp and ops/gemm.cpp on
// every instruction set and thread count.
//
//   acc[o] = bias[o] + sum (x - x_zero_point) * w        (padding contributes 0)
//   y      = clamp(rescale(acc) + y_zero_point, y_min, y_max)
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/conv_shape.h"
#include "kernels/isa.h"
#include "kernels/requantize.h"

namespace narrow {

struct ConvU8S8Problem {
  ConvShape shape;
  const std::int8_t* weights = nullptr;      // [out_c, kernel_h, kernel_w, in_c / groups]
  const std::int32_t* bias = nullptr;        // [out_c]; nullptr: 0
  const Rescale* rescale = nullptr;          // [out_c]
  Rounding rounding = Rounding::kSingleRound;
  std::int32_t x_zero_point = 0, y_zero_point = 0, y_min = 0, y_max = 255;
  bool output_i16 = false;                   // y is i16 instead of u8
};

class ConvU8S8 {
 public:
  virtual ~ConvU8S8() = default;
  // x and y are exactly the maps of the shape: nothing is read or written beyond them. Not re-entrant.
  virtual void run(const std::uint8_t* x, void* y) = 0;
};

// Packs the weights for the instruction set. nullptr when there is no fast form for this problem (the caller then runs the
// normative loop): an accumulator could leave 32 bits, zero points or clamps lie off the grid, or the groups are too
// small. The problem's arrays are copied.
std::unique_ptr<ConvU8S8> make_conv_u8s8(const ConvU8S8Problem& problem, Isa isa = Isa::kBest);

}  // namespace narrow
