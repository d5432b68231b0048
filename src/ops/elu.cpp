// Elu: x above 0, alpha * (exp(x) - 1) below.
#include <cmath>

#include "ops/unary.h"

namespace narrow {
namespace {

float apply(float x, const Attrs& attrs) { return x >= 0 ? x : static_cast<float>(attrs.get_float("alpha", 1.0)) * std::expm1(x); }
constexpr ActivationDef kActivation{.apply = apply};

}  // namespace

extern const OpDef op_elu;
constinit const OpDef op_elu = unary_op({.name = "Elu", .summary = "x above 0, alpha * (exp(x) - 1) below", .activation = &kActivation});

}  // namespace narrow
