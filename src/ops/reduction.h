// What reductions along axes share: ONNX's forms become the attribute `axes` (ascending, not negative), and the reduced axes stay
// with extent 1.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/op_def.h"
#include "tensor/shape.h"

namespace narrow {

// Of the first output. Error: an axis that the input does not have.
Result<Shape> reduced_shape(const Graph& graph, const Node& node);
// `axes` from an attribute or, later, an input; none: all of them, or with noop_with_empty_axes the input itself. keepdims=0 becomes a
// Reshape behind it.
Status normalize_reduction(RewriteContext& ctx);
// OpDef::permute: the axes move along.
bool permute_reduction(Graph& graph, NodeId id, const std::vector<int>& perm);
// To ONNX form: keepdims, and from operator set `axes_are_input` on the axes as an input.
void denormalize_reduction(RewriteContext& ctx, int axes_are_input);

// fold(output element, x) for every element x of `in`, in row-major order, on outputs of y_shape that begin as `start`.
template <typename T, typename Out, typename Fold>
std::vector<Out> reduce(const Tensor& in, const Shape& y_shape, Out start, const Fold& fold) {
  std::vector<Out> y(static_cast<std::size_t>(element_count(y_shape)), start);
  const Shape& xs = in.shape();
  const T* x = in.data<T>();
  if (xs.empty()) {
    fold(y[0], x[0]);
    return y;
  }
  const std::vector<std::int64_t> strides = broadcast_strides(y_shape, xs);
  const std::int64_t inner = xs.back(), step = strides.back();
  std::vector<std::int64_t> index(xs.size(), 0);
  std::int64_t at = 0;
  for (std::int64_t row = 0, rows = inner == 0 ? 0 : in.elements() / inner; row < rows; ++row, x += inner) {
    Out* to = y.data() + at;
    if (step == 0) {
      for (std::int64_t i = 0; i < inner; ++i) fold(*to, x[i]);
    } else {
      for (std::int64_t i = 0; i < inner; ++i) fold(to[i], x[i]);
    }
    for (std::size_t d = xs.size() - 1; d-- > 0;) {
      at += strides[d];
      if (++index[d] < xs[d]) break;
      at -= strides[d] * xs[d];
      index[d] = 0;
    }
  }
  return y;
}

}  // namespace narrow
