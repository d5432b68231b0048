// Exp: e to the power x.
#include <cmath>

#include "kernels/math_f32.h"
#include "ops/unary.h"

namespace narrow {
namespace {

float apply(float x, const Attrs&) { return std::exp(x); }
void apply_array(float* x, std::int64_t n, const Attrs&) { exp_f32(x, n); }
constexpr ActivationDef kActivation{.apply = apply, .apply_array = apply_array};

}  // namespace

extern const OpDef op_exp;
constinit const OpDef op_exp = unary_op({.name = "Exp", .summary = "e to the power x", .activation = &kActivation});

}  // namespace narrow
