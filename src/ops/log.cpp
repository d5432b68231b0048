// Log: natural logarithm.
#include <cmath>

#include "ops/unary.h"

namespace narrow {
namespace {

float apply(float x, const Attrs&) { return std::log(x); }
constexpr ActivationDef kActivation{.apply = apply};

}  // namespace

extern const OpDef op_log;
constinit const OpDef op_log = unary_op({.name = "Log", .summary = "natural logarithm", .activation = &kActivation});

}  // namespace narrow
