// HardSwish: x * clip(x / 6 + 1/2, 0, 1). Recognised in its decomposed forms (recognize.cpp); written back as
// x * HardSigmoid(x), which opset 13 has.
#include <algorithm>

#include "ops/unary.h"

namespace narrow {
namespace {

float apply(float x, const Attrs&) { return x * std::clamp(x * (1.0F / 6) + 0.5F, 0.0F, 1.0F); }
void apply_array(float* x, std::int64_t n, const Attrs& attrs) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = apply(x[i], attrs);
}
constexpr ActivationDef kActivation{.apply = apply, .apply_array = apply_array};

Status denormalize(RewriteContext& ctx) {
  const ValueId x = ctx.node().inputs[0];
  NodeSpec gate{.name = ctx.node().name + ".gate", .op = "HardSigmoid", .inputs = {x}};
  gate.attrs.set("alpha", Attr(1.0 / 6));
  gate.attrs.set("beta", Attr(0.5));
  const ValueId g = NARROW_TRY(ctx.insert_before(std::move(gate)));
  ctx.graph.set_op(ctx.node_id, "Mul");
  ctx.graph.set_inputs(ctx.node_id, {x, g});
  return {};
}

}  // namespace

extern const OpDef op_hard_swish;
constinit const OpDef op_hard_swish = unary_op({.name = "HardSwish", .summary = "x * clip(x / 6 + 1/2, 0, 1)", .since_opset = 14, .denormalize = denormalize, .activation = &kActivation});

}  // namespace narrow
