#include "ops/unary.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "ops/lut.h"

namespace narrow {

Result<std::vector<TensorType>> infer_unary(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  const Value& x = graph.value(node.inputs[0]);
  if (!is_float(x.dtype)) return error("the input is {}, wanted f32", name_of(x.dtype));
  return std::vector<TensorType>{{x.dtype, x.shape}};
}

void run_unary(RunContext& ctx) {
  const ActivationDef& f = *op_of(ctx.node).activation;
  const Attrs& attrs = ctx.node.attrs;
  const std::int64_t n = ctx.inputs[0].elements();
  if (ctx.inputs[0].dtype() == DType::kF64) {
    const double* x = ctx.inputs[0].data<double>();
    double* y = ctx.outputs[0].data<double>();
    for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<double>(f.apply(static_cast<float>(x[i]), attrs));
    return;
  }
  const float* x = ctx.inputs[0].data<float>();
  float* y = ctx.outputs[0].data<float>();
  constexpr std::int64_t kChunk = 8192;
  parallel_for((n + kChunk - 1) / kChunk, [&](std::int64_t c) {
    const std::int64_t begin = c * kChunk, count = std::min(kChunk, n - begin);
    if (f.apply_array != nullptr) {
      if (x != y) std::memcpy(y + begin, x + begin, static_cast<std::size_t>(count) * sizeof(float));
      f.apply_array(y + begin, count, attrs);
    } else {
      for (std::int64_t i = begin; i < begin + count; ++i) y[i] = f.apply(x[i], attrs);
    }
  });
}

QuantRule unary_rule(const Graph& graph, const Node& node) {
  if (graph.value(node.inputs[0]).dtype != DType::kF32) return {.unquantized = "its element type is not f32"};
  QuantRule rule;
  if (const auto& range = op_of(node).activation->fixed_range) rule.fixed = {{output_slot(0), range->first, range->second}};
  return rule;
}

Status lower_unary(LowerContext& ctx) {
  const ActivationDef& f = *op_of(ctx.node()).activation;
  const Attrs& attrs = ctx.node().attrs;
  emit_table(ctx, ctx.input(0), ctx.in(0), [&](float x) { return f.apply(x, attrs); });
  return {};
}

}  // namespace narrow
