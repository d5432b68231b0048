// MatMul: the product of two computed operands [..., M, K] and [..., K, N] with broadcast batch axes. A constant right-hand
// matrix makes it a Gemm.
#include <algorithm>

#include "base/parallel.h"
#include "kernels/float_backend.h"
#include "kernels/matmul_u8u8.h"
#include "ops/integer_inputs.h"
#include "ops/integer_output.h"

namespace narrow {
namespace {

Status reshape_input(RewriteContext& ctx, std::size_t slot, Shape shape) {
  NodeSpec spec{.name = ctx.input(slot).name + ".matrix", .op = "Reshape", .inputs = {ctx.node().inputs[slot]}};
  spec.attrs.set("shape", std::move(shape));
  ctx.graph.set_input(ctx.node_id, slot, NARROW_TRY(ctx.insert_before(std::move(spec))));
  return {};
}

Error no_product(const Shape& a, const Shape& b, std::int64_t columns, std::int64_t rows) {
  return error("operands {} and {} do not multiply: {} columns against {} rows", to_string(a), to_string(b), columns, rows);
}

// A vector operand becomes a matrix with one row (left) or one column (right); the extra axis is dropped from the result.
Status normalize(RewriteContext& ctx) {
  Graph& graph = ctx.graph;
  const Shape a = ctx.input(0).shape, b = ctx.input(1).shape;
  if (a.empty() || b.empty()) return error("operands have shapes {} and {}, wanted at least one axis", to_string(a), to_string(b));
  if (ctx.input(1).is_constant() && b.size() == 2) {
    if (a.back() != b[0]) return tl::unexpected<Error>(no_product(a, b, a.back(), b[0]));
    graph.set_input(ctx.node_id, 1, graph.add_constant(ctx.input(1).name, transposed(ctx.input(1).constant, {1, 0})));
    graph.set_op(ctx.node_id, "Gemm");
    return ctx.infer();
  }
  if (a.size() == 1) NARROW_TRY(reshape_input(ctx, 0, {1, a[0]}));
  if (b.size() == 1) NARROW_TRY(reshape_input(ctx, 1, {b[0], 1}));
  NARROW_TRY(ctx.infer());
  if (a.size() > 1 && b.size() > 1) return {};
  Shape y = graph.value(ctx.results[0]).shape;
  if (b.size() == 1) y.pop_back();
  if (a.size() == 1) y.erase(y.end() - (b.size() == 1 ? 1 : 2));
  NodeSpec spec{.name = ctx.node().name + ".vector", .op = "Reshape", .inputs = {ctx.results[0]}};
  spec.attrs.set("shape", std::move(y));
  ctx.results[0] = NARROW_TRY(ctx.insert_after(std::move(spec)));
  return {};
}

Shape batch_of(const Shape& shape) { return {shape.begin(), shape.end() - 2}; }

Result<Shape> product_shape(const Shape& a, const Shape& b) {
  if (a.size() < 2 || b.size() < 2) return error("operands have shapes {} and {}, wanted matrices", to_string(a), to_string(b));
  const std::int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  if (b[b.size() - 2] != k) return tl::unexpected<Error>(no_product(a, b, k, b[b.size() - 2]));
  Shape y = NARROW_TRY(broadcast(batch_of(a), batch_of(b)));
  y.push_back(m);
  y.push_back(n);
  return y;
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  return std::vector<TensorType>{{DType::kF32, NARROW_TRY(product_shape(graph.value(node.inputs[0]).shape, graph.value(node.inputs[1]).shape))}};
}

// Calls fn(element offset of the matrix in a, in b, in y) for every batch.
template <typename Fn>
void for_batches(const Shape& a, const Shape& b, const Shape& y, const Fn& fn) {
  const Shape batch = batch_of(y);
  const std::vector<std::int64_t> sa = broadcast_strides(batch_of(a), batch), sb = broadcast_strides(batch_of(b), batch);
  const std::int64_t size_a = a.back() * a[a.size() - 2], size_b = b.back() * b[b.size() - 2], size_y = y.back() * y[y.size() - 2];
  for (std::int64_t i = 0, count = element_count(batch); i < count; ++i) {
    std::int64_t rest = i, in_a = 0, in_b = 0;
    for (std::size_t d = batch.size(); d-- > 0;) {
      const std::int64_t index = rest % batch[d];
      rest /= batch[d];
      in_a += index * sa[d];
      in_b += index * sb[d];
    }
    fn(in_a * size_a, in_b * size_b, i * size_y);
  }
}

void run(RunContext& ctx) {
  const Shape &sa = ctx.inputs[0].shape(), &sb = ctx.inputs[1].shape(), &sy = ctx.outputs[0].shape();
  const std::int64_t m = sy[sy.size() - 2], n = sy.back(), k = sa.back();
  for_batches(sa, sb, sy, [&](std::int64_t in_a, std::int64_t in_b, std::int64_t in_y) {
    const float* a = ctx.inputs[0].data<float>() + in_a;
    const float* b = ctx.inputs[1].data<float>() + in_b;
    float* y = ctx.outputs[0].data<float>() + in_y;
    parallel_for(m, [&](std::int64_t row) {
      std::vector<double> acc(static_cast<std::size_t>(n), 0.0);
      for (std::int64_t i = 0; i < k; ++i) {
        const double left = a[row * k + i];
        for (std::int64_t o = 0; o < n; ++o) acc[static_cast<std::size_t>(o)] += left * static_cast<double>(b[i * n + o]);
      }
      for (std::int64_t o = 0; o < n; ++o) y[row * n + o] = static_cast<float>(acc[static_cast<std::size_t>(o)]);
    });
  });
}

class FloatProduct final : public Kernel {
 public:
  explicit FloatProduct(std::unique_ptr<FloatKernel> kernel) : kernel_(std::move(kernel)) {}
  void run(RunContext& ctx) override { kernel_->run(ctx.inputs[0].data<float>(), ctx.inputs[1].data<float>(), nullptr, ctx.outputs[0].data<float>()); }

 private:
  std::unique_ptr<FloatKernel> kernel_;
};

std::unique_ptr<Kernel> prepare(const Graph& graph, const Node& node) {
  FloatMatMulProblem problem{graph.value(node.inputs[0]).shape, graph.value(node.inputs[1]).shape, graph.value(node.outputs[0]).shape};
  problem.a.insert(problem.a.begin(), problem.y.size() - problem.a.size(), 1);
  problem.b.insert(problem.b.begin(), problem.y.size() - problem.b.size(), 1);
  auto kernel = make_float_matmul(problem);
  if (kernel == nullptr) return nullptr;
  return std::make_unique<FloatProduct>(std::move(kernel));
}

QuantRule quant_rule(const Graph&, const Node&) { return {}; }

Status lower(LowerContext& ctx) {
  const QuantParams &a = ctx.in(0), &b = ctx.in(1), &y = ctx.out();
  const auto rescales = ctx.rescales("rescale", {static_cast<double>(a.scale[0]) * static_cast<double>(b.scale[0]) / static_cast<double>(y.scale[0])}, {a.scale[0] * b.scale[0] / y.scale[0]});
  NodeSpec spec{.op = "qmatmul", .inputs = {ctx.input(0), ctx.input(1), rescales.multiplier, rescales.shift, rescales.scale}};
  spec.attrs.set("a_zero_point", a.zero_point[0]);
  spec.attrs.set("b_zero_point", b.zero_point[0]);
  set_code_grid(spec.attrs, y);
  ctx.emit_output(std::move(spec));
  return {};
}

// --- qmatmul: acc = sum (a - a_zero_point) * (b - b_zero_point); y = requantize(acc) ---

Result<std::vector<TensorType>> infer_integer(const Graph& graph, const Node& node) {
  NARROW_TRY(IntegerInputs(graph, node).codes(0).codes(1).rescales(2, 1).zero_point("a_zero_point", 0).zero_point("b_zero_point", 1).grid().status());
  auto types = NARROW_TRY(infer(graph, node));
  types[0].dtype = graph.value(node.outputs[0]).dtype;
  return types;
}

void run_integer(RunContext& ctx) {
  const Shape &sa = ctx.inputs[0].shape(), &sb = ctx.inputs[1].shape(), &sy = ctx.outputs[0].shape();
  const std::int64_t m = sy[sy.size() - 2], n = sy.back(), k = sa.back();
  const auto a_zero = static_cast<std::int32_t>(ctx.node.attrs.get_int("a_zero_point")), b_zero = static_cast<std::int32_t>(ctx.node.attrs.get_int("b_zero_point"));
  const CodeGrid grid = read_code_grid(ctx.node);
  const Rescale rescale = read_rescales(ctx, 2)[0];
  with_codes(ctx.inputs[0], [&](const auto* a_codes) {
    with_codes(ctx.inputs[1], [&](const auto* b_codes) {
      for_batches(sa, sb, sy, [&](std::int64_t in_a, std::int64_t in_b, std::int64_t in_y) {
        parallel_for(m, [&](std::int64_t row) {
          std::vector<std::int64_t> acc(static_cast<std::size_t>(n), 0);
          for (std::int64_t i = 0; i < k; ++i) {
            const std::int64_t left = static_cast<std::int32_t>(a_codes[in_a + row * k + i]) - a_zero;
            const auto* right = b_codes + in_b + i * n;
            for (std::size_t o = 0; o < acc.size(); ++o) acc[o] += left * (static_cast<std::int32_t>(right[o]) - b_zero);
          }
          for (std::int64_t o = 0; o < n; ++o) store_code(ctx.outputs[0], in_y + row * n + o, grid.code(acc[static_cast<std::size_t>(o)], rescale));
        });
      });
    });
  });
}

class ProductOfBytes final : public Kernel {
 public:
  void run(RunContext& ctx) override {
    const Shape &sa = ctx.inputs[0].shape(), &sb = ctx.inputs[1].shape(), &sy = ctx.outputs[0].shape();
    if (!tried_) {
      tried_ = true;
      const CodeGrid grid = read_code_grid(ctx.node);
      product_ = make_matmul_u8u8({.m = sy[sy.size() - 2],
                                   .n = sy.back(),
                                   .k = sa.back(),
                                   .a_zero_point = static_cast<std::int32_t>(ctx.node.attrs.get_int("a_zero_point")),
                                   .b_zero_point = static_cast<std::int32_t>(ctx.node.attrs.get_int("b_zero_point")),
                                   .rescale = read_rescales(ctx, 2)[0],
                                   .rounding = grid.rounding,
                                   .grid = {grid.zero_point, grid.low, grid.high, ctx.outputs[0].dtype() == DType::kI16}});
      for_batches(sa, sb, sy, [&](std::int64_t a, std::int64_t b, std::int64_t y) { batches_.push_back({a, b, y}); });
    }
    if (product_ == nullptr) return run_integer(ctx);
    const std::uint8_t *a = ctx.inputs[0].data<std::uint8_t>(), *b = ctx.inputs[1].data<std::uint8_t>();
    auto* y = static_cast<std::byte*>(ctx.outputs[0].raw());
    const auto element = static_cast<std::int64_t>(size_of(ctx.outputs[0].dtype()));
    // Small products (attention heads of small networks) are not worth waking another thread.
    constexpr std::int64_t kFewMacs = 200'000;
    const auto count = static_cast<std::int64_t>(batches_.size()), per_job = std::max<std::int64_t>(1, kFewMacs / (sy[sy.size() - 2] * sy.back() * sa.back() + 1));
    parallel_for((count + per_job - 1) / per_job, [&](std::int64_t job) {
      for (std::int64_t i = job * per_job; i < std::min(count, (job + 1) * per_job); ++i) {
        const Batch& batch = batches_[static_cast<std::size_t>(i)];
        product_->run(a + batch.a, b + batch.b, y + batch.y * element);
      }
    });
  }

 private:
  struct Batch {
    std::int64_t a, b, y;  // offsets in elements
  };
  bool tried_ = false;
  std::unique_ptr<MatMulU8U8> product_;
  std::vector<Batch> batches_;
};

std::unique_ptr<Kernel> prepare_integer(const Graph& graph, const Node& node) {
  const bool bytes = graph.value(node.inputs[0]).dtype == DType::kU8 && graph.value(node.inputs[1]).dtype == DType::kU8;
  return bytes ? std::make_unique<ProductOfBytes>() : nullptr;
}

}  // namespace

extern const OpDef op_mat_mul;
constinit const OpDef op_mat_mul{.name = "MatMul",
                                 .summary = "matrix product of two computed operands; of one and constant weights it becomes Gemm", .min_inputs = 2, .real_inputs = 2,
                                 .normalize = normalize,
                                 .infer = infer,
                                 .run = run,
                                 .prepare = prepare,
                                 .quant_rule = quant_rule,
                                 .lower = lower};

extern const OpDef op_qmatmul;
constinit const OpDef op_qmatmul{.name = "qmatmul", .summary = "matrix product of two operands of codes", .onnx = false, .infer = infer_integer, .run = run_integer, .prepare = prepare_integer};

}  // namespace narrow
