// The loop behind Slice, Pad, Expand, Tile and their like: every output element is one input element or a fill value, and
// the choice is separable per axis.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace narrow {

// y[i0, i1, ...] = x[source[0][i0], source[1][i1], ...], or `fill` (one element's bytes) where any entry is -1.
// source[d] has one entry per index of axis d of y; x and y have the same rank and element type.
using AxisSource = std::vector<std::int64_t>;
void gather_axes(const Tensor& x, const std::vector<AxisSource>& source, const void* fill, Tensor& y);

// fn(i) for every i in [0, count).
template <typename Fn>
AxisSource axis_source(std::int64_t count, const Fn& fn) {
  AxisSource out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] = fn(i);
  return out;
}

}  // namespace narrow
