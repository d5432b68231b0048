// Mul (with a clamp fused in) and Div; the integer operator qmul. Division by a constant becomes multiplication by its
// reciprocal on import.

#include "ops/binary.h"
#include "ops/integer_binary.h"
#include "ops/recognize.h"

namespace narrow {
namespace {

template <typename T>
struct Product {
  T operator()(T a, T b) const { return modular(a, b, [](auto p, auto q) { return p * q; }); }
};

template <typename T>
struct Quotient {
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return modular(T{}, a, [](auto p, auto q) { return p - q; });  // the lowest integer has no positive counterpart
      }
    }
    return static_cast<T>(a / b);
  }
};

std::optional<Affine> affine(const Graph& graph, const Node& node) {
  auto constant = constant_operand(graph, node);
  if (!constant || fused_activation(node).op != nullptr) return std::nullopt;
  Affine out{.data_input = 1 - constant->slot, .axis = constant->axis};
  out.shift.assign(constant->values.size(), 0.0F);
  out.scale = std::move(constant->values);
  return out;
}

Status normalize_div(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 2));
  const Value& divisor = ctx.input(1);
  if (!divisor.is_constant() || divisor.dtype != DType::kF32) return {};
  Tensor reciprocal(DType::kF32, divisor.shape);
  for (std::int64_t i = 0; i < reciprocal.elements(); ++i) {
    // In double, so that it is the nearest float; zero, tiny and infinite divisors have no usable reciprocal.
    const double inverse = 1.0 / static_cast<double>(divisor.constant.data<float>()[i]);
    if (!std::isnormal(static_cast<float>(inverse))) return {};
    reciprocal.data<float>()[i] = static_cast<float>(inverse);
  }
  const ValueId constant = ctx.graph.add_constant(divisor.name + ".reciprocal", std::move(reciprocal));
  ctx.graph.set_input(ctx.node_id, 1, constant);
  ctx.graph.set_op(ctx.node_id, "Mul");
  return {};
}

QuantRule div_rule(const Graph& graph, const Node& node) {
  const Value &a = graph.value(node.inputs[0]), &b = graph.value(node.inputs[1]);
  if (a.dtype != DType::kF32) return {.unquantized = "its element type is not f32"};
  if (b.is_constant()) return {.unquantized = "its divisor has no reciprocal: it is zero, tiny or infinite"};
  return {.unquantized = a.is_constant() ? "division by a computed tensor has no integer form" : "division of two computed tensors has no integer form"};
}

// --- qmul ---
// acc = (a - zp_a) * (b - zp_b); y = requantize(acc) with s_a * s_b / s_y. Inputs a, b, multiplier[1], shift[1]. Under float_rne
// the attributes a_scale, b_scale and y_scale are read instead, and 8-bit codes follow ONNX Runtime's QLinearMul, 16-bit
// ones its DequantizeLinear, Mul, QuantizeLinear.

struct ProductOfCodes {
  explicit ProductOfCodes(const RunContext& ctx) : grid(read_binary_grid(ctx)), r(read_rescales(ctx, 2)[0]), factor(grid.a_scale * grid.b_scale / grid.y_scale) {}

  std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    const std::int64_t product = static_cast<std::int64_t>(a - grid.a_zero_point) * (b - grid.b_zero_point);
    if (grid.rounding != Rounding::kFloatRne) return requantize(product, r, grid.rounding, grid.y_zero_point, grid.low, grid.high);
    if (!grid.wide) return round_to_grid(static_cast<float>(product) * factor + static_cast<float>(grid.y_zero_point), 0, grid.low, grid.high);
    return quantize(dequantize(a, grid.a_scale, grid.a_zero_point) * dequantize(b, grid.b_scale, grid.b_zero_point), grid.y_scale, grid.y_zero_point, grid.low, grid.high);
  }

  BinaryGrid grid;
  Rescale r;
  float factor = 0;
};

MulU8 fast_form(const ProductOfCodes& c) {
  return MulU8({.factor = {c.r.multiplier, c.r.shift, c.factor},
                .rounding = c.grid.rounding,
                .a_zero_point = c.grid.a_zero_point,
                .b_zero_point = c.grid.b_zero_point,
                .grid = {c.grid.y_zero_point, c.grid.low, c.grid.high, false}});
}

Status lower(LowerContext& ctx) {
  const QuantParams &a = ctx.in(0), &b = ctx.in(1), &y = ctx.out();
  const double real = static_cast<double>(a.scale[0]) * static_cast<double>(b.scale[0]) / static_cast<double>(y.scale[0]);
  const auto r = ctx.rescales("rescale", {real}, {a.scale[0] * b.scale[0] / y.scale[0]});
  NodeSpec spec{.op = "qmul", .inputs = {ctx.input(0), ctx.input(1), r.multiplier, r.shift}};
  set_binary_grid(ctx, spec.attrs);
  ctx.emit_output(std::move(spec));
  return {};
}

Result<std::vector<TensorType>> infer_codes(const Graph& graph, const Node& node) {
  return narrow::infer_codes(graph, node, 1);
}

}  // namespace

extern const OpDef op_mul;
constinit const OpDef op_mul{.name = "Mul",
                             .summary = "a * b", .min_inputs = 2,
                             .infer = infer_binary,
                             .run = run_binary_clamped<Product>,
                             .permute = permute_elementwise,
                             .recognize = recognize_composite,
                             .affine = affine,
                             .fuses_activation = true,
                             .fuses_only_clamps = true,
                             .quant_rule = binary_rule,
                             .lower = lower};

extern const OpDef op_div;
constinit const OpDef op_div{.name = "Div",
                             .summary = "a / b", .min_inputs = 2,
                             .normalize = normalize_div,
                             .infer = infer_binary,
                             .run = run_binary<Quotient>,
                             .permute = permute_elementwise,
                             .recognize = recognize_composite,
                             .quant_rule = div_rule};

extern const OpDef op_qmul;
constinit const OpDef op_qmul{.name = "qmul", .summary = "a * b of integer codes", .onnx = false, .infer = infer_codes, .run = run_codes<ProductOfCodes>, .prepare = prepare_codes<ProductOfCodes>};

}  // namespace narrow
