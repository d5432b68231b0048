// Comparisons, logic and Where. They serve shape arithmetic, which folds away; in a network they stay float.
#include "ops/binary.h"

namespace narrow {
namespace {

Result<std::vector<TensorType>> infer_compare(const Graph& graph, const Node& node) {
  auto types = NARROW_TRY(infer_binary(graph, node));
  types[0].dtype = DType::kBool;
  return types;
}

template <typename T> struct Equal { bool operator()(T a, T b) const { return a == b; } };
template <typename T> struct Greater { bool operator()(T a, T b) const { return a > b; } };
template <typename T> struct GreaterOrEqual { bool operator()(T a, T b) const { return a >= b; } };
template <typename T> struct Less { bool operator()(T a, T b) const { return a < b; } };
template <typename T> struct LessOrEqual { bool operator()(T a, T b) const { return a <= b; } };
template <typename T> struct Both { bool operator()(T a, T b) const { return a != T{} && b != T{}; } };
template <typename T> struct Either { bool operator()(T a, T b) const { return a != T{} || b != T{}; } };

template <template <typename> typename F>
void run_compare(RunContext& ctx) {
  with_dtype(ctx.inputs[0].dtype(), [&](auto tag) {
    using T = decltype(tag);
    broadcast_apply(ctx, ctx.inputs[0].data<T>(), ctx.inputs[1].data<T>(), ctx.outputs[0].data<bool>(), F<T>{});
  });
}

Result<std::vector<TensorType>> infer_not(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  const Value& x = graph.value(node.inputs[0]);
  if (x.dtype != DType::kBool) return error("the input is {}, wanted bool", name_of(x.dtype));
  return std::vector<TensorType>{{x.dtype, x.shape}};
}
void run_not(RunContext& ctx) {
  for (std::int64_t i = 0; i < ctx.inputs[0].elements(); ++i) ctx.outputs[0].data<bool>()[i] = !ctx.inputs[0].data<bool>()[i];
}

Result<std::vector<TensorType>> infer_where(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 3));
  const Value &condition = graph.value(node.inputs[0]), &a = graph.value(node.inputs[1]), &b = graph.value(node.inputs[2]);
  if (condition.dtype != DType::kBool) return error("the condition is {}, wanted bool", name_of(condition.dtype));
  if (a.dtype != b.dtype) return error("operands are {} and {}, wanted one element type", name_of(a.dtype), name_of(b.dtype));
  return std::vector<TensorType>{{a.dtype, NARROW_TRY(broadcast(condition.shape, NARROW_TRY(broadcast(a.shape, b.shape))))}};
}

void run_where(RunContext& ctx) {
  const Shape& shape = ctx.outputs[0].shape();
  const auto* condition = ctx.inputs[0].data<bool>();
  const std::size_t size = size_of(ctx.outputs[0].dtype());
  const auto *a = static_cast<const std::byte*>(ctx.inputs[1].raw()), *b = static_cast<const std::byte*>(ctx.inputs[2].raw());
  auto* y = static_cast<std::byte*>(ctx.outputs[0].raw());
  const std::vector<std::int64_t> sc = broadcast_strides(ctx.inputs[0].shape(), shape), sa = broadcast_strides(ctx.inputs[1].shape(), shape), sb = broadcast_strides(ctx.inputs[2].shape(), shape);
  for (std::int64_t i = 0, n = ctx.outputs[0].elements(); i < n; ++i) {
    std::int64_t rest = i, oc = 0, oa = 0, ob = 0;
    for (std::size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      const std::int64_t k = rest % shape[d];
      oc += k * sc[d];
      oa += k * sa[d];
      ob += k * sb[d];
    }
    const std::byte* source = condition[oc] ? a + static_cast<std::size_t>(oa) * size : b + static_cast<std::size_t>(ob) * size;
    std::memcpy(y + static_cast<std::size_t>(i) * size, source, size);
  }
}

QuantRule rule(const Graph&, const Node&) { return {.unquantized = "comparisons and selections have no integer form"}; }

constexpr OpDef comparison(std::string_view name, std::string_view summary, void (*run)(RunContext&), int since_opset = kOldestOpset) {
  return {.name = name, .summary = summary, .min_inputs = 2, .since_opset = since_opset, .infer = infer_compare, .run = run, .permute = permute_elementwise, .quant_rule = rule};
}

}  // namespace

extern const OpDef op_equal, op_greater, op_greater_or_equal, op_less, op_less_or_equal, op_and, op_or, op_not, op_where;
constinit const OpDef op_equal = comparison("Equal", "a == b", run_compare<Equal>);
constinit const OpDef op_greater = comparison("Greater", "a > b", run_compare<Greater>);
constinit const OpDef op_greater_or_equal = comparison("GreaterOrEqual", "a >= b", run_compare<GreaterOrEqual>, 12);
constinit const OpDef op_less = comparison("Less", "a < b", run_compare<Less>);
constinit const OpDef op_less_or_equal = comparison("LessOrEqual", "a <= b", run_compare<LessOrEqual>, 12);
constinit const OpDef op_and = comparison("And", "a and b", run_compare<Both>);
constinit const OpDef op_or = comparison("Or", "a or b", run_compare<Either>);
constinit const OpDef op_not{.name = "Not", .summary = "not x", .infer = infer_not, .run = run_not, .permute = permute_elementwise, .quant_rule = rule};
constinit const OpDef op_where{.name = "Where", .summary = "a where the condition holds, else b", .min_inputs = 3, .infer = infer_where, .run = run_where, .permute = permute_elementwise, .quant_rule = rule};

}  // namespace narrow
