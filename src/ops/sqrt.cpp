// Sqrt: square root.
#include <cmath>

#include "ops/unary.h"

namespace narrow {
namespace {

float apply(float x, const Attrs&) { return std::sqrt(x); }
void apply_array(float* x, std::int64_t n, const Attrs& attrs) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = apply(x[i], attrs);
}
constexpr ActivationDef kActivation{.apply = apply, .apply_array = apply_array};

}  // namespace

extern const OpDef op_sqrt;
constinit const OpDef op_sqrt = unary_op({.name = "Sqrt", .summary = "square root", .activation = &kActivation});

}  // namespace narrow
