// Elementwise integer operators over arrays of u8 codes, bit-equal to the normative loops in ops/ on every instruction set.
// All of them divide the array among threads.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/isa.h"
#include "kernels/requantize_row.h"

namespace narrow {

// quantize() and dequantize() of tensor/quant_params.h; NaN becomes the zero point.
void quantize_f32_u8(const float* x, float scale, std::int32_t zero_point, std::int32_t low, std::int32_t high, std::uint8_t* y, std::int64_t count,
                     Isa isa = Isa::kBest);
void dequantize_u8_f32(const std::uint8_t* x, float scale, std::int32_t zero_point, float* y, std::int64_t count);

// Two operands; a step of 0 repeats one code.
struct OperandsU8 {
  const std::uint8_t* a = nullptr;
  const std::uint8_t* b = nullptr;
  int a_step = 1, b_step = 1;
};

// a * s_a ± b * s_b on the grid of y. Each operand enters through a table of its 256 rescaled codes.
class AddU8 {
 public:
  struct Spec {
    Rescale a, b, y;           // under float_rne only the float scales s_a, s_b, s_y are read
    Rounding rounding = Rounding::kSingleRound;
    int left_shift = 20, sign_b = 1;
    std::int32_t a_zero_point = 0, b_zero_point = 0;
    RowGrid grid;
  };
  explicit AddU8(const Spec& spec, Isa isa = Isa::kBest);
  void run(const OperandsU8& operands, std::uint8_t* y, std::int64_t count) const;

 private:
  void piece(const OperandsU8& operands, std::uint8_t* y, std::int64_t count) const;

  Isa isa_;
  Rounding rounding_;
  RowGrid grid_;
  RowRequantizer requantizer_;
  std::array<std::int32_t, 256> a_{}, b_{};
  std::array<float, 256> a_real_{}, b_real_{};
};

// (a - zp_a) * (b - zp_b), rescaled. Under float_rne product * scale + zero point is formed in float, then rounded.
class MulU8 {
 public:
  struct Spec {
    Rescale factor;
    Rounding rounding = Rounding::kSingleRound;
    std::int32_t a_zero_point = 0, b_zero_point = 0;
    RowGrid grid;
  };
  explicit MulU8(const Spec& spec, Isa isa = Isa::kBest);
  void run(const OperandsU8& operands, std::uint8_t* y, std::int64_t count) const;

 private:
  void piece(const OperandsU8& operands, std::uint8_t* y, std::int64_t count) const;

  Isa isa_;
  Spec spec_;
  RowRequantizer requantizer_;
};

}  // namespace narrow
