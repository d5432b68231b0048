// The only affine formula of narrow:   real = scale * (q - zero_point),   q = clamp(round(real / scale) + zero_point).
// Rounding of reals is to nearest, ties to even, as in ONNX QuantizeLinear. Integer rescaling rounds in
// kernels/requantize.h; nothing else rounds.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace narrow {

struct QuantParams {
  DType dtype = DType::kI8;                 // kI8, kU8, kI16, kU16 or kI32 / kI64 (biases)
  std::vector<float> scale;                 // one (per tensor) or one per index of `axis`; > 0
  std::vector<std::int32_t> zero_point;     // as many as scale
  int axis = -1;                            // channel axis; -1: per tensor
  int bits = 0;                             // 0: the width of dtype; fewer narrow [qmin, qmax] (e.g. 4-bit weights stored in i8)
  bool narrow_range = false;                // symmetric weights: qmin = -qmax (e.g. [-127, 127])

  static QuantParams per_tensor(DType dtype, float scale, std::int32_t zero_point);
  bool per_channel() const { return axis >= 0; }
  std::int64_t qmin() const;
  std::int64_t qmax() const;
  // Representable real range of channel c, on the grid.
  double lowest(std::size_t c = 0) const { return static_cast<double>(scale[c]) * static_cast<double>(qmin() - zero_point[c]); }
  double highest(std::size_t c = 0) const { return static_cast<double>(scale[c]) * static_cast<double>(qmax() - zero_point[c]); }
  std::string to_string() const;  // "i8 scale=0.01 zp=-3" or "i8 axis=0 scale[64]=0.001..0.02 zp=0"
  bool operator==(const QuantParams&) const = default;
};

// To the nearest integer, ties to even.
inline float round_half_even(float x) { return std::nearbyintf(x); }
inline double round_half_even(double x) { return std::nearbyint(x); }

// NaN quantizes to the zero point. x / scale is evaluated in float, as ONNX Runtime does.
inline std::int32_t quantize(float x, float scale, std::int32_t zero_point, std::int32_t qmin, std::int32_t qmax) {
  const float q = round_half_even(x / scale) + static_cast<float>(zero_point);
  if (!(q > static_cast<float>(qmin))) return std::isnan(q) ? zero_point : qmin;
  return q >= static_cast<float>(qmax) ? qmax : static_cast<std::int32_t>(q);
}
inline float dequantize(std::int32_t q, float scale, std::int32_t zero_point) {
  return scale * static_cast<float>(static_cast<std::int64_t>(q) - zero_point);
}

// Whole tensors; f32 in, params.dtype out, and back. Per channel along params.axis.
Tensor quantize(const Tensor& real, const QuantParams& params);
void quantize(const Tensor& real, const QuantParams& params, Tensor& codes);  // into a tensor of params.dtype and the same shape
Tensor dequantize(const Tensor& quantized, const QuantParams& params);
void dequantize(const Tensor& quantized, const QuantParams& params, Tensor& real);  // into a f32 tensor of the same shape

// How a real interval becomes a grid.
struct GridOptions {
  DType dtype = DType::kI8;
  int bits = 0;              // 0: the width of dtype
  bool symmetric = false;    // zero point at the middle of the grid (0 for signed types)
  bool narrow_range = false; // weights
};
// Range -> scale and zero point, with every guard in this one function: the interval is
// widened to contain 0; all-zero, denormal and one-sided ranges give a usable scale; the zero point is an integer on
// the grid, so that real 0 is exact (paddings, ReLU); the scale is a positive normal float. NaN or infinite ends, or lo > hi, are
// our own bug (callers reject NaN data). The result's [lowest, highest] is the grid-aligned range.
QuantParams params_from_range(double lo, double hi, const GridOptions& options);

}  // namespace narrow
