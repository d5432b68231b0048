// The geometry of sliding windows over channels-last maps, shared by convolutions and pools. In internal form the
// attributes are kernel_shape[2] (pools only), strides[2], pads[4] = (top, left, bottom, right) and dilations[2].
#pragma once

#include <array>

#include "kernels/conv_shape.h"
#include "ops/op_def.h"

namespace narrow {

struct SlidingWindow {
  std::int64_t kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, begin[2] = {0, 0}, end[2] = {0, 0};
  bool ceil_mode = false;
  std::int64_t reach(int d) const { return dilation[d] * (kernel[d] - 1) + 1; }
};

// Reads the attributes; `kernel` (height, width) is given by the weight of a convolution.
SlidingWindow read_window(const Attrs& attrs, std::int64_t kernel_h, std::int64_t kernel_w);
SlidingWindow read_window(const Attrs& attrs);  // kernel_shape attribute

// No kernel extent, stride, dilation or padding of a node in ONNX form is beyond 2^20 in magnitude, so that no sum overflows.
Status check_magnitudes(const Attrs& attrs, const std::vector<std::int64_t>& kernel);

// Fills in strides, pads and dilations, resolves auto_pad, erases kernel_shape where a weight gives the kernel. `kernel` and
// `extents` have one entry per spatial axis (1 or 2); one axis is lifted to two, the height being 1.
Status normalize_window(RewriteContext& ctx, const std::vector<std::int64_t>& kernel, const std::vector<std::int64_t>& extents);

// Input 0 [N, C, spatial...] -> channels-last [N, H, W, C] before the node; results[0] back after it (types inferred in
// between). One spatial axis gets a height of 1. Error when there are more than two.
Status window_to_channels_last(RewriteContext& ctx);

// The way back: input 0 [N, H, W, C] -> [N, C, H, W] before a node that is denormalized; results[0] back after it.
Status window_to_channels_first(RewriteContext& ctx);

// The attributes hold two strides, dilations and kernel extents and four pads, in ranges in which no sum overflows.
Status check_window(const Attrs& attrs);

// Number of windows along axis d of an input extent; error when none fits.
Result<std::int64_t> window_count(const SlidingWindow& window, int d, std::int64_t extent);

// Convolution geometry of x [N,H,W,C], weights [O,kh,kw,I/g] and y. Works for transposed convolutions too.
ConvShape conv_shape(const Attrs& attrs, const Shape& x, const Shape& weights, const Shape& y);

// Swallows a producing zero Pad (over height and width only) of input 0 into the attribute "pads".
bool absorb_zero_pad(Graph& graph, NodeId node);
bool absorb_zero_pad(Graph& graph, NodeId node, const std::array<std::int64_t, 4>& most);  // most: what the padding may come to

}  // namespace narrow
