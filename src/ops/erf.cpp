// Erf: error function.
#include <cmath>

#include "kernels/math_f32.h"
#include "ops/unary.h"

namespace narrow {
namespace {

float apply(float x, const Attrs&) { return std::erf(x); }
void apply_array(float* x, std::int64_t n, const Attrs&) { erf_f32(x, n); }
constexpr ActivationDef kActivation{.apply = apply, .apply_array = apply_array};

}  // namespace

extern const OpDef op_erf;
constinit const OpDef op_erf = unary_op({.name = "Erf", .summary = "error function", .activation = &kActivation});

}  // namespace narrow
