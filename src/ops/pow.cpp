// Pow with a constant exponent: a function of one tensor. Internal form: attribute "exponent"; ONNX passes it as an input.
#include <cmath>

#include "ops/unary.h"

namespace narrow {
namespace {

float apply(float x, const Attrs& attrs) { return std::pow(x, static_cast<float>(attrs.get_float("exponent", 1))); }

void apply_array(float* x, std::int64_t n, const Attrs& attrs) {
  const auto exponent = static_cast<float>(attrs.get_float("exponent", 1));
  if (exponent == 2) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] * x[i];
  } else if (exponent == 3) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] * x[i] * x[i];
  } else {
    for (std::int64_t i = 0; i < n; ++i) x[i] = std::pow(x[i], exponent);
  }
}

constexpr ActivationDef kActivation{.apply = apply, .apply_array = apply_array};

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 2));
  const Tensor* exponent = NARROW_TRY(ctx.constant_input(1, "exponent"));
  if (exponent->elements() != 1) return error("the exponent has shape {}, wanted one number", to_string(exponent->shape()));
  ctx.attrs().set("exponent", Attr(exponent->cast(DType::kF64).data<double>()[0]));
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0]});
  return {};
}

Status denormalize(RewriteContext& ctx) {
  const auto exponent = static_cast<float>(ctx.node().attrs.get_float("exponent", 1));
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0], ctx.graph.add_constant(ctx.node().name + ".exponent", Tensor::scalar<float>(exponent))});
  ctx.attrs().erase("exponent");
  return {};
}

}  // namespace

extern const OpDef op_pow;
constinit const OpDef op_pow = unary_op({.name = "Pow", .summary = "x to a constant power", .normalize = normalize, .denormalize = denormalize, .activation = &kActivation});

}  // namespace narrow
