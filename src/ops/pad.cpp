// Pad: a border around the input, constant or repeating the input. Internal form: attributes "pads" (begin of every axis, then
// end of every axis; negative ones crop), "mode" and "value" (a real, or a code after lowering).
#include <algorithm>

#include "ops/lower_context.h"
#include "ops/movement.h"
#include "ops/strided.h"

namespace narrow {
namespace {

// Index of the input for index i (counted from the begin of the input) of an axis of `extent`; -1: the fill value.
std::int64_t source_index(std::int64_t i, std::int64_t extent, std::string_view mode) {
  if (i >= 0 && i < extent) return i;
  if (mode == "constant") return -1;
  if (mode == "edge") return std::clamp<std::int64_t>(i, 0, extent - 1);
  if (mode == "wrap") return ((i % extent) + extent) % extent;
  const std::int64_t period = std::max<std::int64_t>(1, 2 * (extent - 1));  // reflect, the edge not repeated
  i = ((i % period) + period) % period;
  return i < extent ? i : period - i;
}

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  const std::size_t rank = ctx.input(0).shape.size();
  const auto given = NARROW_TRY(ctx.ints("pads", 1)), axes = NARROW_TRY(ctx.ints("axes", 3));
  if (!given) return error("no pads are given");
  const std::size_t padded = axes ? axes->size() : rank;
  if (given->size() != 2 * padded) return error("{} pads for {} axes, wanted {}", given->size(), padded, 2 * padded);
  std::vector<std::int64_t> pads(2 * rank, 0);
  for (std::size_t i = 0; i < padded; ++i) {
    const auto d = static_cast<std::size_t>(NARROW_TRY(normalize_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), rank)));
    pads[d] = (*given)[i];
    pads[rank + d] = (*given)[padded + i];
  }
  const std::string mode = ctx.node().attrs.get_string("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") return error("mode is '{}', wanted 'constant', 'reflect', 'edge' or 'wrap'", mode);
  double value = ctx.node().attrs.get_float("value", 0);
  if (const Tensor* fill = NARROW_TRY(ctx.constant_input(2, "constant_value")); fill != nullptr && fill->elements() == 1) value = fill->cast(DType::kF64).data<double>()[0];
  if (std::all_of(pads.begin(), pads.end(), [](std::int64_t p) { return p == 0; })) ctx.results = {ctx.node().inputs[0]};
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0]});
  ctx.attrs() = {};
  ctx.attrs().set("pads", Attr(std::move(pads)));
  ctx.attrs().set("mode", Attr(mode));
  ctx.attrs().set("value", Attr(value));
  return {};
}

Status denormalize(RewriteContext& ctx) {
  const std::vector<std::int64_t> pads = ctx.node().attrs.get_ints("pads");
  const std::string name = ctx.node().name, mode = ctx.node().attrs.get_string("mode", "constant");
  std::vector<ValueId> inputs{ctx.node().inputs[0], ctx.graph.add_constant(name + ".pads", Tensor::of<std::int64_t>({static_cast<std::int64_t>(pads.size())}, pads))};
  if (mode == "constant") {
    inputs.push_back(ctx.graph.add_constant(name + ".value", Tensor::scalar<double>(ctx.node().attrs.get_float("value", 0)).cast(ctx.input(0).dtype)));
  }
  ctx.graph.set_inputs(ctx.node_id, std::move(inputs));
  ctx.attrs() = {};
  ctx.attrs().set("mode", Attr(mode));
  return {};
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  const Value& x = graph.value(node.inputs[0]);
  const std::vector<std::int64_t> pads = node.attrs.get_ints("pads");
  if (pads.size() != 2 * x.shape.size()) return error("{} pads for shape {}", pads.size(), to_string(x.shape));
  Shape shape = x.shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    constexpr std::int64_t kMost = std::int64_t{1} << 32;
    const auto [low, high] = std::minmax(pads[d], pads[shape.size() + d]);
    if (low < -kMost || high > kMost) return error("pads {} are out of all proportion", to_string(pads));
    shape[d] += pads[d] + pads[shape.size() + d];
    if (shape[d] < 0) return error("pads {} leave nothing of axis {} of shape {}", to_string(pads), d, to_string(x.shape));
    if (x.shape[d] == 0 && shape[d] > 0 && node.attrs.get_string("mode") != "constant") return error("axis {} is empty and has nothing to repeat", d);
  }
  return std::vector<TensorType>{{x.dtype, std::move(shape)}};
}

void run(RunContext& ctx) {
  const std::vector<std::int64_t> pads = ctx.node.attrs.get_ints("pads");
  const std::string mode = ctx.node.attrs.get_string("mode", "constant");
  const Shape& from = ctx.inputs[0].shape();
  std::vector<AxisSource> source;
  for (std::size_t d = 0; d < from.size(); ++d) source.push_back(axis_source(ctx.outputs[0].shape()[d], [&](std::int64_t i) { return source_index(i - pads[d], from[d], mode); }));
  const Tensor fill = Tensor::scalar<double>(ctx.node.attrs.get_float("value", 0)).cast(ctx.inputs[0].dtype());
  gather_axes(ctx.inputs[0], source, fill.raw(), ctx.outputs[0]);
}

bool permute(Graph& graph, NodeId id, const std::vector<int>& perm) {
  const std::vector<std::int64_t> pads = graph.node(id).attrs.get_ints("pads");
  if (pads.size() != 2 * perm.size()) return false;
  const auto half = pads.begin() + static_cast<std::ptrdiff_t>(perm.size());
  std::vector<std::int64_t> moved = permuted_entries(std::vector<std::int64_t>(pads.begin(), half), perm);
  const std::vector<std::int64_t> ends = permuted_entries(std::vector<std::int64_t>(half, pads.end()), perm);
  moved.insert(moved.end(), ends.begin(), ends.end());
  graph.attrs(id).set("pads", Attr(std::move(moved)));
  return true;
}

Status lower(LowerContext& ctx) {
  const QuantParams& grid = ctx.in(0);
  NodeSpec spec{.op = ctx.node().op, .inputs = {ctx.input(0)}, .attrs = ctx.node().attrs};
  const auto fill = static_cast<float>(ctx.node().attrs.get_float("value", 0));
  const std::int32_t code = quantize(fill, grid.scale[0], grid.zero_point[0], static_cast<std::int32_t>(grid.qmin()), static_cast<std::int32_t>(grid.qmax()));
  spec.attrs.set("value", Attr(static_cast<double>(code)));
  ctx.emit_output(std::move(spec));
  return {};
}

}  // namespace

extern const OpDef op_pad;
constinit const OpDef op_pad{.name = "Pad", .summary = "a border around the input", .normalize = normalize, .denormalize = denormalize, .infer = infer, .run = run, .permute = permute, .quant_rule = movement_rule, .lower = lower};

}  // namespace narrow
