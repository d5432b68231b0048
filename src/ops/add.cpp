// Add and Sub, with a clamp fused in; the integer operator qadd serves both (specs/numerics.md § 2.3).
#include "ops/binary.h"
#include "ops/lut.h"
#include "ops/recognize.h"

namespace narrow {
namespace {

template <typename T>
struct Sum {
  T operator()(T a, T b) const { return static_cast<T>(a + b); }
};
template <typename T>
struct Difference {
  T operator()(T a, T b) const { return static_cast<T>(a - b); }
};

std::optional<Affine> affine(const Graph& graph, const Node& node, bool subtract) {
  auto constant = constant_operand(graph, node);
  if (!constant || fused_activation(node).op != nullptr) return std::nullopt;
  // x + c, x - c, c - x.
  const bool negated_data = subtract && constant->slot == 0;
  Affine out{.data_input = 1 - constant->slot, .axis = constant->axis};
  out.scale.assign(constant->values.size(), negated_data ? -1.0F : 1.0F);
  if (subtract && constant->slot == 1) {
    for (float& c : constant->values) c = -c;
  }
  out.shift = std::move(constant->values);
  return out;
}
std::optional<Affine> affine_add(const Graph& graph, const Node& node) { return affine(graph, node, false); }
std::optional<Affine> affine_sub(const Graph& graph, const Node& node) { return affine(graph, node, true); }

// --- qadd ---
// Each operand, zero point removed, is shifted left so that its rescaling to the common scale 2 * max(s_a, s_b) keeps fraction
// bits; the sum is rescaled to the output. Inputs a, b, multiplier[3], shift[3], scale[3]: entries for a, b and y.
// Under float_rne the scales are s_a, s_b, s_y themselves and the sum is formed in float as ONNX Runtime does:
//   y = round(a * (s_a / s_y) + (b * (s_b / s_y) + (zp_y - (s_a / s_y * zp_a + s_b / s_y * zp_b)))).

Status lower(LowerContext& ctx, int sign_b) {
  const QuantParams &a = ctx.in(0), &b = ctx.in(1), &y = ctx.out();
  // 16-bit codes leave 15 bits of room below 2^31; one less when a zero point widens their difference.
  int left_shift = 20;
  for (const QuantParams* p : {&a, &b}) {
    if (p->dtype == DType::kI16) left_shift = std::min(left_shift, p->zero_point[0] == 0 ? 15 : 14);
  }
  const double sa = static_cast<double>(a.scale[0]), sb = static_cast<double>(b.scale[0]), sy = static_cast<double>(y.scale[0]);
  const double common = 2 * std::max(sa, sb);
  const auto r = ctx.rescales("rescale", {sa / common, sb / common, common / (sy * static_cast<double>(1 << left_shift))}, {a.scale[0], b.scale[0], y.scale[0]});
  const Window window = output_window(fused_activation(ctx.node()), y);
  NodeSpec spec{.op = "qadd", .inputs = {ctx.input(0), ctx.input(1), r.multiplier, r.shift, r.scale}};
  spec.attrs.set("left_shift", left_shift);
  spec.attrs.set("sign_b", sign_b);
  spec.attrs.set("a_zero_point", a.zero_point[0]);
  spec.attrs.set("b_zero_point", b.zero_point[0]);
  spec.attrs.set("y_zero_point", y.zero_point[0]);
  spec.attrs.set("y_min", window.low);
  spec.attrs.set("y_max", window.high);
  spec.attrs.set("y_dtype", Attr(std::string(name_of(y.dtype))));
  ctx.emit_output(std::move(spec));
  return {};
}
Status lower_add(LowerContext& ctx) { return lower(ctx, 1); }
Status lower_sub(LowerContext& ctx) { return lower(ctx, -1); }

}  // namespace

extern const OpDef op_add;
constinit const OpDef op_add{.name = "Add",
                             .summary = "a + b",
                             .infer = infer_binary,
                             .run = run_binary_clamped<Sum>,
                             .permute = permute_elementwise,
                             .recognize = recognize_activation,
                             .affine = affine_add,
                             .fuses_activation = true,
                             .fuses_only_clamps = true,
                             .quant_rule = binary_rule,
                             .lower = lower_add};

extern const OpDef op_sub;
constinit const OpDef op_sub{.name = "Sub",
                             .summary = "a - b",
                             .infer = infer_binary,
                             .run = run_binary_clamped<Difference>,
                             .permute = permute_elementwise,
                             .affine = affine_sub,
                             .fuses_activation = true,
                             .fuses_only_clamps = true,
                             .quant_rule = binary_rule,
                             .lower = lower_sub};

}  // namespace narrow
