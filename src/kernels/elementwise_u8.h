// Elementwise integer operators over arrays of u8 codes, bit-equal to the normative loops in ops/ on every instruction set.
// All of them divide the array among threads.
#pragma once

#include <array>
#include <cmath>
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

// The sum of two codes as ONNX Runtime's QLinearAdd forms it on x86 processors with AVX2, before it is rounded to a code: products are
// added without rounding in between, which decides ties. Checked against 1.20.1 for all pairs of codes and 300 random grids.
struct FusedSum {
  FusedSum() = default;
  FusedSum(float a_scale, std::int32_t a_zero_point, float b_scale, std::int32_t b_zero_point, float y_scale, std::int32_t y_zero_point)
      : a_factor(a_scale / y_scale),
        b_factor(b_scale / y_scale),
        offset(static_cast<float>(y_zero_point) - std::fma(a_factor, static_cast<float>(a_zero_point), b_factor * static_cast<float>(b_zero_point))) {}
  float operator()(std::int32_t a, std::int32_t b) const { return std::fma(static_cast<float>(a), a_factor, std::fma(static_cast<float>(b), b_factor, offset)); }

  float a_factor = 0, b_factor = 0, offset = 0;
};

// a * s_a ± b * s_b on the grid of y. Each operand enters through a table of its 256 rescaled codes; under float_rne sums are
// FusedSum, differences those of the real numbers.
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
  bool fused_;                                  // float_rne: a sum
  float y_scale_;
  FusedSum sum_;
  std::array<float, 256> a_real_{}, b_real_{};  // float_rne: a difference
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
