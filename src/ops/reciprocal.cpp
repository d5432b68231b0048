// Reciprocal: 1 / x.
#include "ops/unary.h"

namespace narrow {
namespace {

float apply(float x, const Attrs&) { return 1.0F / x; }
void apply_array(float* x, std::int64_t n, const Attrs& attrs) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = apply(x[i], attrs);
}
constexpr ActivationDef kActivation{.apply = apply, .apply_array = apply_array};

}  // namespace

extern const OpDef op_reciprocal;
constinit const OpDef op_reciprocal = unary_op({.name = "Reciprocal", .summary = "1 / x", .activation = &kActivation});

}  // namespace narrow
