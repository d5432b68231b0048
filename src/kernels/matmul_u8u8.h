// Fast product of two matrices of u8 codes that are both computed at run time: [m,k]·[k,n]. The right one is packed panel by
// panel at every run, for the tiles of conv_u8s8_tile.h. Bit-equal to the normative loop of ops/mat_mul.cpp.
//
//   acc = sum (a - a_zero_point) * (b - b_zero_point),   y = clamp(rescale(acc) + zero point of the grid)
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/isa.h"
#include "kernels/requantize_row.h"

namespace narrow {

struct MatMulU8U8Problem {
  std::int64_t m = 0, n = 0, k = 0;
  std::int32_t a_zero_point = 0, b_zero_point = 0;
  Rescale rescale = {};
  Rounding rounding = Rounding::kSingleRound;
  RowGrid grid = {};
};

class MatMulU8U8 {
 public:
  virtual ~MatMulU8U8() = default;
  // a [m,k], b [k,n], y [m,n] of the grid's type. Several threads may run it at once.
  virtual void run(const std::uint8_t* a, const std::uint8_t* b, void* y) const = 0;
};

// nullptr when there is no fast form: a sum could leave 32 bits, or a zero point or the grid is not one of u8 codes.
std::unique_ptr<MatMulU8U8> make_matmul_u8u8(const MatMulU8U8Problem& problem, Isa isa = Isa::kBest);

}  // namespace narrow
