// AveragePool over channels-last maps. With count_include_pad 0 only cells of the map count; with 1 cells of the padding
// count too, as zeros (but not what lies beyond the padding when ceil_mode adds a partial window).
#include <algorithm>
#include <bit>

#include "base/parallel.h"
#include "ops/integer_inputs.h"
#include "ops/integer_output.h"
#include "ops/window.h"

namespace narrow {
namespace {

Status normalize(RewriteContext& ctx) {
  const Shape& x = ctx.input(0).shape;
  const auto kernel = ctx.node().attrs.get_ints("kernel_shape");
  if (kernel.empty() || x.size() != kernel.size() + 2) return error("kernel_shape {} does not fit input {}", to_string(kernel), to_string(x));
  NARROW_TRY(normalize_window(ctx, kernel, {x.begin() + 2, x.end()}));
  return window_to_channels_last(ctx);
}

Result<Shape> pooled_shape(const Graph& graph, const Node& node) {
  const Shape& x = graph.value(node.inputs[0]).shape;
  if (x.size() != 4) return error("input {} must have four axes", to_string(x));
  NARROW_TRY(check_window(node.attrs));
  const SlidingWindow window = read_window(node.attrs);
  const std::int64_t h = NARROW_TRY(window_count(window, 0, x[1]));
  const std::int64_t w = NARROW_TRY(window_count(window, 1, x[2]));
  return Shape{x[0], h, w, x[3]};
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  return std::vector<TensorType>{{DType::kF32, NARROW_TRY(pooled_shape(graph, node))}};
}

// One window along one axis: the indices inside the map, and how many cells count.
struct Taps {
  std::vector<std::int64_t> inside;
  std::int64_t counted = 0;
};
Taps taps_of(const SlidingWindow& w, int d, std::int64_t position, std::int64_t extent, bool include_pad) {
  Taps taps;
  for (std::int64_t k = 0; k < w.kernel[d]; ++k) {
    const std::int64_t at = position * w.stride[d] - w.begin[d] + k * w.dilation[d];
    const bool in_map = at >= 0 && at < extent;
    if (in_map) taps.inside.push_back(at);
    if (in_map || (include_pad && at < extent + w.end[d])) ++taps.counted;
  }
  return taps;
}

// Sums term(x) over every window, in the order rows, columns, and calls finish(sums of the channels, cells that
// count, index of the first output).
template <typename Sum, typename T, typename Term, typename Finish>
void for_windows(const Attrs& attrs, const Tensor& in, const Shape& ys, const Term& term, const Finish& finish) {
  const SlidingWindow w = read_window(attrs);
  const bool include_pad = attrs.get_int("count_include_pad") != 0;
  const Shape& xs = in.shape();
  const std::int64_t channels = xs[3];
  const T* x = in.data<T>();
  parallel_for(ys[0] * ys[1], [&](std::int64_t row) {
    const std::int64_t n = row / ys[1];
    const Taps rows = taps_of(w, 0, row % ys[1], xs[1], include_pad);
    std::vector<Sum> sums(static_cast<std::size_t>(channels));
    for (std::int64_t ow = 0; ow < ys[2]; ++ow) {
      const Taps columns = taps_of(w, 1, ow, xs[2], include_pad);
      std::fill(sums.begin(), sums.end(), Sum{0});
      for (const std::int64_t ih : rows.inside) {
        for (const std::int64_t iw : columns.inside) {
          const T* from = x + ((n * xs[1] + ih) * xs[2] + iw) * channels;
          Sum* to = sums.data();
          for (std::int64_t c = 0, count = channels; c < count; ++c) to[c] += term(from[c]);
        }
      }
      finish(sums, std::max<std::int64_t>(1, rows.counted * columns.counted), (row * ys[2] + ow) * channels);
    }
  });
}

void run(RunContext& ctx) {
  float* y = ctx.outputs[0].data<float>();
  for_windows<double, float>(
      ctx.node.attrs, ctx.inputs[0], ctx.outputs[0].shape(), [](float x) { return static_cast<double>(x); },
      [&](const std::vector<double>& sums, std::int64_t counted, std::int64_t at) {
        for (std::size_t c = 0; c < sums.size(); ++c) y[at + static_cast<std::int64_t>(c)] = static_cast<float>(sums[c] / static_cast<double>(counted));
      });
}

// A zero Pad joins the padding when padding counts, or when there is none yet (it then begins to count).
bool absorb_producer(Graph& graph, NodeId id) {
  const Attrs& attrs = graph.node(id).attrs;
  const auto pads = attrs.get_ints("pads", {0, 0, 0, 0});
  const bool counts = attrs.get_int("count_include_pad") != 0;
  if (attrs.get_int("ceil_mode") != 0 || (!counts && std::any_of(pads.begin(), pads.end(), [](std::int64_t p) { return p != 0; }))) return false;
  const auto kernel = attrs.get_ints("kernel_shape");
  if (!absorb_zero_pad(graph, id, {kernel[0] - 1, kernel[1] - 1, kernel[0] - 1, kernel[1] - 1})) return false;  // ONNX wants less padding than window
  graph.attrs(id).set("count_include_pad", 1);
  return true;
}

// Averaging shrinks the range only a little, and targets that average raw codes need equal grids.
QuantRule quant_rule(const Graph&, const Node&) {
  QuantRule rule;
  rule.same = {{input_slot(0), output_slot(0)}};
  return rule;
}

// The reciprocal of TOSA's AVG_POOL2D, ((2^30 + 1) << k) / count: it lies above the exact one for powers of two as well, so that halves go
// away from zero for every count.
double pool_factor(double ratio, std::int64_t count) {
  const bool exact_half = ratio == 1 && count > 1 && std::has_single_bit(static_cast<std::uint64_t>(count));
  return reciprocal_factor(ratio, count) * (exact_half ? 1 + 0x1p-30 : 1.0);
}

// One rescaling entry per number of cells that may count, 1 ... kernel height * width.
Status lower(LowerContext& ctx) {
  const QuantParams &x = ctx.in(0), &y = ctx.out();
  NodeSpec spec{.op = "qavgpool", .attrs = ctx.node().attrs};
  spec.attrs.set("x_zero_point", x.zero_point[0]);
  set_code_grid(spec.attrs, y);
  if (ctx.profile().rounding == Rounding::kFloatRne) {
    spec.attrs.set("x_scale", Attr(static_cast<double>(x.scale[0])));
    spec.attrs.set("y_scale", Attr(static_cast<double>(y.scale[0])));
  }
  if (ctx.profile().average_raw_codes) {
    if (x.scale != y.scale || x.zero_point != y.zero_point) return error("this target averages raw codes, which needs one grid for input and output");
    spec.attrs.set("raw_codes", 1);
  }
  const auto kernel = ctx.node().attrs.get_ints("kernel_shape");
  std::vector<double> real;
  std::vector<float> single;
  for (std::int64_t count = 1; count <= kernel[0] * kernel[1]; ++count) {
    real.push_back(pool_factor(static_cast<double>(x.scale[0]) / static_cast<double>(y.scale[0]), count));
    single.push_back(x.scale[0] / (y.scale[0] * static_cast<float>(count)));
  }
  const auto rescales = ctx.rescales("rescale", real, single);
  spec.inputs = {ctx.input(0), rescales.multiplier, rescales.shift, rescales.scale};
  ctx.emit_output(std::move(spec));
  return {};
}

// --- qavgpool: y = requantize(sum of (x - x_zero_point), entry of the count). raw_codes: the mean of the signed codes, half
// away from zero. Under float_rne as ONNX Runtime's QLinearAveragePool: a float mean in element order, the zero point added
// before rounding; but one window that is the whole map goes through the integer sum there too. ---

bool one_window(const Attrs& attrs, const Shape& x) {
  const auto kernel = attrs.get_ints("kernel_shape"), pads = attrs.get_ints("pads");
  return kernel.size() == 2 && kernel[0] == x[1] && kernel[1] == x[2] && std::all_of(pads.begin(), pads.end(), [](std::int64_t p) { return p == 0; });
}

Result<std::vector<TensorType>> infer_integer(const Graph& graph, const Node& node) {
  Shape shape = NARROW_TRY(pooled_shape(graph, node));
  const SlidingWindow window = read_window(node.attrs);
  NARROW_TRY(IntegerInputs(graph, node).codes(0).rescales(1, window.kernel[0] * window.kernel[1]).zero_point("x_zero_point", 0).grid().status());
  return std::vector<TensorType>{{graph.value(node.inputs[0]).dtype, std::move(shape)}};
}

template <typename T>
void run_codes(RunContext& ctx) {
  const Attrs& attrs = ctx.node.attrs;
  const CodeGrid grid = read_code_grid(ctx.node);
  const auto x_zero = static_cast<std::int32_t>(attrs.get_int("x_zero_point"));
  const Shape& ys = ctx.outputs[0].shape();
  T* y = ctx.outputs[0].data<T>();
  if (attrs.get_int("raw_codes") == 0 && grid.rounding == Rounding::kFloatRne && !one_window(attrs, ctx.inputs[0].shape())) {
    const auto x_scale = static_cast<float>(attrs.get_float("x_scale")), y_scale = static_cast<float>(attrs.get_float("y_scale"));
    for_windows<float, T>(
        attrs, ctx.inputs[0], ys, [&](T q) { return static_cast<float>(q - x_zero) * x_scale; },
        [&](const std::vector<float>& sums, std::int64_t counted, std::int64_t at) {
          for (std::size_t c = 0; c < sums.size(); ++c) {
            const float mean = sums[c] / static_cast<float>(counted);
            y[at + static_cast<std::int64_t>(c)] = static_cast<T>(round_to_grid(mean / y_scale + static_cast<float>(grid.zero_point), 0, grid.low, grid.high));
          }
        });
    return;
  }
  const std::vector<Rescale> rescales = read_rescales(ctx, 1);
  const bool raw = attrs.get_int("raw_codes") != 0;
  const std::int32_t middle = sizeof(T) == 1 ? 128 : 0;  // unsigned codes are the signed ones + 128
  for_windows<std::int64_t, T>(
      attrs, ctx.inputs[0], ys, [&](T q) { return static_cast<std::int64_t>(q) - x_zero; },
      [&](const std::vector<std::int64_t>& sums, std::int64_t counted, std::int64_t at) {
        for (std::size_t c = 0; c < sums.size(); ++c) {
          std::int32_t q = 0;
          if (raw) {
            const std::int64_t mean = divide_by_count(sums[c] + counted * (x_zero - middle), counted);
            q = std::clamp(static_cast<std::int32_t>(mean) + middle, grid.low, grid.high);
          } else {
            q = grid.code(sums[c], rescales[static_cast<std::size_t>(counted - 1)]);
          }
          y[at + static_cast<std::int64_t>(c)] = static_cast<T>(q);
        }
      });
}

void run_integer(RunContext& ctx) {
  if (ctx.inputs[0].dtype() == DType::kU8) {
    run_codes<std::uint8_t>(ctx);
  } else {
    run_codes<std::int16_t>(ctx);
  }
}

bool dilated(const Node& node) {
  const auto dilations = node.attrs.get_ints("dilations");
  return std::any_of(dilations.begin(), dilations.end(), [](std::int64_t d) { return d != 1; });
}

int export_opset(const Node& node) { return dilated(node) ? 19 : 13; }

Status denormalize(RewriteContext& ctx) {
  if (!dilated(ctx.node())) ctx.attrs().erase("dilations");
  return window_to_channels_first(ctx);
}

}  // namespace

extern const OpDef op_average_pool;
constinit const OpDef op_average_pool{.name = "AveragePool",
                                      .summary = "mean over windows (1-D and 2-D)", .real_inputs = 1,
                                      .channels_last = true,
                                      .normalize = normalize,
                                      .denormalize = denormalize,
                                      .export_opset = export_opset,
                                      .infer = infer,
                                      .run = run,
                                      .absorb_producer = absorb_producer,
                                      .quant_rule = quant_rule,
                                      .lower = lower};

extern const OpDef op_qavgpool;
constinit const OpDef op_qavgpool{.name = "qavgpool", .summary = "mean over windows of codes", .onnx = false, .infer = infer_integer, .run = run_integer};

}  // namespace narrow
