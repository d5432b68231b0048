// Sigmoid: 1 / (1 + exp(-x)). Its range is [0, 1), whatever the data: 8-bit codes are steps of 1/256.
#include <cmath>

#include "kernels/math_f32.h"
#include "ops/unary.h"

namespace narrow {
namespace {

float apply(float x, const Attrs&) { return 1.0F / (1.0F + std::exp(-x)); }
void apply_array(float* x, std::int64_t n, const Attrs&) { sigmoid_f32(x, n); }
constexpr ActivationDef kActivation{.apply = apply, .apply_array = apply_array, .fixed_range = std::pair{0.0, 1.0}};

}  // namespace

extern const OpDef op_sigmoid;
constinit const OpDef op_sigmoid = unary_op({.name = "Sigmoid", .summary = "1 / (1 + exp(-x))", .activation = &kActivation});

}  // namespace narrow
