// Conv: 2-D convolution over channels-last maps, weights [O, kh, kw, I/group] constant, any activation fused.
#include <algorithm>

#include "base/parallel.h"
#include "ops/linear.h"
#include "ops/window.h"

namespace narrow {
namespace {

Status normalize(RewriteContext& ctx) {
  const Tensor* weights = NARROW_TRY(ctx.constant_input(1, "weights"));
  if (weights == nullptr) return error("the weights (input 1) are missing");
  const Shape& w = weights->shape();
  const Shape& x = ctx.input(0).shape;
  if (w.size() != x.size() || (w.size() != 3 && w.size() != 4)) {
    return error("weights {} on input {}, wanted one or two spatial axes in both ([O,I,kh,kw] on [N,C,H,W])", to_string(w), to_string(x));
  }
  const std::int64_t groups = ctx.attrs().get_int("group", 1);
  if (groups < 1 || w[0] % groups != 0) return error("weights {} in {} groups", to_string(w), groups);
  if (x[1] % groups != 0 || x[1] / groups != w[1]) return error("input has {} channels, weights {} in {} groups want {}", x[1], to_string(w), groups, w[1] * groups);
  NARROW_TRY(normalize_bias(ctx, w[0]));
  NARROW_TRY(normalize_window(ctx, {w.begin() + 2, w.end()}, {x.begin() + 2, x.end()}));
  ctx.attrs().erase("kernel_shape");
  ctx.attrs().set("group", Attr(groups));
  const Tensor full = w.size() == 4 ? *weights : weights->reshaped({w[0], w[1], 1, w[2]});
  ctx.graph.set_input(ctx.node_id, 1, ctx.graph.add_constant(ctx.input(1).name, transposed(full, {0, 2, 3, 1})));
  return window_to_channels_last(ctx);
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  const Value& x = graph.value(node.inputs[0]);
  const Value& w = graph.value(node.inputs[1]);
  if (x.shape.size() != 4 || w.shape.size() != 4) return error("input {} and weights {} must have four axes", to_string(x.shape), to_string(w.shape));
  const std::int64_t groups = node.attrs.get_int("group", 1);
  if (groups < 1 || groups > std::max<std::int64_t>(w.shape[0], 1)) return error("weights {} in {} groups", to_string(w.shape), groups);
  if (w.shape[3] * groups != x.shape[3] || w.shape[0] % groups != 0) {
    return error("input has {} channels, weights {} in {} groups want {}", x.shape[3], to_string(w.shape), groups, w.shape[3] * groups);
  }
  if (w.shape[1] < 1 || w.shape[2] < 1) return error("the weights {} have an empty window", to_string(w.shape));
  NARROW_TRY(check_bias(graph, node, w.shape[0]));
  NARROW_TRY(check_window(node.attrs));
  const SlidingWindow window = read_window(node.attrs, w.shape[1], w.shape[2]);
  const std::int64_t h = NARROW_TRY(window_count(window, 0, x.shape[1]));
  const std::int64_t width = NARROW_TRY(window_count(window, 1, x.shape[2]));
  return std::vector<TensorType>{{DType::kF32, {x.shape[0], h, width, w.shape[0]}}};
}

void run(RunContext& ctx) {
  const ConvShape s = conv_shape(ctx.node.attrs, ctx.inputs[0].shape(), ctx.inputs[1].shape(), ctx.outputs[0].shape());
  const float* x = ctx.inputs[0].data<float>();
  const float* weights = ctx.inputs[1].data<float>();
  const float* bias = ctx.has_input(2) ? ctx.inputs[2].data<float>() : nullptr;
  float* y = ctx.outputs[0].data<float>();
  const std::int64_t in = s.in_c / s.groups, out = s.out_c / s.groups;
  parallel_for(s.batch * s.out_h, [&](std::int64_t row) {
    const std::int64_t n = row / s.out_h, oh = row % s.out_h;
    for (std::int64_t ow = 0; ow < s.out_w; ++ow) {
      for (std::int64_t o = 0; o < s.out_c; ++o) {
        double acc = bias != nullptr ? static_cast<double>(bias[o]) : 0.0;
        for (std::int64_t ky = 0; ky < s.kernel_h; ++ky) {
          const std::int64_t ih = oh * s.stride_h - s.pad_top + ky * s.dilation_h;
          if (ih < 0 || ih >= s.in_h) continue;
          for (std::int64_t kx = 0; kx < s.kernel_w; ++kx) {
            const std::int64_t iw = ow * s.stride_w - s.pad_left + kx * s.dilation_w;
            if (iw < 0 || iw >= s.in_w) continue;
            const float* from = x + ((n * s.in_h + ih) * s.in_w + iw) * s.in_c + o / out * in;
            const float* w = weights + ((o * s.kernel_h + ky) * s.kernel_w + kx) * in;
            for (std::int64_t i = 0; i < in; ++i) acc += static_cast<double>(from[i]) * static_cast<double>(w[i]);
          }
        }
        y[(row * s.out_w + ow) * s.out_c + o] = static_cast<float>(acc);
      }
    }
  });
  apply_fused_activation(ctx.node, ctx.outputs[0]);
}

std::unique_ptr<Kernel> prepare(const Graph& graph, const Node& node) {
  const BackendActivation activation = split_activation(node);
  FloatConvProblem problem;
  problem.shape = conv_shape(node.attrs, graph.value(node.inputs[0]).shape, graph.value(node.inputs[1]).shape, graph.value(node.outputs[0]).shape);
  problem.weights = constant_floats(graph, node, 1);
  problem.has_bias = node.inputs.size() > 2 && node.inputs[2];
  problem.activation = activation.inside;
  return float_linear_kernel(make_float_conv(problem), activation.complete);
}

bool padded(const Node& node) {
  const auto pads = node.attrs.get_ints("pads");
  return std::any_of(pads.begin(), pads.end(), [](std::int64_t p) { return p != 0; });
}
constexpr LinearForm kLinear{.weight = 1, .bias = 2, .out_axis = 0, .in_axis = 3, .partial = padded};

Status lower(LowerContext& ctx) { return lower_linear(ctx, "qconv", {"strides", "pads", "dilations", "group"}); }

// --- qconv: acc = bias + sum (x - x_zero_point) * w, what lies beyond the map contributing 0; y = requantize(acc) ---

Result<std::vector<TensorType>> infer_integer(const Graph& graph, const Node& node) { return infer_integer_linear(graph, node, infer); }

void run_integer(RunContext& ctx) {
  const ConvShape s = conv_shape(ctx.node.attrs, ctx.inputs[0].shape(), ctx.inputs[1].shape(), ctx.outputs[0].shape());
  const IntegerLinear linear(ctx);
  const std::int64_t in = s.in_c / s.groups, out = s.out_c / s.groups;
  with_codes(ctx.inputs[0], [&](const auto* x) {
    parallel_for(s.batch * s.out_h, [&](std::int64_t row) {
      const std::int64_t n = row / s.out_h, oh = row % s.out_h;
      for (std::int64_t ow = 0; ow < s.out_w; ++ow) {
        for (std::int64_t o = 0; o < s.out_c; ++o) {
          std::int64_t acc = linear.bias(o);
          for (std::int64_t ky = 0; ky < s.kernel_h; ++ky) {
            const std::int64_t ih = oh * s.stride_h - s.pad_top + ky * s.dilation_h;
            if (ih < 0 || ih >= s.in_h) continue;
            for (std::int64_t kx = 0; kx < s.kernel_w; ++kx) {
              const std::int64_t iw = ow * s.stride_w - s.pad_left + kx * s.dilation_w;
              if (iw < 0 || iw >= s.in_w) continue;
              const auto* from = x + ((n * s.in_h + ih) * s.in_w + iw) * s.in_c + o / out * in;
              const std::int8_t* w = linear.weights + ((o * s.kernel_h + ky) * s.kernel_w + kx) * in;
              for (std::int64_t i = 0; i < in; ++i) acc += (static_cast<std::int32_t>(from[i]) - linear.x_zero_point) * w[i];
            }
          }
          store_code(ctx.outputs[0], (row * s.out_w + ow) * s.out_c + o, linear.grid.code(acc, linear.rescales[static_cast<std::size_t>(o)]));
        }
      }
    });
  });
}

std::unique_ptr<Kernel> prepare_integer(const Graph& graph, const Node& node) {
  return integer_linear_kernel(graph, node, conv_shape(node.attrs, graph.value(node.inputs[0]).shape, graph.value(node.inputs[1]).shape, graph.value(node.outputs[0]).shape));
}

Status denormalize(RewriteContext& ctx) {
  const Shape w = ctx.input(1).shape;
  ctx.attrs().set("kernel_shape", std::vector<std::int64_t>{w[1], w[2]});
  NARROW_TRY(permute_parameter(ctx, 1, {0, 3, 1, 2}));
  return window_to_channels_first(ctx);
}

}  // namespace

extern const OpDef op_conv;
constinit const OpDef op_conv{.name = "Conv",
                              .summary = "convolution (1-D and 2-D, grouped, dilated)", .min_inputs = 2, .real_inputs = 3,
                              .channels_last = true,
                              .normalize = normalize,
                              .denormalize = denormalize,
                              .infer = infer,
                              .run = run,
                              .prepare = prepare,
                              .absorb_producer = absorb_zero_pad,
                              .linear = &kLinear,
                              .fuses_activation = true,
                              .quant_rule = linear_quant_rule,
                              .lower = lower};

extern const OpDef op_qconv;
constinit const OpDef op_qconv{.name = "qconv", .summary = "convolution of codes", .onnx = false, .infer = infer_integer, .run = run_integer, .prepare = prepare_integer};

}  // namespace narrow
