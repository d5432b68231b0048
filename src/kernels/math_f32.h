// Transcendental functions over float arrays, in place. Written as straight-line arithmetic that compilers vectorise;
// without contraction every instruction set gives the same bits. Absolute errors stay below 4e-7 of the result's scale;
// integer tables are not built from these but from the C library.
#pragma once

#include <cstdint>

namespace narrow {

void exp_f32(float* x, std::int64_t count);        // e^x
void sigmoid_f32(float* x, std::int64_t count);    // 1 / (1 + e^-x)
void tanh_f32(float* x, std::int64_t count);
void silu_f32(float* x, std::int64_t count);       // x * sigmoid(x)
void gelu_erf_f32(float* x, std::int64_t count);   // x/2 * (1 + erf(x / sqrt 2))
void gelu_tanh_f32(float* x, std::int64_t count);  // x * sigmoid(2 * sqrt(2/pi) * (x + 0.044715 x^3))
void erf_f32(float* x, std::int64_t count);

}  // namespace narrow
