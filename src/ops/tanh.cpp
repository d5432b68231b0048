// Tanh. Its range is [-1, 1), whatever the data: 8-bit codes are steps of 1/128.
#include <cmath>

#include "kernels/math_f32.h"
#include "ops/unary.h"

namespace narrow {
namespace {

float apply(float x, const Attrs&) { return std::tanh(x); }
void apply_array(float* x, std::int64_t n, const Attrs&) { tanh_f32(x, n); }
constexpr ActivationDef kActivation{.apply = apply, .apply_array = apply_array, .fixed_range = std::pair{-1.0, 1.0}};

}  // namespace

extern const OpDef op_tanh;
constinit const OpDef op_tanh = unary_op({.name = "Tanh", .summary = "hyperbolic tangent", .activation = &kActivation});

}  // namespace narrow
