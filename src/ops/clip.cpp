// Clip: x limited to [min, max]; an absent limit is infinite. Internal form: attributes "min" and "max" (also before
// opset 11, where ONNX had them; inputs since).
#include <cmath>
#include <limits>

#include "ops/unary.h"

namespace narrow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::pair<double, double> clamp(const Attrs& attrs) { return {attrs.get_float("min", -kInfinity), attrs.get_float("max", kInfinity)}; }

float apply(float x, const Attrs& attrs) {
  const auto [low, high] = clamp(attrs);
  const auto lo = static_cast<float>(low), hi = static_cast<float>(high);
  x = x < lo ? lo : x;
  return x > hi ? hi : x;  // max wins when min > max, as in ONNX
}

void apply_array(float* x, std::int64_t n, const Attrs& attrs) {
  const auto [low, high] = clamp(attrs);
  const auto lo = static_cast<float>(low), hi = static_cast<float>(high);
  for (std::int64_t i = 0; i < n; ++i) {
    const float v = x[i] < lo ? lo : x[i];
    x[i] = v > hi ? hi : v;
  }
}

constexpr ActivationDef kActivation{.apply = apply, .clamp = clamp, .apply_array = apply_array};

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  for (const auto& [slot, key] : {std::pair{1, "min"}, std::pair{2, "max"}}) {
    const Tensor* limit = NARROW_TRY(ctx.constant_input(static_cast<std::size_t>(slot), key));
    if (limit != nullptr) {
      if (limit->elements() != 1) return error("'{}' has shape {}, wanted one number", key, to_string(limit->shape()));
      ctx.attrs().set(key, Attr(limit->cast(DType::kF64).data<double>()[0]));
    }
    if (ctx.node().attrs.has(key)) {
      const double value = ctx.node().attrs.get_float(key);
      if (std::isnan(value)) return error("'{}' is NaN", key);
      // The extremes of float are how older exporters write "no limit".
      if (std::abs(value) >= static_cast<double>(std::numeric_limits<float>::max())) ctx.attrs().erase(key);
    }
  }
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0]});
  return {};
}

Status denormalize(RewriteContext& ctx) {
  std::vector<ValueId> inputs{ctx.node().inputs[0], ValueId{}, ValueId{}};
  for (const auto& [slot, key] : {std::pair{1, "min"}, std::pair{2, "max"}}) {
    if (!ctx.node().attrs.has(key)) continue;
    const auto limit = static_cast<float>(ctx.node().attrs.get_float(key));
    inputs[static_cast<std::size_t>(slot)] = ctx.graph.add_constant(ctx.node().name + "." + key, Tensor::scalar<float>(limit));
    ctx.attrs().erase(key);
  }
  while (!inputs.back()) inputs.pop_back();
  ctx.graph.set_inputs(ctx.node_id, std::move(inputs));
  return {};
}

}  // namespace

extern const OpDef op_clip;
constinit const OpDef op_clip = unary_op({.name = "Clip", .summary = "x limited to [min, max]", .normalize = normalize, .denormalize = denormalize, .activation = &kActivation});

}  // namespace narrow
