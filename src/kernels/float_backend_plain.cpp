// The embeddable runtime has no accelerated float kernels: float islands run the operators' own loops.
#include "kernels/float_backend.h"

namespace narrow {

std::unique_ptr<FloatKernel> make_float_conv(const FloatConvProblem&) { return nullptr; }
std::unique_ptr<FloatKernel> make_float_gemm(const FloatGemmProblem&) { return nullptr; }
std::unique_ptr<FloatKernel> make_float_matmul(const FloatMatMulProblem&) { return nullptr; }

}  // namespace narrow
