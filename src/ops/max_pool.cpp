// MaxPool over channels-last maps of any numeric type: what lies beyond the border does not take part. The same operator
// serves float and integer networks. GlobalMaxPool is a window over the whole map.
#include <algorithm>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "ops/movement.h"
#include "ops/window.h"

namespace narrow {
namespace {

Status normalize(RewriteContext& ctx) {
  if (ctx.node().outputs.size() > 1) return error("the output Indices is asked for, wanted the maxima only");
  const Shape& x = ctx.input(0).shape;
  const auto kernel = ctx.node().attrs.get_ints("kernel_shape");
  if (kernel.empty() || x.size() != kernel.size() + 2) return error("kernel_shape {} does not fit input {}", to_string(kernel), to_string(x));
  ctx.attrs().erase("storage_order");
  NARROW_TRY(normalize_window(ctx, kernel, {x.begin() + 2, x.end()}));
  return window_to_channels_last(ctx);
}

Status normalize_global(RewriteContext& ctx) {
  const Shape& x = ctx.input(0).shape;
  if (x.size() < 3) return error("input has shape {}, wanted [N,C,...]", to_string(x));
  ctx.graph.set_op(ctx.node_id, "MaxPool");
  ctx.attrs().set("kernel_shape", std::vector<std::int64_t>(x.begin() + 2, x.end()));
  return normalize(ctx);
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  const Value& x = graph.value(node.inputs[0]);
  if (x.shape.size() != 4) return error("input {} must have four axes", to_string(x.shape));
  if (x.dtype != DType::kF32 && x.dtype != DType::kU8 && x.dtype != DType::kI8 && x.dtype != DType::kI16) return error("the input is {}, wanted f32 or 8- or 16-bit codes", name_of(x.dtype));
  NARROW_TRY(check_window(node.attrs));
  const SlidingWindow window = read_window(node.attrs);
  const std::int64_t h = NARROW_TRY(window_count(window, 0, x.shape[1]));
  const std::int64_t w = NARROW_TRY(window_count(window, 1, x.shape[2]));
  return std::vector<TensorType>{{x.dtype, {x.shape[0], h, w, x.shape[3]}}};
}

// __restrict: bytes may alias everything, which keeps the loop from being vectorised.
template <typename T>
void keep_larger(const T* __restrict from, T* __restrict to, std::int64_t count) {
  for (std::int64_t c = 0; c < count; ++c) to[c] = from[c] > to[c] ? from[c] : to[c];
}

// Separably: the maxima of the columns of a row of windows first, then those of the windows themselves.
template <typename T>
void pool(const SlidingWindow& window, const Tensor& in, Tensor& out) {
  const Shape &xs = in.shape(), &ys = out.shape();
  const std::int64_t channels = xs[3], row_elements = xs[2] * channels;
  const T* x = in.data<T>();
  T* y = out.data<T>();
  parallel_for(ys[0] * ys[1], [&](std::int64_t row) {
    const std::int64_t n = row / ys[1], top = row % ys[1] * window.stride[0] - window.begin[0];
    std::vector<T> columns(static_cast<std::size_t>(row_elements), std::numeric_limits<T>::lowest());
    for (std::int64_t ky = 0; ky < window.kernel[0]; ++ky) {
      const std::int64_t ih = top + ky * window.dilation[0];
      if (ih >= 0 && ih < xs[1]) keep_larger(x + (n * xs[1] + ih) * row_elements, columns.data(), row_elements);
    }
    for (std::int64_t ow = 0; ow < ys[2]; ++ow) {
      const std::int64_t left = ow * window.stride[1] - window.begin[1];
      T* to = y + (row * ys[2] + ow) * channels;
      std::fill(to, to + channels, std::numeric_limits<T>::lowest());
      for (std::int64_t kx = 0; kx < window.kernel[1]; ++kx) {
        const std::int64_t iw = left + kx * window.dilation[1];
        if (iw >= 0 && iw < xs[2]) keep_larger(columns.data() + iw * channels, to, channels);
      }
    }
  });
}

void run(RunContext& ctx) {
  const SlidingWindow window = read_window(ctx.node.attrs);
  switch (ctx.inputs[0].dtype()) {
    case DType::kF32: return pool<float>(window, ctx.inputs[0], ctx.outputs[0]);
    case DType::kU8: return pool<std::uint8_t>(window, ctx.inputs[0], ctx.outputs[0]);
    case DType::kI8: return pool<std::int8_t>(window, ctx.inputs[0], ctx.outputs[0]);
    case DType::kI16: return pool<std::int16_t>(window, ctx.inputs[0], ctx.outputs[0]);
    default: NARROW_CHECK(false, "maximum of {}", name_of(ctx.inputs[0].dtype()));
  }
}

}  // namespace

extern const OpDef op_max_pool;
constinit const OpDef op_max_pool{.name = "MaxPool",
                                  .summary = "maximum over windows (1-D and 2-D, dilated)",
                                  .channels_last = true,
                                  .normalize = normalize,
                                  .denormalize = window_to_channels_first,
                                  .infer = infer,
                                  .run = run,
                                  .quant_rule = movement_rule,
                                  .lower = lower_movement};

extern const OpDef op_global_max_pool;
constinit const OpDef op_global_max_pool{.name = "GlobalMaxPool", .summary = "becomes MaxPool over the whole map", .normalize = normalize_global};

}  // namespace narrow
