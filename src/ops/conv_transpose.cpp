// ConvTranspose over channels-last maps: weights [O, kh, kw, I/group] constant like Conv's, any activation fused. Output
// (oh, ow) gathers the inputs ih with oh = ih * stride - pad + ky * dilation. output_padding[2] extends the bottom and right.
#include <algorithm>

#include "base/parallel.h"
#include "ops/linear.h"
#include "ops/window.h"

namespace narrow {
namespace {

// ONNX [I, O/g, kh, kw] <-> internal [O, kh, kw, I/g].
Tensor from_onnx(const Tensor& w, std::int64_t groups) {
  const Shape& s = w.shape();
  const Tensor grouped = w.reshaped({groups, s[0] / groups, s[1], s[2], s[3]});
  return transposed(grouped, {0, 2, 3, 4, 1}).reshaped({groups * s[1], s[2], s[3], s[0] / groups});
}
Tensor to_onnx(const Tensor& w, std::int64_t groups) {
  const Shape& s = w.shape();
  const Tensor grouped = w.reshaped({groups, s[0] / groups, s[1], s[2], s[3]});
  return transposed(grouped, {0, 4, 1, 2, 3}).reshaped({groups * s[3], s[0] / groups, s[1], s[2]});
}

// output_shape and the SAME modes state the result; the padding follows.
Status resolve_padding(RewriteContext& ctx, const std::vector<std::int64_t>& kernel, const std::vector<std::int64_t>& extents) {
  const std::size_t rank = kernel.size();
  Attrs& attrs = ctx.attrs();
  const auto strides = attrs.get_ints("strides", std::vector<std::int64_t>(rank, 1)), dilations = attrs.get_ints("dilations", std::vector<std::int64_t>(rank, 1));
  auto extra = attrs.get_ints("output_padding", std::vector<std::int64_t>(rank, 0));
  auto wanted = attrs.get_ints("output_shape");
  const std::string automatic = attrs.get_string("auto_pad", "NOTSET");
  if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (strides.size() != rank || dilations.size() != rank || extra.size() != rank || (!wanted.empty() && wanted.size() != rank)) {
    return error("strides {}, dilations {}, output_padding {} or output_shape {} do not fit {} spatial axes", to_string(strides), to_string(dilations), to_string(extra), to_string(wanted), rank);
  }
  NARROW_TRY(check_magnitudes(attrs, kernel));
  if (!is_plausible(wanted)) return error("output_shape is {}", to_string(wanted));
  if (same && wanted.empty()) {
    for (std::size_t d = 0; d < rank; ++d) wanted.push_back(extents[d] * strides[d]);
  }
  if (!wanted.empty()) {
    std::vector<std::int64_t> pads(2 * rank, 0);
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t total = strides[d] * (extents[d] - 1) + extra[d] + dilations[d] * (kernel[d] - 1) + 1 - wanted[d];
      if (total < 0) extra[d] -= total, total = 0;
      pads[d] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      pads[d + rank] = total - pads[d];
    }
    attrs.set("pads", pads);
    attrs.set("auto_pad", "NOTSET");
  }
  attrs.erase("output_shape");
  if (rank == 1) extra.insert(extra.begin(), 0);
  attrs.set("output_padding", std::move(extra));
  return {};
}

Status normalize(RewriteContext& ctx) {
  const Tensor* weights = NARROW_TRY(ctx.constant_input(1, "weights"));
  if (weights == nullptr) return error("the weights (input 1) are missing");
  const Shape& w = weights->shape();
  const Shape& x = ctx.input(0).shape;
  const std::int64_t groups = ctx.attrs().get_int("group", 1);
  if (w.size() != x.size() || (w.size() != 3 && w.size() != 4)) {
    return error("weights {} on input {}, wanted one or two spatial axes in both ([I,O,kh,kw] on [N,C,H,W])", to_string(w), to_string(x));
  }
  if (groups < 1 || w[0] % groups != 0 || w[0] != x[1]) return error("input has {} channels, weights {} in {} groups want {}", x[1], to_string(w), groups, w[0]);
  NARROW_TRY(normalize_bias(ctx, w[1] * groups));
  const std::vector<std::int64_t> kernel{w.begin() + 2, w.end()}, extents{x.begin() + 2, x.end()};
  NARROW_TRY(resolve_padding(ctx, kernel, extents));
  NARROW_TRY(normalize_window(ctx, kernel, extents));
  ctx.attrs().erase("kernel_shape");
  ctx.attrs().set("group", Attr(groups));
  const Tensor full = w.size() == 4 ? *weights : weights->reshaped({w[0], w[1], 1, w[2]});
  ctx.graph.set_input(ctx.node_id, 1, ctx.graph.add_constant(ctx.input(1).name, from_onnx(full, groups)));
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
  const auto extra = node.attrs.get_ints("output_padding", {0, 0});
  constexpr std::int64_t kMost = 1 << 20;
  if (extra.size() != 2 || extra[0] < 0 || extra[1] < 0 || extra[0] > kMost || extra[1] > kMost) return error("output_padding is {}, wanted two numbers from 0 to {}", to_string(extra), kMost);
  Shape y{x.shape[0], 0, 0, w.shape[0]};
  for (int d = 0; d < 2; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    y[axis + 1] = (x.shape[axis + 1] - 1) * window.stride[d] + extra[axis] + window.reach(d) - window.begin[d] - window.end[d];
    if (y[axis + 1] < 1) return error("pads {} and {} leave nothing of the output", window.begin[d], window.end[d]);
  }
  return std::vector<TensorType>{{DType::kF32, std::move(y)}};
}

// Calls fn(output element, o, acc) for every output; Acc acc = start(o) + sum of term(x, w).
template <typename Acc, typename X, typename W, typename Start, typename Term, typename Finish>
void gather(const ConvShape& s, const X* x, const W* weights, const Start& start, const Term& term, const Finish& finish) {
  const std::int64_t in = s.in_c / s.groups, out = s.out_c / s.groups;
  parallel_for(s.batch * s.out_h, [&](std::int64_t row) {
    const std::int64_t n = row / s.out_h, oh = row % s.out_h;
    for (std::int64_t ow = 0; ow < s.out_w; ++ow) {
      for (std::int64_t o = 0; o < s.out_c; ++o) {
        Acc acc = start(o);
        for (std::int64_t ky = 0; ky < s.kernel_h; ++ky) {
          const std::int64_t down = oh + s.pad_top - ky * s.dilation_h;
          if (down < 0 || down % s.stride_h != 0 || down / s.stride_h >= s.in_h) continue;
          for (std::int64_t kx = 0; kx < s.kernel_w; ++kx) {
            const std::int64_t across = ow + s.pad_left - kx * s.dilation_w;
            if (across < 0 || across % s.stride_w != 0 || across / s.stride_w >= s.in_w) continue;
            const X* from = x + ((n * s.in_h + down / s.stride_h) * s.in_w + across / s.stride_w) * s.in_c + o / out * in;
            const W* w = weights + ((o * s.kernel_h + ky) * s.kernel_w + kx) * in;
            for (std::int64_t i = 0; i < in; ++i) acc += term(from[i], w[i]);
          }
        }
        finish((row * s.out_w + ow) * s.out_c + o, o, acc);
      }
    }
  });
}

void run(RunContext& ctx) {
  const ConvShape s = conv_shape(ctx.node.attrs, ctx.inputs[0].shape(), ctx.inputs[1].shape(), ctx.outputs[0].shape());
  const float* bias = ctx.has_input(2) ? ctx.inputs[2].data<float>() : nullptr;
  float* y = ctx.outputs[0].data<float>();
  gather<double>(
      s, ctx.inputs[0].data<float>(), ctx.inputs[1].data<float>(), [&](std::int64_t o) { return bias != nullptr ? static_cast<double>(bias[o]) : 0.0; },
      [](float x, float w) { return static_cast<double>(x) * static_cast<double>(w); }, [&](std::int64_t at, std::int64_t, double acc) { y[at] = static_cast<float>(acc); });
  apply_fused_activation(ctx.node, ctx.outputs[0]);
}

std::unique_ptr<Kernel> prepare(const Graph& graph, const Node& node) {
  const BackendActivation activation = split_activation(node);
  FloatConvProblem problem;
  problem.shape = conv_shape(node.attrs, graph.value(node.inputs[0]).shape, graph.value(node.inputs[1]).shape, graph.value(node.outputs[0]).shape);
  problem.transposed = true;
  problem.weights = constant_floats(graph, node, 1);
  problem.has_bias = node.inputs.size() > 2 && node.inputs[2];
  problem.activation = activation.inside;
  return float_linear_kernel(make_float_conv(problem), activation.complete);
}

bool sees_some_taps(const Node&) { return true; }
constexpr LinearForm kLinear{.weight = 1, .bias = 2, .out_axis = 0, .in_axis = 3, .partial = sees_some_taps};

Status lower(LowerContext& ctx) { return lower_linear(ctx, "qconv_transpose", {"strides", "pads", "dilations", "group", "output_padding"}); }

// --- qconv_transpose: acc = bias + sum (x - x_zero_point) * w; y = requantize(acc) ---

Result<std::vector<TensorType>> infer_integer(const Graph& graph, const Node& node) { return infer_integer_linear(graph, node, infer); }

void run_integer(RunContext& ctx) {
  const ConvShape s = conv_shape(ctx.node.attrs, ctx.inputs[0].shape(), ctx.inputs[1].shape(), ctx.outputs[0].shape());
  const IntegerLinear linear(ctx);
  with_codes(ctx.inputs[0], [&](const auto* x) {
    gather<std::int64_t>(
        s, x, linear.weights, [&](std::int64_t o) { return linear.bias(o); }, [&](auto q, std::int8_t w) { return (static_cast<std::int32_t>(q) - linear.x_zero_point) * w; },
        [&](std::int64_t at, std::int64_t o, std::int64_t acc) { store_code(ctx.outputs[0], at, linear.grid.code(acc, linear.rescales[static_cast<std::size_t>(o)])); });
  });
}

// ONNX has one scale for each output channel within a group, not for each output channel: weights in groups are exported as
// the real numbers that their codes stand for.
std::optional<Tensor> real_weights(const Graph& graph, ValueId id) {
  if (graph.value(id).is_constant()) return graph.value(id).constant;
  const Node* source = graph.producer(id);
  if (source == nullptr || op_of(*source).run == nullptr) return std::nullopt;
  std::vector<Tensor> inputs, outputs{Tensor(DType::kF32, graph.value(id).shape)};
  for (const ValueId in : source->inputs) {
    if (in && !graph.value(in).is_constant()) return std::nullopt;
    inputs.push_back(in ? graph.value(in).constant : Tensor());
  }
  RunContext ctx{*source, inputs, outputs};
  op_of(*source).run(ctx);
  return outputs[0];
}

Status denormalize(RewriteContext& ctx) {
  const Shape w = ctx.input(1).shape;
  const std::int64_t groups = ctx.node().attrs.get_int("group", 1);
  ctx.attrs().set("kernel_shape", std::vector<std::int64_t>{w[1], w[2]});
  if (groups == 1) {
    NARROW_TRY(permute_parameter(ctx, 1, {3, 0, 1, 2}));
  } else {
    const auto weights = real_weights(ctx.graph, ctx.node().inputs[1]);
    if (!weights) return error("the weights in {} groups are computed at run time, wanted constants", groups).with_help("export this layer in float");
    ctx.graph.set_input(ctx.node_id, 1, ctx.graph.add_constant(ctx.input(1).name, to_onnx(*weights, groups)));
  }
  return window_to_channels_first(ctx);
}

}  // namespace

extern const OpDef op_conv_transpose;
constinit const OpDef op_conv_transpose{.name = "ConvTranspose",
                                        .summary = "transposed convolution (1-D and 2-D, grouped, dilated)", .min_inputs = 2, .real_inputs = 3,
                                        .channels_last = true,
                                        .normalize = normalize,
                                        .denormalize = denormalize,
                                        .infer = infer,
                                        .run = run,
                                        .prepare = prepare,
                                        .linear = &kLinear,
                                        .fuses_activation = true,
                                        .quant_rule = linear_quant_rule,
                                        .lower = lower};

extern const OpDef op_qconv_transpose;
constinit const OpDef op_qconv_transpose{.name = "qconv_transpose", .summary = "transposed convolution of codes", .onnx = false, .infer = infer_integer, .run = run_integer};

}  // namespace narrow
