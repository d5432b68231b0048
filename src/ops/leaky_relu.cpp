// LeakyRelu: x above 0, alpha * x below.
#include "ops/unary.h"

namespace narrow {
namespace {

constexpr double kDefaultAlpha = 0.01;

float apply(float x, const Attrs& attrs) { return x >= 0 ? x : static_cast<float>(attrs.get_float("alpha", kDefaultAlpha)) * x; }

void apply_array(float* x, std::int64_t n, const Attrs& attrs) {
  const auto alpha = static_cast<float>(attrs.get_float("alpha", kDefaultAlpha));
  for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] >= 0 ? x[i] : alpha * x[i];
}

constexpr ActivationDef kActivation{.apply = apply, .apply_array = apply_array};

}  // namespace

extern const OpDef op_leaky_relu;
constinit const OpDef op_leaky_relu = unary_op({.name = "LeakyRelu", .summary = "x above 0, alpha * x below", .activation = &kActivation});

}  // namespace narrow
