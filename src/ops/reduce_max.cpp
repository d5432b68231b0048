// ReduceMax and ReduceMin along axes. Codes of one grid are in the order of what they mean, so the same operators serve float and
// integer networks.
#include <limits>

#include "ops/movement.h"
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

Status denormalize(RewriteContext& ctx) {
  denormalize_reduction(ctx, 18);
  return {};
}

constexpr OpDef extreme_op(std::string_view name, std::string_view summary) {
  return {.name = name,
          .summary = summary,
          .normalize = normalize,
          .denormalize = denormalize,
          .infer = infer,
          .run = run,
          .permute = permute_reduction,
          .quant_rule = movement_rule,
          .lower = lower_movement};
}

}  // namespace

extern const OpDef op_reduce_max;
constinit const OpDef op_reduce_max = extreme_op("ReduceMax", "largest along axes");

extern const OpDef op_reduce_min;
constinit const OpDef op_reduce_min = extreme_op("ReduceMin", "smallest along axes");

}  // namespace narrow
