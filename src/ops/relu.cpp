// Relu: max(x, 0). Fused into its producer where there is one; otherwise a table of 256 integers.
#include <limits>

#include "ops/unary.h"

namespace narrow {
namespace {

float apply(float x, const Attrs&) { return x > 0 ? x : 0; }
std::pair<double, double> clamp(const Attrs&) { return {0, std::numeric_limits<double>::infinity()}; }
void apply_array(float* x, std::int64_t n, const Attrs&) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] > 0 ? x[i] : 0;
}
constexpr ActivationDef kActivation{.apply = apply, .clamp = clamp, .apply_array = apply_array};

}  // namespace

extern const OpDef op_relu;
constinit const OpDef op_relu = unary_op({.name = "Relu", .summary = "max(x, 0)", .activation = &kActivation});

}  // namespace narrow
