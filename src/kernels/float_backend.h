// Fast float kernels behind one interface. The compiler links float_backend_dnnl.cpp (oneDNN); the embeddable runtime
// links float_backend_plain.cpp, which has none, so that operators run their own loops there. Maps are channels-last.
// A maker returns nullptr when there is no fast form for the problem.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/conv_shape.h"

namespace narrow {

// An activation computed together with the linear operator that precedes it.
struct FloatActivation {
  enum class Kind : std::uint8_t { kNone, kClip, kLeakyRelu, kSilu, kHardSwish, kSigmoid, kTanh, kGelu };
  Kind kind = Kind::kNone;
  float alpha = 0;  // kClip: lower bound; kLeakyRelu: slope
  float beta = 0;   // kClip: upper bound
};

class FloatKernel {
 public:
  FloatKernel() = default;
  FloatKernel(const FloatKernel&) = delete;
  FloatKernel& operator=(const FloatKernel&) = delete;
  virtual ~FloatKernel() = default;
  // `weights` is read only when the problem gave none; `bias` only when the problem has one. Not re-entrant.
  virtual void run(const float* x, const float* weights, const float* bias, float* y) = 0;
};

struct FloatConvProblem {
  ConvShape shape;               // of a transposed convolution as well: w [out_c, kernel_h, kernel_w, in_c / groups]
  bool transposed = false;
  const float* weights = nullptr;  // packed once when given; nullptr: passed to run() and packed every time
  bool has_bias = false;
  FloatActivation activation;
};
std::unique_ptr<FloatKernel> make_float_conv(const FloatConvProblem& problem);

// y [m, n] = x [m, k] · w [n, k]ᵀ + bias [n].
struct FloatGemmProblem {
  std::int64_t m = 1, n = 1, k = 1;
  const float* weights = nullptr;
  bool has_bias = false;
  FloatActivation activation;
};
std::unique_ptr<FloatKernel> make_float_gemm(const FloatGemmProblem& problem);

// y [batch..., m, n] = a [batch..., m, k] · b [batch..., k, n]; batch extents have equal rank, 1 broadcasts. run(a, b, nullptr, y).
struct FloatMatMulProblem {
  std::vector<std::int64_t> a, b, y;
};
std::unique_ptr<FloatKernel> make_float_matmul(const FloatMatMulProblem& problem);

}  // namespace narrow
