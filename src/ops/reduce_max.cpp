// ReduceMax and ReduceMin along axes. Codes of one grid are in the order of what they mean, so the same operators serve float and
// integer networks.
#include <limits>

#include "ops/lower_context.h"
#include "ops/reduction.h"

namespace narrow {
namespace {

Status normalize(RewriteContext& ctx) {
  if (ctx.input(0).dtype != DType::kF32) return error("the input is {}, wanted f32", name_of(ctx.input(0).dtype));
  return normalize_reduction(ctx);
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  const Value& x = graph.value(node.inputs[0]);
  if (x.dtype != DType::kF32 && x.dtype != DType::kU8 && x.dtype != DType::kI8 && x.dtype != DType::kI16) return error("the input is {}, wanted f32 or 8- or 16-bit codes", name_of(x.dtype));
  const Shape y = NARROW_TRY(reduced_shape(graph, node));
  if (element_count(x.shape) == 0 && element_count(y) != 0) return error("the input {} is empty, wanted elements to choose from", to_string(x.shape));
  return std::vector<TensorType>{{x.dtype, y}};
}

template <typename T>
void extreme(RunContext& ctx) {
  using Limits = std::numeric_limits<T>;
  const bool largest = ctx.node.op == "ReduceMax";
  T lowest = Limits::lowest(), highest = Limits::max();
  if constexpr (Limits::has_infinity) lowest = -Limits::infinity(), highest = Limits::infinity();
  // Written so that a NaN, once met, stays.
  const auto y = largest ? reduce<T>(ctx.inputs[0], ctx.outputs[0].shape(), lowest, [](T& to, T x) { to = x > to || x != x ? x : to; })
                         : reduce<T>(ctx.inputs[0], ctx.outputs[0].shape(), highest, [](T& to, T x) { to = x < to || x != x ? x : to; });
  std::copy(y.begin(), y.end(), ctx.outputs[0].data<T>());
}

void run(RunContext& ctx) {
  switch (ctx.inputs[0].dtype()) {
    case DType::kF32: return extreme<float>(ctx);
    case DType::kU8: return extreme<std::uint8_t>(ctx);
    case DType::kI8: return extreme<std::int8_t>(ctx);
    case DType::kI16: return extreme<std::int16_t>(ctx);
    default: NARROW_CHECK(false, "extreme of {}", name_of(ctx.inputs[0].dtype()));
  }
}

QuantRule quant_rule(const Graph&, const Node&) {
  QuantRule rule;
  rule.follows_input = true;
  rule.same = {{input_slot(0), output_slot(0)}};
  return rule;
}

Status lower(LowerContext& ctx) {
  ctx.emit_output({.op = ctx.node().op, .inputs = {ctx.input(0)}, .attrs = ctx.node().attrs});
  return {};
}

Status denormalize(RewriteContext& ctx) {
  denormalize_reduction(ctx, 18);
  return {};
}

}  // namespace

extern const OpDef op_reduce_max;
constinit const OpDef op_reduce_max{.name = "ReduceMax",
                                    .summary = "largest along axes",
                                    .normalize = normalize,
                                    .denormalize = denormalize,
                                    .infer = infer,
                                    .run = run,
                                    .permute = permute_reduction,
                                    .quant_rule = quant_rule,
                                    .lower = lower};

extern const OpDef op_reduce_min;
constinit const OpDef op_reduce_min{.name = "ReduceMin",
                                    .summary = "smallest along axes",
                                    .normalize = normalize,
                                    .denormalize = denormalize,
                                    .infer = infer,
                                    .run = run,
                                    .permute = permute_reduction,
                                    .quant_rule = quant_rule,
                                    .lower = lower};

}  // namespace narrow
