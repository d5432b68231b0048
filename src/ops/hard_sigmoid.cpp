// HardSigmoid: alpha * x + beta limited to [0, 1].
#include <algorithm>

#include "ops/unary.h"

namespace narrow {
namespace {

constexpr double kDefaultAlpha = 0.2, kDefaultBeta = 0.5;

void apply_array(float* x, std::int64_t n, const Attrs& attrs) {
  const auto alpha = static_cast<float>(attrs.get_float("alpha", kDefaultAlpha));
  const auto beta = static_cast<float>(attrs.get_float("beta", kDefaultBeta));
  for (std::int64_t i = 0; i < n; ++i) x[i] = std::clamp(alpha * x[i] + beta, 0.0F, 1.0F);
}

float apply(float x, const Attrs& attrs) {
  apply_array(&x, 1, attrs);
  return x;
}

constexpr ActivationDef kActivation{.apply = apply, .apply_array = apply_array};

}  // namespace

extern const OpDef op_hard_sigmoid;
constinit const OpDef op_hard_sigmoid = unary_op({.name = "HardSigmoid", .summary = "alpha * x + beta limited to [0, 1]", .activation = &kActivation});

}  // namespace narrow
