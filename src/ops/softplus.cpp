// Softplus: log(1 + exp(x)); Mish: x * tanh(softplus(x)), written back as those three operators.
#include <cmath>

#include "ops/unary.h"

namespace narrow {
namespace {

float softplus(float x, const Attrs&) { return x > 20 ? x : std::log1p(std::exp(x)); }
constexpr ActivationDef kSoftplus{.apply = softplus};

float mish(float x, const Attrs& attrs) { return x * std::tanh(softplus(x, attrs)); }
constexpr ActivationDef kMish{.apply = mish};

Status denormalize_mish(RewriteContext& ctx) {
  const ValueId x = ctx.node().inputs[0];
  const ValueId plus = NARROW_TRY(ctx.insert_before({.name = ctx.node().name + ".softplus", .op = "Softplus", .inputs = {x}}));
  const ValueId gate = NARROW_TRY(ctx.insert_before({.name = ctx.node().name + ".gate", .op = "Tanh", .inputs = {plus}}));
  ctx.graph.set_op(ctx.node_id, "Mul");
  ctx.graph.set_inputs(ctx.node_id, {x, gate});
  return {};
}

}  // namespace

extern const OpDef op_softplus;
constinit const OpDef op_softplus = unary_op({.name = "Softplus", .summary = "log(1 + exp(x))", .activation = &kSoftplus});

extern const OpDef op_mish;
constinit const OpDef op_mish = unary_op({.name = "Mish", .summary = "x * tanh(log(1 + exp(x)))", .since_opset = 18, .denormalize = denormalize_mish, .activation = &kMish});

}  // namespace narrow
