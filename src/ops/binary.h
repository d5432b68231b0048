// What operators y = f(a, b) with numpy broadcasting share: types, the loop, and how a constant operand makes them affine.
#pragma once

#include <algorithm>

#include "base/parallel.h"
#include "ops/unary.h"

namespace narrow {

// Both operands of one dtype; the broadcast shape.
Result<std::vector<TensorType>> infer_binary(const Graph& graph, const Node& node);
// A rule without constraints for f32; other dtypes (shape arithmetic) stay as they are.
QuantRule binary_rule(const Graph& graph, const Node& node);

// The iteration space of a broadcast, adjacent axes merged where both operands allow it: rows of `count` elements,
// in which each operand advances by its step (1, or 0 where it repeats one element).
struct BroadcastLoop {
  std::vector<std::int64_t> extents;  // of the axes outside the row
  std::vector<std::int64_t> a, b;     // strides there, in elements
  std::int64_t count = 1;
  int a_step = 1, b_step = 1;
  std::int64_t rows() const { return element_count(extents); }
};
BroadcastLoop broadcast_loop(const Shape& a, const Shape& b, const Shape& y);

// Calls row(offset in a, in b, in y, count) for every piece of a row, from several threads.
template <typename Row>
void for_rows(const BroadcastLoop& loop, const Row& row) {
  constexpr std::int64_t kGrain = 16384;  // elements per chunk
  const std::int64_t rows = loop.rows();
  if (rows == 1) {
    parallel_for((loop.count + kGrain - 1) / kGrain, [&](std::int64_t c) {
      const std::int64_t begin = c * kGrain;
      row(begin * loop.a_step, begin * loop.b_step, begin, std::min(kGrain, loop.count - begin));
    });
    return;
  }
  const std::int64_t rows_per_chunk = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, loop.count));
  parallel_for((rows + rows_per_chunk - 1) / rows_per_chunk, [&](std::int64_t c) {
    const std::int64_t first = c * rows_per_chunk, last = std::min(rows, first + rows_per_chunk);
    std::vector<std::int64_t> index(loop.extents.size(), 0);
    std::int64_t a = 0, b = 0, rest = first;
    for (std::size_t d = index.size(); d-- > 0;) {
      index[d] = rest % loop.extents[d];
      rest /= loop.extents[d];
      a += index[d] * loop.a[d];
      b += index[d] * loop.b[d];
    }
    for (std::int64_t r = first; r < last; ++r) {
      row(a, b, r * loop.count, loop.count);
      for (std::size_t d = index.size(); d-- > 0;) {
        a += loop.a[d];
        b += loop.b[d];
        if (++index[d] < loop.extents[d]) break;
        a -= loop.a[d] * loop.extents[d];
        b -= loop.b[d] * loop.extents[d];
        index[d] = 0;
      }
    }
  });
}

// y = f(a, b) elementwise; A, B, Y are the element types.
template <typename A, typename B, typename Y, typename F>
void broadcast_apply(const RunContext& ctx, const A* a, const B* b, Y* y, const F& f) {
  const BroadcastLoop loop = broadcast_loop(ctx.inputs[0].shape(), ctx.inputs[1].shape(), ctx.outputs[0].shape());
  for_rows(loop, [&](std::int64_t ao, std::int64_t bo, std::int64_t yo, std::int64_t n) {
    const A* pa = a + ao;
    const B* pb = b + bo;
    Y* py = y + yo;
    if (loop.a_step != 0 && loop.b_step != 0) {
      for (std::int64_t i = 0; i < n; ++i) py[i] = f(pa[i], pb[i]);
    } else if (loop.a_step != 0) {
      const B fixed = *pb;
      for (std::int64_t i = 0; i < n; ++i) py[i] = f(pa[i], fixed);
    } else {
      const A fixed = *pa;
      for (std::int64_t i = 0; i < n; ++i) py[i] = f(fixed, pb[i]);
    }
  });
}

// F is a template over the element type: F<T>{}(a, b).
template <template <typename> typename F, typename T>
void run_binary_as(RunContext& ctx) {
  broadcast_apply(ctx, ctx.inputs[0].data<T>(), ctx.inputs[1].data<T>(), ctx.outputs[0].data<T>(), F<T>{});
}
// fn(a, b), for integers modulo 2^bits: shape arithmetic of a damaged model may overflow.
template <typename T, typename Fn>
T modular(T a, T b, const Fn& fn) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return static_cast<T>(fn(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  else return static_cast<T>(fn(a, b));
}

// The run() of an operator on two inputs of one type, broadcast.
template <template <typename> typename F>
void run_binary(RunContext& ctx) {
  with_dtype(ctx.inputs[0].dtype(), [&](auto tag) { run_binary_as<F, decltype(tag)>(ctx); });
}
// f32 with the clamp that may be fused into the node.
template <template <typename> typename F>
void run_binary_clamped(RunContext& ctx) {
  const FusedActivation activation = fused_activation(ctx.node);
  if (activation.op == nullptr) return run_binary<F>(ctx);
  const auto [low, high] = activation.clamp();
  const auto lo = static_cast<float>(low), hi = static_cast<float>(high);
  broadcast_apply(ctx, ctx.inputs[0].data<float>(), ctx.inputs[1].data<float>(), ctx.outputs[0].data<float>(), [=](float a, float b) {
    const float v = F<float>{}(a, b);
    const float w = v < lo ? lo : v;
    return w > hi ? hi : w;
  });
}

// The constant operand of a node that has exactly one, if it is f32 and a scalar or varies along one axis of the data only
// and does not enlarge the data. values: one, or one per index of `axis`.
struct ConstantOperand {
  int slot = 1;
  int axis = -1;
  std::vector<float> values;
};
std::optional<ConstantOperand> constant_operand(const Graph& graph, const Node& node);

}  // namespace narrow
