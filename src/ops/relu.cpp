// Relu: max(x, 0). Fused into its producer where there is one; otherwise a table of 256 integers.
#include <limits>

#include "ops/op_def.h"

namespace narrow {
namespace {

float apply(float x, const Attrs&) { return x > 0 ? x : 0; }
std::pair<double, double> clamp(const Attrs&) { return {0, std::numeric_limits<double>::infinity()}; }
constexpr ActivationDef kActivation{.apply = apply, .clamp = clamp};

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  const Value& x = graph.value(node.inputs[0]);
  return std::vector<TensorType>{{x.dtype, x.shape}};
}

void run(RunContext& ctx) {
  const float* x = ctx.inputs[0].data<float>();
  float* y = ctx.outputs[0].data<float>();
  for (std::int64_t i = 0, n = ctx.inputs[0].elements(); i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}

}  // namespace

extern const OpDef op_relu;
constinit const OpDef op_relu{.name = "Relu", .summary = "max(x, 0)", .infer = infer, .run = run, .permute = permute_elementwise, .activation = &kActivation};

}  // namespace narrow
