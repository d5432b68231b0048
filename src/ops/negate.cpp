// Neg and Abs, which ONNX also applies to integers (shape arithmetic).
#include <cmath>

#include "ops/binary.h"
#include "ops/unary.h"

namespace narrow {
namespace {

float negate(float x, const Attrs&) { return -x; }
float absolute(float x, const Attrs&) { return std::abs(x); }
constexpr ActivationDef kNeg{.apply = negate}, kAbs{.apply = absolute};

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  const Value& x = graph.value(node.inputs[0]);
  return std::vector<TensorType>{{x.dtype, x.shape}};
}

template <bool kAbsolute>
void run_any(RunContext& ctx) {
  if (ctx.inputs[0].dtype() == DType::kF32) return run_unary(ctx);
  with_dtype(ctx.inputs[0].dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = ctx.inputs[0].data<T>();
    T* y = ctx.outputs[0].data<T>();
    for (std::int64_t i = 0, n = ctx.inputs[0].elements(); i < n; ++i) y[i] = kAbsolute && x[i] >= T{} ? x[i] : modular(T{}, x[i], [](auto p, auto q) { return p - q; });
  });
}

// Plain functions: GCC's sanitizer takes comparing the address of a template's instance for no constant expression.
void run_negate(RunContext& ctx) { run_any<false>(ctx); }
void run_absolute(RunContext& ctx) { run_any<true>(ctx); }

}  // namespace

extern const OpDef op_neg;
constinit const OpDef op_neg = unary_op({.name = "Neg", .summary = "-x", .infer = infer, .run = run_negate, .activation = &kNeg});

extern const OpDef op_abs;
constinit const OpDef op_abs = unary_op({.name = "Abs", .summary = "|x|", .infer = infer, .run = run_absolute, .activation = &kAbs});

}  // namespace narrow
