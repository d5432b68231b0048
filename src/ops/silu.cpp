// SiLU: x * sigmoid(x). ONNX has no such operator before opset 22: recognised on import (recognize.cpp), written back
// as Sigmoid and Mul.
#include <cmath>

#include "kernels/math_f32.h"
#include "ops/unary.h"

namespace narrow {
namespace {

float apply(float x, const Attrs&) { return x / (1.0F + std::exp(-x)); }
void apply_array(float* x, std::int64_t n, const Attrs&) { silu_f32(x, n); }
constexpr ActivationDef kActivation{.apply = apply, .apply_array = apply_array};

Status denormalize(RewriteContext& ctx) {
  const ValueId x = ctx.node().inputs[0];
  const ValueId gate = NARROW_TRY(ctx.insert_before({.name = ctx.node().name + ".gate", .op = "Sigmoid", .inputs = {x}}));
  ctx.graph.set_op(ctx.node_id, "Mul");
  ctx.graph.set_inputs(ctx.node_id, {x, gate});
  return {};
}

}  // namespace

extern const OpDef op_silu;
constinit const OpDef op_silu = unary_op({.name = "SiLU", .summary = "x * sigmoid(x); what Mul and Sigmoid become", .onnx = false, .denormalize = denormalize, .activation = &kActivation});

}  // namespace narrow
