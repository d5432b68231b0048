// Clip: x limited to [min, max]; an absent limit is infinite. Internal form: attributes "min" and "max" (also before
// opset 11, where ONNX had them; inputs since). With a limit that is computed at run time it becomes Max and Min.
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

// "No softer than 80 dB below the loudest" has a limit that the data decide. Constant ones are attributes already.
Status limit_by_computed(RewriteContext& ctx, ValueId low, ValueId high) {
  ValueId data = ctx.node().inputs[0];
  const std::string name = ctx.node().name;
  const bool constant_too = ctx.node().attrs.has("min") || ctx.node().attrs.has("max");
  if (low && (high || constant_too)) data = NARROW_TRY(ctx.insert_before({.name = name + ".min", .op = "Max", .inputs = {data, low}}));
  if (high && constant_too) {
    data = NARROW_TRY(ctx.insert_before({.name = name + ".min", .op = "Clip", .inputs = {data}, .attrs = ctx.node().attrs}));
    ctx.attrs().erase("min");
  }
  if (low && !high && constant_too) {
    ctx.graph.set_inputs(ctx.node_id, {data});
  } else {
    ctx.graph.set_inputs(ctx.node_id, {data, high ? high : low});
    ctx.graph.set_op(ctx.node_id, high ? "Min" : "Max");  // max comes last: it wins when min > max, as in ONNX
  }
  return {};
}

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  ValueId computed[2];
  for (const auto& [slot, key] : {std::pair{1, "min"}, std::pair{2, "max"}}) {
    const auto s = static_cast<std::size_t>(slot);
    if (ctx.has_input(s)) {
      const Value& limit = ctx.input(s);
      if (element_count(limit.shape) != 1) return error("'{}' has shape {}, wanted one number", key, to_string(limit.shape));
      if (limit.is_constant()) ctx.attrs().set(key, Attr(limit.constant.cast(DType::kF64).data<double>()[0]));
      else computed[s - 1] = ctx.node().inputs[s];
    }
    if (ctx.node().attrs.has(key)) {
      const double value = ctx.node().attrs.get_float(key);
      if (std::isnan(value)) return error("'{}' is NaN", key);
      // The extremes of float are how older exporters write "no limit".
      if (std::abs(value) >= static_cast<double>(std::numeric_limits<float>::max())) ctx.attrs().erase(key);
    }
  }
  if (computed[0] || computed[1]) return limit_by_computed(ctx, computed[0], computed[1]);
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
