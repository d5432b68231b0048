// Gelu: x * Phi(x), by erf (attribute approximate = "none") or by its tanh approximation ("tanh"). ONNX has it since
// opset 20; older models spell it out (recognize.cpp), and so do we when writing.
#include <cmath>

#include "kernels/math_f32.h"
#include "ops/unary.h"

namespace narrow {
namespace {

bool by_tanh(const Attrs& attrs) { return attrs.get_string("approximate", "none") == "tanh"; }

float apply(float x, const Attrs& attrs) {
  const double v = static_cast<double>(x);
  if (by_tanh(attrs)) return static_cast<float>(0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))));
  return static_cast<float>(0.5 * v * std::erfc(-v * 0.7071067811865476));
}

void apply_array(float* x, std::int64_t n, const Attrs& attrs) {
  if (by_tanh(attrs)) {
    gelu_tanh_f32(x, n);
  } else {
    gelu_erf_f32(x, n);
  }
}

constexpr ActivationDef kActivation{.apply = apply, .apply_array = apply_array};

Status normalize(RewriteContext& ctx) {
  const std::string form = ctx.node().attrs.get_string("approximate", "none");
  if (form != "none" && form != "tanh") return error("approximate is '{}', wanted 'none' or 'tanh'", form);
  return {};
}

// x * 0.5 * (1 + erf(x / sqrt 2)), or 0.5 * (1 + tanh(u)) = sigmoid(2u) with u = sqrt(2/pi) * (x + 0.044715 x^3).
Status denormalize(RewriteContext& ctx) {
  const ValueId x = ctx.node().inputs[0];
  const std::string name = ctx.node().name;
  const auto number = [&](const char* suffix, float value) { return ctx.graph.add_constant(name + suffix, Tensor::scalar<float>(value)); };
  ValueId gate;
  if (by_tanh(ctx.node().attrs)) {
    const ValueId square = NARROW_TRY(ctx.insert_before({.name = name + ".square", .op = "Mul", .inputs = {x, x}}));
    const ValueId scaled = NARROW_TRY(ctx.insert_before({.name = name + ".scaled", .op = "Mul", .inputs = {square, number(".cubic", 0.0713548162726F)}}));
    const ValueId factor = NARROW_TRY(ctx.insert_before({.name = name + ".factor", .op = "Add", .inputs = {scaled, number(".linear", 1.59576912160573F)}}));
    const ValueId inner = NARROW_TRY(ctx.insert_before({.name = name + ".inner", .op = "Mul", .inputs = {factor, x}}));
    gate = NARROW_TRY(ctx.insert_before({.name = name + ".gate", .op = "Sigmoid", .inputs = {inner}}));
  } else {
    const ValueId scaled = NARROW_TRY(ctx.insert_before({.name = name + ".scaled", .op = "Mul", .inputs = {x, number(".rsqrt2", 0.70710678F)}}));
    const ValueId erf = NARROW_TRY(ctx.insert_before({.name = name + ".erf", .op = "Erf", .inputs = {scaled}}));
    const ValueId sum = NARROW_TRY(ctx.insert_before({.name = name + ".sum", .op = "Add", .inputs = {erf, number(".one", 1.0F)}}));
    gate = NARROW_TRY(ctx.insert_before({.name = name + ".gate", .op = "Mul", .inputs = {sum, number(".half", 0.5F)}}));
  }
  ctx.attrs().erase("approximate");
  ctx.graph.set_op(ctx.node_id, "Mul");
  ctx.graph.set_inputs(ctx.node_id, {x, gate});
  return {};
}

}  // namespace

extern const OpDef op_gelu;
constinit const OpDef op_gelu = unary_op({.name = "Gelu", .summary = "x * Phi(x)", .since_opset = 20, .normalize = normalize, .denormalize = denormalize, .activation = &kActivation});

}  // namespace narrow
