// Gemm: y = x·Wᵀ + b over the last axis, x [..., K], W [N, K] constant, b [N]; any activation fused. ONNX Gemm and MatMul
// with a constant right-hand matrix come to this form.
#include "base/parallel.h"
#include "ops/linear.h"

namespace narrow {
namespace {

Tensor scaled(const Tensor& tensor, double factor) {
  if (factor == 1) return tensor;
  Tensor out = tensor.clone();
  for (float& v : out.span<float>()) v = static_cast<float>(v * factor);
  return out;
}

// ONNX form: alpha * op(A) * op(B) + beta * C with matrices A and B.
Status normalize(RewriteContext& ctx) {
  Graph& graph = ctx.graph;
  const bool trans_a = ctx.node().attrs.get_int("transA") != 0, trans_b = ctx.node().attrs.get_int("transB") != 0;
  const double alpha = ctx.node().attrs.get_float("alpha", 1), beta = ctx.node().attrs.get_float("beta", 1);
  if (ctx.input(0).shape.size() != 2 || ctx.input(1).shape.size() != 2) {
    return error("operands have shapes {} and {}, wanted two matrices", to_string(ctx.input(0).shape), to_string(ctx.input(1).shape));
  }
  const std::int64_t columns = ctx.input(0).shape[trans_a ? 0 : 1], rows = ctx.input(1).shape[trans_b ? 1 : 0];
  if (columns != rows) {
    const auto operand = [&](std::size_t slot, bool transposed) { return to_string(ctx.input(slot).shape) + (transposed ? " (transposed)" : ""); };
    return error("operands {} and {} do not multiply: {} columns against {} rows", operand(0, trans_a), operand(1, trans_b), columns, rows);
  }
  for (const char* key : {"transA", "transB", "alpha", "beta", "broadcast"}) ctx.attrs().erase(key);
  const auto transpose = [&](std::size_t slot) -> Status {
    NodeSpec spec{.name = ctx.input(slot).name + ".transposed", .op = "Transpose", .inputs = {ctx.node().inputs[slot]}};
    spec.attrs.set("perm", std::vector<std::int64_t>{1, 0});
    graph.set_input(ctx.node_id, slot, NARROW_TRY(ctx.insert_before(std::move(spec))));
    return {};
  };
  if (trans_a) NARROW_TRY(transpose(0));
  const bool constant = ctx.input(1).is_constant();
  if (constant) {
    const Tensor& b = ctx.input(1).constant;
    graph.set_input(ctx.node_id, 1, graph.add_constant(ctx.input(1).name, scaled(trans_b ? b : transposed(b, {1, 0}), alpha)));
  } else {
    if (trans_b) NARROW_TRY(transpose(1));
    graph.set_op(ctx.node_id, "MatMul");
  }
  const std::int64_t n = ctx.input(1).shape[constant ? 0 : 1];
  const ValueId c = ctx.has_input(2) ? ctx.node().inputs[2] : ValueId{};
  graph.set_inputs(ctx.node_id, {ctx.node().inputs[0], ctx.node().inputs[1]});
  if (c && graph.value(c).is_constant()) {
    const Tensor& addend = graph.value(c).constant;
    const bool per_column = addend.elements() == 1 || (addend.elements() == n && (addend.shape().empty() || addend.shape().back() == n));
    if (constant && per_column) {
      Tensor bias(DType::kF32, {n});
      for (std::int64_t i = 0; i < n; ++i) bias.data<float>()[i] = static_cast<float>(addend.data<float>()[addend.elements() == 1 ? 0 : i] * beta);
      graph.set_input(ctx.node_id, 2, graph.add_constant(graph.value(c).name, std::move(bias)));
      return ctx.infer();
    }
  }
  NARROW_TRY(ctx.infer());
  const auto multiplied = [&](ValueId value, double factor) -> Result<ValueId> {
    if (factor == 1) return value;
    if (graph.value(value).is_constant()) return graph.add_constant(graph.value(value).name, scaled(graph.value(value).constant, factor));
    const ValueId by = graph.add_constant(graph.value(value).name + ".factor", Tensor::scalar(static_cast<float>(factor)));
    return ctx.insert_after({.name = graph.value(value).name + ".scaled", .op = "Mul", .inputs = {value, by}});
  };
  if (!constant) ctx.results[0] = NARROW_TRY(multiplied(ctx.results[0], alpha));
  if (!c) return {};
  const ValueId addend = NARROW_TRY(multiplied(c, beta));
  ctx.results[0] = NARROW_TRY(ctx.insert_after({.name = ctx.node().name + ".add", .op = "Add", .inputs = {ctx.results[0], addend}}));
  return {};
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  const Value& x = graph.value(node.inputs[0]);
  const Value& w = graph.value(node.inputs[1]);
  if (x.shape.empty() || w.shape.size() != 2 || x.shape.back() != w.shape[1]) {
    return error("input {} does not fit weights {}: the last extents differ", to_string(x.shape), to_string(w.shape));
  }
  NARROW_TRY(check_bias(graph, node, w.shape[0]));
  Shape y = x.shape;
  y.back() = w.shape[0];
  return std::vector<TensorType>{{DType::kF32, std::move(y)}};
}

void run(RunContext& ctx) {
  const std::int64_t n = ctx.inputs[1].shape()[0], k = ctx.inputs[1].shape()[1], m = n == 0 ? 0 : ctx.outputs[0].elements() / n;
  const float* x = ctx.inputs[0].data<float>();
  const float* w = ctx.inputs[1].data<float>();
  const float* bias = ctx.has_input(2) ? ctx.inputs[2].data<float>() : nullptr;
  float* y = ctx.outputs[0].data<float>();
  parallel_for(m, [&](std::int64_t row) {
    for (std::int64_t o = 0; o < n; ++o) {
      double acc = bias != nullptr ? static_cast<double>(bias[o]) : 0.0;
      for (std::int64_t i = 0; i < k; ++i) acc += static_cast<double>(x[row * k + i]) * static_cast<double>(w[o * k + i]);
      y[row * n + o] = static_cast<float>(acc);
    }
  });
  apply_fused_activation(ctx.node, ctx.outputs[0]);
}

std::unique_ptr<Kernel> prepare(const Graph& graph, const Node& node) {
  const Shape& w = graph.value(node.inputs[1]).shape;
  if (w[1] == 0) return nullptr;
  const BackendActivation activation = split_activation(node);
  FloatGemmProblem problem;
  problem.n = w[0];
  problem.k = w[1];
  problem.m = element_count(graph.value(node.inputs[0]).shape) / problem.k;
  problem.weights = constant_floats(graph, node, 1);
  problem.has_bias = node.inputs.size() > 2 && node.inputs[2];
  problem.activation = activation.inside;
  return float_linear_kernel(make_float_gemm(problem), activation.complete);
}

constexpr LinearForm kLinear{.weight = 1, .bias = 2, .out_axis = 0, .in_axis = 1};

Status lower(LowerContext& ctx) { return lower_linear(ctx, "qgemm", {}); }

// --- qgemm: acc = bias + sum (x - x_zero_point) * w; y = requantize(acc) ---

Result<std::vector<TensorType>> infer_integer(const Graph& graph, const Node& node) { return infer_integer_linear(graph, node, infer); }

void run_integer(RunContext& ctx) {
  const std::int64_t n = ctx.inputs[1].shape()[0], k = ctx.inputs[1].shape()[1], m = n == 0 ? 0 : ctx.outputs[0].elements() / n;
  const IntegerLinear linear(ctx);
  with_codes(ctx.inputs[0], [&](const auto* x) {
    parallel_for(m, [&](std::int64_t row) {
      for (std::int64_t o = 0; o < n; ++o) {
        std::int64_t acc = linear.bias(o);
        for (std::int64_t i = 0; i < k; ++i) acc += (static_cast<std::int32_t>(x[row * k + i]) - linear.x_zero_point) * linear.weights[o * k + i];
        store_code(ctx.outputs[0], row * n + o, linear.grid.code(acc, linear.rescales[static_cast<std::size_t>(o)]));
      }
    });
  });
}

// A 1x1 convolution over m pixels.
std::unique_ptr<Kernel> prepare_integer(const Graph& graph, const Node& node) {
  const Shape& w = graph.value(node.inputs[1]).shape;
  if (w[1] == 0) return nullptr;
  ConvShape shape;
  shape.in_w = shape.out_w = element_count(graph.value(node.inputs[0]).shape) / w[1];
  shape.in_c = w[1];
  shape.out_c = w[0];
  return integer_linear_kernel(graph, node, shape);
}

// Matrices go back to ONNX Gemm, higher ranks to MatMul (+ Add).
Status denormalize(RewriteContext& ctx) {
  if (ctx.input(0).shape.size() == 2) {
    ctx.attrs().set("transB", 1);
    return {};
  }
  NARROW_TRY(permute_parameter(ctx, 1, {1, 0}));
  const ValueId bias = ctx.has_input(2) ? ctx.node().inputs[2] : ValueId{};
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0], ctx.node().inputs[1]});
  ctx.graph.set_op(ctx.node_id, "MatMul");
  if (bias) ctx.results[0] = NARROW_TRY(ctx.insert_after({.name = ctx.node().name + ".bias", .op = "Add", .inputs = {ctx.results[0], bias}}));
  return {};
}

}  // namespace

extern const OpDef op_gemm;
constinit const OpDef op_gemm{.name = "Gemm",
                              .summary = "matrix product with constant weights, plus bias", .min_inputs = 2, .real_inputs = 3,
                              .normalize = normalize,
                              .denormalize = denormalize,
                              .infer = infer,
                              .run = run,
                              .prepare = prepare,
                              .linear = &kLinear,
                              .fuses_activation = true,
                              .quant_rule = linear_quant_rule,
                              .lower = lower};

extern const OpDef op_qgemm;
constinit const OpDef op_qgemm{.name = "qgemm", .summary = "matrix product of codes with constant weights", .onnx = false, .infer = infer_integer, .run = run_integer, .prepare = prepare_integer};

}  // namespace narrow
