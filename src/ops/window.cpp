#include "ops/window.h"

#include <algorithm>
#include <limits>

namespace narrow {
namespace {

// One spatial axis: a leading neutral entry makes two of it. `halves` lists (pads) hold begins, then ends.
std::vector<std::int64_t> lifted(std::vector<std::int64_t> values, std::int64_t neutral, bool halves) {
  if (halves) values.insert(values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), neutral);
  values.insert(values.begin(), neutral);
  return values;
}

Result<ValueId> reshape(RewriteContext& ctx, bool before, ValueId from, const char* suffix, Shape shape) {
  NodeSpec spec{.name = ctx.graph.value(from).name + suffix, .op = "Reshape", .inputs = {from}};
  spec.attrs.set("shape", std::move(shape));
  return before ? ctx.insert_before(std::move(spec)) : ctx.insert_after(std::move(spec));
}

}  // namespace

SlidingWindow read_window(const Attrs& attrs, std::int64_t kernel_h, std::int64_t kernel_w) {
  const auto strides = attrs.get_ints("strides", {1, 1}), dilations = attrs.get_ints("dilations", {1, 1}), pads = attrs.get_ints("pads", {0, 0, 0, 0});
  NARROW_CHECK(strides.size() == 2 && dilations.size() == 2 && pads.size() == 4);
  SlidingWindow w;
  w.kernel[0] = kernel_h;
  w.kernel[1] = kernel_w;
  for (std::size_t d = 0; d < 2; ++d) {
    w.stride[d] = strides[d];
    w.dilation[d] = dilations[d];
    w.begin[d] = pads[d];
    w.end[d] = pads[d + 2];
  }
  w.ceil_mode = attrs.get_int("ceil_mode") != 0;
  return w;
}

SlidingWindow read_window(const Attrs& attrs) {
  const auto kernel = attrs.get_ints("kernel_shape", {1, 1});
  NARROW_CHECK(kernel.size() == 2);
  return read_window(attrs, kernel[0], kernel[1]);
}

Status check_magnitudes(const Attrs& attrs, const std::vector<std::int64_t>& kernel) {
  constexpr std::int64_t kMost = 1 << 20;
  const auto check = [](const char* what, const std::vector<std::int64_t>& list) -> Status {
    if (std::all_of(list.begin(), list.end(), [](std::int64_t v) { return v >= -kMost && v <= kMost; })) return {};
    return error("{} {} are out of all proportion", what, to_string(list));
  };
  NARROW_TRY(check("kernel extents", kernel));
  for (const char* key : {"strides", "dilations", "pads", "output_padding"}) NARROW_TRY(check(key, attrs.get_ints(key)));
  return {};
}

Status normalize_window(RewriteContext& ctx, const std::vector<std::int64_t>& kernel, const std::vector<std::int64_t>& extents) {
  const std::size_t rank = kernel.size();
  Attrs& attrs = ctx.attrs();
  auto strides = attrs.get_ints("strides", std::vector<std::int64_t>(rank, 1));
  auto dilations = attrs.get_ints("dilations", std::vector<std::int64_t>(rank, 1));
  auto pads = attrs.get_ints("pads", std::vector<std::int64_t>(2 * rank, 0));
  if (strides.empty()) strides.assign(rank, 1);
  if (dilations.empty()) dilations.assign(rank, 1);
  if (pads.empty()) pads.assign(2 * rank, 0);
  if (strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank) {
    return error("strides {}, dilations {} and pads {} do not fit a window of {} axes", to_string(strides), to_string(dilations), to_string(pads), rank);
  }
  const auto stated = attrs.get_ints("kernel_shape", kernel);
  if (stated != kernel) return error("kernel_shape {} contradicts the weights, whose window is {}", to_string(stated), to_string(kernel)).with_help("the model is damaged: export it again");
  NARROW_TRY(check_magnitudes(attrs, kernel));
  for (std::size_t d = 0; d < rank; ++d) {
    if (strides[d] < 1 || dilations[d] < 1 || kernel[d] < 1) return error("kernel {}, strides {} and dilations {} must be at least 1", to_string(kernel), to_string(strides), to_string(dilations));
    if (pads[d] < 0 || pads[d + rank] < 0) return error("pads {} are negative, wanted at least 0", to_string(pads)).with_help("crop with Slice before the operator instead");
  }
  const std::string automatic = attrs.get_string("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t count = (extents[d] + strides[d] - 1) / strides[d];
      const std::int64_t total = std::max<std::int64_t>(0, (count - 1) * strides[d] + dilations[d] * (kernel[d] - 1) + 1 - extents[d]);
      pads[d] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      pads[d + rank] = total - pads[d];
    }
  } else if (automatic == "VALID") {
    pads.assign(2 * rank, 0);
  } else if (automatic != "NOTSET" && !automatic.empty()) {
    return error("auto_pad '{}' is unknown, wanted NOTSET, SAME_UPPER, SAME_LOWER or VALID", automatic);
  }
  attrs.erase("auto_pad");
  const bool lift = rank == 1;
  attrs.set("strides", lift ? lifted(strides, 1, false) : strides);
  attrs.set("dilations", lift ? lifted(dilations, 1, false) : dilations);
  attrs.set("pads", lift ? lifted(pads, 0, true) : pads);
  if (attrs.has("kernel_shape")) attrs.set("kernel_shape", lift ? lifted(kernel, 1, false) : kernel);
  return {};
}

Status window_to_channels_last(RewriteContext& ctx) {
  const std::size_t rank = ctx.input(0).shape.size();
  if (rank != 3 && rank != 4) return error("input has shape {}, wanted one or two spatial axes ([N,C,L] or [N,C,H,W])", to_string(ctx.input(0).shape));
  NARROW_TRY(ctx.input_to_channels_last(0));
  if (rank == 3) {
    const Shape flat = ctx.input(0).shape;
    ctx.graph.set_input(ctx.node_id, 0, NARROW_TRY(reshape(ctx, true, ctx.node().inputs[0], ".2d", {flat[0], 1, flat[1], flat[2]})));
  }
  NARROW_TRY(ctx.infer());
  if (rank == 3) {
    const Shape full = ctx.graph.value(ctx.results[0]).shape;
    ctx.results[0] = NARROW_TRY(reshape(ctx, false, ctx.results[0], ".1d", {full[0], full[2], full[3]}));
  }
  return ctx.result_to_channels_first(0);
}

Status window_to_channels_first(RewriteContext& ctx) {
  NARROW_TRY(ctx.input_to_channels_first(0));
  const Value& y = ctx.graph.value(ctx.results[0]);
  ctx.graph.set_type(ctx.results[0], {y.dtype, {y.shape[0], y.shape[3], y.shape[1], y.shape[2]}});
  return ctx.result_to_channels_last(0);
}

Status check_window(const Attrs& attrs) {
  constexpr std::int64_t kMost = 1 << 20;
  const auto check = [&](const char* key, std::size_t entries, std::int64_t least) -> Status {
    if (!attrs.has(key)) return {};
    const auto list = attrs.get_ints(key);
    const bool in_range = std::all_of(list.begin(), list.end(), [&](std::int64_t v) { return v >= least && v <= kMost; });
    if (list.size() != entries || !in_range) return error("{} are {}, wanted {} numbers from {} to {}", key, to_string(list), entries, least, kMost);
    return {};
  };
  NARROW_TRY(check("strides", 2, 1));
  NARROW_TRY(check("dilations", 2, 1));
  NARROW_TRY(check("kernel_shape", 2, 1));
  return check("pads", 4, 0);
}

Result<std::int64_t> window_count(const SlidingWindow& w, int d, std::int64_t extent) {
  const std::int64_t free = extent + w.begin[d] + w.end[d] - w.reach(d);
  if (free < 0) return error("a window of {} does not fit into an extent of {} with pads {} and {}", w.reach(d), extent, w.begin[d], w.end[d]);
  std::int64_t count = free / w.stride[d] + 1;
  // Rounding up may add a window that is partly outside, but never one that starts beyond the input.
  if (w.ceil_mode && free % w.stride[d] != 0 && count * w.stride[d] < extent + w.begin[d]) ++count;
  return count;
}

ConvShape conv_shape(const Attrs& attrs, const Shape& x, const Shape& weights, const Shape& y) {
  const SlidingWindow w = read_window(attrs, weights[1], weights[2]);
  ConvShape s;
  s.batch = x[0], s.in_h = x[1], s.in_w = x[2], s.in_c = x[3];
  s.out_h = y[1], s.out_w = y[2], s.out_c = y[3];
  s.kernel_h = w.kernel[0], s.kernel_w = w.kernel[1];
  s.stride_h = w.stride[0], s.stride_w = w.stride[1];
  s.pad_top = w.begin[0], s.pad_left = w.begin[1];
  s.dilation_h = w.dilation[0], s.dilation_w = w.dilation[1];
  s.groups = attrs.get_int("group", 1);
  return s;
}

bool absorb_zero_pad(Graph& graph, NodeId node) {
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
  return absorb_zero_pad(graph, node, {kAny, kAny, kAny, kAny});
}

bool absorb_zero_pad(Graph& graph, NodeId node, const std::array<std::int64_t, 4>& most) {
  const ValueId padded = graph.node(node).inputs[0];
  const Node* pad = graph.producer(padded);
  if (pad == nullptr || pad->op != "Pad" || pad->attrs.get_string("mode", "constant") != "constant" || pad->attrs.get_float("value", 0) != 0) return false;
  const auto amounts = pad->attrs.get_ints("pads");
  if (amounts.size() != 8 || amounts[0] != 0 || amounts[3] != 0 || amounts[4] != 0 || amounts[7] != 0) return false;
  auto pads = graph.node(node).attrs.get_ints("pads", {0, 0, 0, 0});
  const std::int64_t more[4] = {amounts[1], amounts[2], amounts[5], amounts[6]};
  for (std::size_t i = 0; i < 4; ++i) {
    if (more[i] < 0) return false;
    pads[i] += more[i];
    if (pads[i] > most[i]) return false;
  }
  const ValueId source = pad->inputs[0];
  graph.add_origin(node, pad->origin);
  graph.attrs(node).set("pads", std::move(pads));
  graph.set_input(node, 0, source);
  return true;
}

}  // namespace narrow
