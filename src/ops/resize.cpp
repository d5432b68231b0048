// Resize of height and width of channels-last maps: nearest (any numeric type), linear, cubic (float only). Source positions
// are exact rationals, so that float and integer networks pick the same neighbours. Attributes: sizes[2], scales[2] (out / in as
// the model states it), mode, coordinate_transformation_mode, nearest_mode, cubic_coeff_a, exclude_outside.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "ops/integer_inputs.h"
#include "ops/integer_output.h"
#include "ops/resize_sampling.h"

namespace narrow {
namespace {

// --- import ---

// Full-rank sizes and scales from whichever of them the node states.
Status normalize(RewriteContext& ctx) {
  Graph& graph = ctx.graph;
  Attrs& attrs = ctx.attrs();
  const Shape x = ctx.input(0).shape;
  const std::size_t rank = x.size();
  const bool upsample = ctx.node().op == "Upsample", modern = !upsample && ctx.opset >= 11;
  std::vector<double> scales = attrs.get_floats("scales");
  std::vector<std::int64_t> sizes;
  if (const Tensor* given = NARROW_TRY(ctx.constant_input(modern ? 2 : 1, "scales")); given != nullptr && given->elements() > 0) {
    if (given->dtype() != DType::kF32) return error("the scales are {}, wanted f32", name_of(given->dtype()));
    const auto values = given->span<float>();
    scales.assign(values.begin(), values.end());
  }
  if (modern) {
    if (const Tensor* given = NARROW_TRY(ctx.constant_input(3, "sizes")); given != nullptr && given->elements() > 0) sizes = given->to_ints();
  }
  if (attrs.has("axes")) {  // opset 18: sizes and scales of these axes only
    const auto axes = attrs.get_ints("axes");
    std::vector<double> all_scales(rank, 1);
    Shape all_sizes = x;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<std::size_t>(NARROW_TRY(normalize_axis(axes[i], rank)));
      if (i < scales.size()) all_scales[axis] = scales[i];
      if (i < sizes.size()) all_sizes[axis] = sizes[i];
    }
    if (!scales.empty()) scales = std::move(all_scales);
    if (!sizes.empty()) sizes = std::move(all_sizes);
  }
  if (sizes.empty() == scales.empty()) return error("wanted either scales or sizes, found {}", sizes.empty() ? "neither" : "both");
  if (rank != 4 || (sizes.empty() ? scales.size() : sizes.size()) != rank) return error("input has shape {}, wanted two spatial axes and one size or scale per axis", to_string(x));
  for (std::size_t i = 0; i < rank; ++i) {
    if (sizes.size() <= i && !(std::abs(static_cast<double>(x[i]) * scales[i]) <= 0x1p33)) return error("axis {} of {} gets the scale {}", i, to_string(x), scales[i]);
    if (sizes.size() <= i) sizes.push_back(static_cast<std::int64_t>(std::floor(static_cast<double>(x[i]) * scales[i])));
    if (scales.size() <= i) scales.push_back(static_cast<double>(sizes[i]) / static_cast<double>(x[i]));
    if (sizes[i] < 1) return error("axis {} of {} is resized to {}", i, to_string(x), sizes[i]);
  }
  const std::string mode = attrs.get_string("mode", "nearest");
  if (mode != "nearest" && mode != "linear" && mode != "bilinear" && mode != "cubic") return error("mode '{}' is unknown, wanted nearest, linear or cubic", mode);
  attrs.set("mode", mode == "bilinear" ? "linear" : mode.c_str());
  std::string coordinates = modern ? attrs.get_string("coordinate_transformation_mode", "half_pixel") : "asymmetric";
  static constexpr std::string_view kKnown[] = {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners", "tf_half_pixel_for_nn", "half_pixel_symmetric"};
  if (std::find(std::begin(kKnown), std::end(kKnown), std::string_view(coordinates)) == std::end(kKnown)) {
    return error("coordinate_transformation_mode '{}', wanted half_pixel, pytorch_half_pixel, asymmetric, align_corners or half_pixel_symmetric", coordinates);
  }
  attrs.set("coordinate_transformation_mode", Attr(std::move(coordinates)));
  if (attrs.get_int("antialias") != 0) return error("antialias is 1, wanted 0").with_help("resize the samples before they are fed");
  if (attrs.get_string("keep_aspect_ratio_policy", "stretch") != "stretch") return error("keep_aspect_ratio_policy '{}', wanted stretch", attrs.get_string("keep_aspect_ratio_policy"));
  const bool channels_first = sizes[1] == x[1];
  const std::size_t first = channels_first ? 2 : 1;
  if (sizes[0] != x[0] || sizes[channels_first ? 1 : 3] != x[channels_first ? 1 : 3]) return error("resizes {} to {}, wanted only two spatial axes to change", to_string(x), to_string(sizes));
  if (!modern) attrs.set("nearest_mode", scales[first] < 1 || scales[first + 1] < 1 ? "ceil" : "floor");
  for (const char* key : {"axes", "antialias", "keep_aspect_ratio_policy", "extrapolation_value", "height_scale", "width_scale"}) attrs.erase(key);
  attrs.set("sizes", std::vector<std::int64_t>{sizes[first], sizes[first + 1]});
  attrs.set("scales", std::vector<double>{scales[first], scales[first + 1]});
  graph.set_op(ctx.node_id, "Resize");
  graph.set_inputs(ctx.node_id, {ctx.node().inputs[0]});
  if (!channels_first) return ctx.infer();
  NARROW_TRY(ctx.input_to_channels_last(0));
  NARROW_TRY(ctx.infer());
  return ctx.result_to_channels_first(0);
}

// Positions are products of extents and of 24 bits of a scale: in these ranges they fit 64 bits.
constexpr std::int64_t kLargestExtent = 1 << 16;
constexpr double kLargestScale = 1 << 16;

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  const Value& x = graph.value(node.inputs[0]);
  const auto sizes = node.attrs.get_ints("sizes");
  const auto scales = node.attrs.get_floats("scales");
  if (x.shape.size() != 4 || sizes.size() != 2 || scales.size() != 2) return error("input {} must have four axes, two of which get a size and a scale", to_string(x.shape));
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t from = x.shape[d + 1];
    if (from < 1 || from > kLargestExtent || sizes[d] < 1 || sizes[d] > kLargestExtent) return error("an extent of {} is resized to {}, wanted 1 to {} of both", from, sizes[d], kLargestExtent);
    if (!(scales[d] >= 1 / kLargestScale && scales[d] <= kLargestScale)) return error("the scale is {}, wanted {:.2g} to {:.2g}", scales[d], 1 / kLargestScale, kLargestScale);
  }
  return std::vector<TensorType>{{x.dtype, {x.shape[0], sizes[0], sizes[1], x.shape[3]}}};
}

// The interpolating modes compute with reals; nearest moves any type.
Result<std::vector<TensorType>> infer_real(const Graph& graph, const Node& node) {
  const DType dtype = graph.value(node.inputs[0]).dtype;
  if (node.attrs.get_string("mode", "nearest") != "nearest" && dtype != DType::kF32) return error("the input is {}, wanted f32", name_of(dtype));
  return infer(graph, node);
}

// --- float ---

// Calls fn(output row n * out_h + oh, n, oh), in parallel.
template <typename Fn>
void for_rows(const Shape& y, const Fn& fn) {
  parallel_for(y[0] * y[1], [&](std::int64_t row) { fn(row, row / y[1], row % y[1]); });
}

void run_nearest(const Attrs& attrs, const Tensor& in, Tensor& out) {
  const Shape &xs = in.shape(), &ys = out.shape();
  const Sampling rows = sampling_of(attrs, 0, xs[1], ys[1]), columns = sampling_of(attrs, 1, xs[2], ys[2]);
  const std::size_t pixel = static_cast<std::size_t>(xs[3]) * size_of(in.dtype());
  const auto* x = static_cast<const std::byte*>(in.raw());
  auto* y = static_cast<std::byte*>(out.raw());
  for_rows(ys, [&](std::int64_t row, std::int64_t n, std::int64_t oh) {
    const std::byte* from = x + static_cast<std::size_t>((n * xs[1] + rows.index[static_cast<std::size_t>(oh)]) * xs[2]) * pixel;
    std::byte* to = y + static_cast<std::size_t>(row * ys[2]) * pixel;
    for (std::int64_t ow = 0; ow < ys[2]; ++ow) std::copy_n(from + static_cast<std::size_t>(columns.index[static_cast<std::size_t>(ow)]) * pixel, pixel, to + static_cast<std::size_t>(ow) * pixel);
  });
}

void run(RunContext& ctx) {
  const Attrs& attrs = ctx.node.attrs;
  if (attrs.get_string("mode", "nearest") == "nearest") return run_nearest(attrs, ctx.inputs[0], ctx.outputs[0]);
  const Shape &xs = ctx.inputs[0].shape(), &ys = ctx.outputs[0].shape();
  const Sampling rows = sampling_of(attrs, 0, xs[1], ys[1]), columns = sampling_of(attrs, 1, xs[2], ys[2]);
  const double unit = static_cast<double>(rows.denominator) * static_cast<double>(columns.denominator);
  const float* x = ctx.inputs[0].data<float>();
  float* y = ctx.outputs[0].data<float>();
  for_rows(ys, [&](std::int64_t row, std::int64_t n, std::int64_t oh) {
    for (std::int64_t ow = 0; ow < ys[2]; ++ow) {
      float* to = y + (row * ys[2] + ow) * ys[3];
      std::fill(to, to + ys[3], 0.0F);
      for (int ky = 0; ky < rows.taps; ++ky) {
        const auto r = static_cast<std::size_t>(oh * rows.taps + ky);
        for (int kx = 0; kx < columns.taps; ++kx) {
          const auto c = static_cast<std::size_t>(ow * columns.taps + kx);
          const auto weight = static_cast<float>(rows.weight[r] * columns.weight[c] / unit);
          if (weight == 0) continue;
          const float* from = x + ((n * xs[1] + rows.index[r]) * xs[2] + columns.index[c]) * xs[3];
          for (std::int64_t i = 0; i < ys[3]; ++i) to[i] += weight * from[i];
        }
      }
    }
  });
}

// --- integer ---

// A runtime that finds one grid in front of a linear Resize and behind it interpolates the codes themselves, and cuts off what should be
// rounded (ONNX Runtime 1.20). A scale that differs in its last bit makes it compute in real numbers.
float scale_for_reals(float scale) { return std::nextafter(scale, std::numeric_limits<float>::infinity()); }

constexpr double kLargestUnit = 0x1p40;  // 16-bit codes times this fit 64-bit accumulators

// Of linear interpolation: what the weights of one output add up to.
double unit_of(const Graph& graph, const Node& node) {
  const Shape &x = graph.value(node.inputs[0]).shape, &y = graph.value(node.outputs[0]).shape;
  return static_cast<double>(sampling_of(node.attrs, 0, x[1], y[1]).denominator) * static_cast<double>(sampling_of(node.attrs, 1, x[2], y[2]).denominator);
}

QuantRule quant_rule(const Graph& graph, const Node& node) {
  QuantRule rule;
  const std::string mode = node.attrs.get_string("mode", "nearest");
  rule.same = {{input_slot(0), output_slot(0)}};
  rule.follows_input = mode == "nearest";
  if (mode == "cubic") rule.unquantized = "cubic interpolation has no integer form";
  if (mode == "linear" && unit_of(graph, node) > kLargestUnit) rule.unquantized = "its scale is no simple ratio, which integer interpolation needs";
  return rule;
}

Status lower(LowerContext& ctx) {
  if (ctx.node().attrs.get_string("mode", "nearest") == "nearest") {
    ctx.emit_output({.op = "Resize", .inputs = {ctx.input(0)}, .attrs = ctx.node().attrs});
    return {};
  }
  const QuantParams &x = ctx.in(0), &y = ctx.out();
  const double unit = unit_of(ctx.graph(), ctx.node());
  const auto rescales = ctx.rescales("rescale", {reciprocal_factor(static_cast<double>(x.scale[0]) / static_cast<double>(y.scale[0]), static_cast<std::int64_t>(unit))},
                                     {x.scale[0] / (y.scale[0] * static_cast<float>(unit))});
  NodeSpec spec{.op = "qresize", .inputs = {ctx.input(0), rescales.multiplier, rescales.shift, rescales.scale}, .attrs = ctx.node().attrs};
  spec.attrs.set("x_zero_point", x.zero_point[0]);
  set_code_grid(spec.attrs, y);
  if (ctx.profile().rounding == Rounding::kFloatRne) {
    spec.attrs.set("x_scale", Attr(static_cast<double>(x.scale[0])));
    spec.attrs.set("y_scale", Attr(static_cast<double>(scale_for_reals(y.scale[0]))));
  }
  ctx.emit_output(std::move(spec));
  return {};
}

Result<std::vector<TensorType>> infer_integer(const Graph& graph, const Node& node) {
  NARROW_TRY(IntegerInputs(graph, node).codes(0).rescales(1, 1).zero_point("x_zero_point", 0).grid().status());
  if (node.attrs.get_string("mode") != "linear") return error("the mode is '{}', wanted 'linear'", node.attrs.get_string("mode"));
  return infer(graph, node);
}

// qresize (linear): the sum of weighted codes in units of 1 / (denominators of the positions), requantized. Under float_rne as ONNX
// Runtime does: real numbers are interpolated in float, in this order; doubling a map has ties everywhere.
void run_in_reals(RunContext& ctx) {
  const Attrs& attrs = ctx.node.attrs;
  const Shape &xs = ctx.inputs[0].shape(), &ys = ctx.outputs[0].shape();
  const FloatSampling rows = float_sampling_of(attrs, 0, xs[1], ys[1]), columns = float_sampling_of(attrs, 1, xs[2], ys[2]);
  const CodeGrid grid = read_code_grid(ctx.node);
  const auto x_scale = static_cast<float>(attrs.get_float("x_scale")), y_scale = static_cast<float>(attrs.get_float("y_scale"));
  const auto zero = static_cast<std::int32_t>(attrs.get_int("x_zero_point"));
  with_codes(ctx.inputs[0], [&](const auto* x) {
    for_rows(ys, [&](std::int64_t row, std::int64_t n, std::int64_t oh) {
      std::vector<float> sums(static_cast<std::size_t>(ys[3]));
      for (std::int64_t ow = 0; ow < ys[2]; ++ow) {
        std::fill(sums.begin(), sums.end(), 0.0F);
        for (std::size_t r = static_cast<std::size_t>(oh) * 2, r_end = r + 2; r < r_end; ++r) {
          for (std::size_t c = static_cast<std::size_t>(ow) * 2, c_end = c + 2; c < c_end; ++c) {
            const float weight = columns.weight[c] * rows.weight[r];
            const auto* from = x + ((n * xs[1] + rows.index[r]) * xs[2] + columns.index[c]) * xs[3];
            for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += weight * dequantize(from[i], x_scale, zero);
          }
        }
        for (std::size_t i = 0; i < sums.size(); ++i) {
          store_code(ctx.outputs[0], (row * ys[2] + ow) * ys[3] + static_cast<std::int64_t>(i), quantize(sums[i], y_scale, grid.zero_point, grid.low, grid.high));
        }
      }
    });
  });
}

void run_integer(RunContext& ctx) {
  const Attrs& attrs = ctx.node.attrs;
  if (rounding_of(ctx.node) == Rounding::kFloatRne) return run_in_reals(ctx);
  const Shape &xs = ctx.inputs[0].shape(), &ys = ctx.outputs[0].shape();
  const Sampling rows = sampling_of(attrs, 0, xs[1], ys[1]), columns = sampling_of(attrs, 1, xs[2], ys[2]);
  const CodeGrid grid = read_code_grid(ctx.node);
  const Rescale rescale = read_rescales(ctx, 1)[0];
  const std::int64_t zero = attrs.get_int("x_zero_point");
  with_codes(ctx.inputs[0], [&](const auto* x) {
    for_rows(ys, [&](std::int64_t row, std::int64_t n, std::int64_t oh) {
      std::vector<std::int64_t> acc(static_cast<std::size_t>(ys[3]));
      for (std::int64_t ow = 0; ow < ys[2]; ++ow) {
        std::fill(acc.begin(), acc.end(), 0);
        for (int ky = 0; ky < rows.taps; ++ky) {
          const auto r = static_cast<std::size_t>(oh * rows.taps + ky);
          for (int kx = 0; kx < columns.taps; ++kx) {
            const auto c = static_cast<std::size_t>(ow * columns.taps + kx);
            const auto weight = static_cast<std::int64_t>(rows.weight[r] * columns.weight[c]);
            const auto* from = x + ((n * xs[1] + rows.index[r]) * xs[2] + columns.index[c]) * xs[3];
            for (std::size_t i = 0; i < acc.size(); ++i) acc[i] += weight * (from[i] - zero);
          }
        }
        for (std::size_t i = 0; i < acc.size(); ++i) store_code(ctx.outputs[0], (row * ys[2] + ow) * ys[3] + static_cast<std::int64_t>(i), grid.code(acc[i], rescale));
      }
    });
  });
}

// --- export: ONNX opset 13 states sizes when they give the same scale, else scales ---

// The integer network rounds what it interpolates.
void keep_in_reals(Graph& graph, ValueId y) {
  const std::vector<NodeId> users = graph.value(y).users;
  for (const NodeId user : users) {
    if (graph.node(user).op != "QuantizeLinear" || !graph.value(graph.node(user).inputs[1]).is_constant()) continue;
    const Value& scale = graph.value(graph.node(user).inputs[1]);
    Tensor next = scale.constant.clone();
    for (float& s : next.span<float>()) s = scale_for_reals(s);
    graph.set_input(user, 1, graph.add_constant(scale.name, std::move(next)));
  }
}

// Planes become samples: layout transformations of runtimes stop at a Reshape, and do not know cubic interpolation of channels-last maps.
Status planes_as_samples(RewriteContext& ctx) {
  Graph& graph = ctx.graph;
  const Shape x = ctx.input(0).shape, y = graph.value(ctx.results[0]).shape;
  NodeSpec in{.name = ctx.node().name + ".planes", .op = "Reshape", .inputs = {ctx.node().inputs[0]}};
  in.attrs.set("shape", Attr(Shape{x[0] * x[1], 1, x[2], x[3]}));
  graph.set_input(ctx.node_id, 0, NARROW_TRY(ctx.insert_before(std::move(in))));
  graph.set_type(ctx.results[0], {graph.value(ctx.results[0]).dtype, {y[0] * y[1], 1, y[2], y[3]}});
  NodeSpec out{.name = ctx.node().name + ".maps", .op = "Reshape", .inputs = {ctx.results[0]}};
  out.attrs.set("shape", Attr(y));
  ctx.results[0] = NARROW_TRY(ctx.insert_after(std::move(out)));
  return {};
}

Status denormalize(RewriteContext& ctx) {
  Graph& graph = ctx.graph;
  const Shape x = ctx.input(0).shape;
  const auto sizes = ctx.node().attrs.get_ints("sizes");
  const auto scales = ctx.node().attrs.get_floats("scales");
  ctx.attrs().erase("sizes");
  ctx.attrs().erase("scales");
  NARROW_TRY(ctx.input_to_channels_first(0));
  bool exact = true;
  for (std::size_t d = 0; d < 2; ++d) exact = exact && static_cast<float>(scales[d]) == static_cast<float>(sizes[d]) / static_cast<float>(x[d + 1]);
  const std::string mode = ctx.node().attrs.get_string("mode", "nearest"), name = ctx.node().name;
  const bool cubic = mode == "cubic";
  if (mode == "linear") keep_in_reals(graph, ctx.results[0]);
  if (exact) {
    const std::int64_t samples = cubic ? x[0] * x[3] : x[0], planes = cubic ? 1 : x[3];
    graph.set_inputs(ctx.node_id, {ctx.node().inputs[0], {}, {}, graph.add_constant(name + ".sizes", Tensor::of<std::int64_t>({4}, {samples, planes, sizes[0], sizes[1]}))});
  } else {
    graph.set_inputs(ctx.node_id, {ctx.node().inputs[0], {}, graph.add_constant(name + ".scales", Tensor::of<float>({4}, {1, 1, static_cast<float>(scales[0]), static_cast<float>(scales[1])}))});
  }
  const Value& y = graph.value(ctx.results[0]);
  graph.set_type(ctx.results[0], {y.dtype, {y.shape[0], y.shape[3], y.shape[1], y.shape[2]}});
  if (cubic) NARROW_TRY(planes_as_samples(ctx));
  return ctx.result_to_channels_last(0);
}

}  // namespace

extern const OpDef op_resize;
constinit const OpDef op_resize{.name = "Resize",
                                .summary = "resampling of height and width (nearest, linear, cubic)",
                                .since_opset = 10,
                                .channels_last = true,
                                .normalize = normalize,
                                .denormalize = denormalize,
                                .infer = infer_real,
                                .run = run,
                                .quant_rule = quant_rule,
                                .lower = lower};

extern const OpDef op_upsample;
constinit const OpDef op_upsample{.name = "Upsample", .summary = "former name of Resize", .real_inputs = 1, .since_opset = 7, .normalize = normalize};

extern const OpDef op_qresize;
constinit const OpDef op_qresize{.name = "qresize", .summary = "linear resampling of codes", .onnx = false, .infer = infer_integer, .run = run_integer};

}  // namespace narrow
