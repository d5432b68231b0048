// Slice, and Split, which becomes several of them. Internal form: attributes "starts", "ends" and "steps" with one entry
// per axis, clamped to the input; an end of -1 under a negative step means "down to and with index 0".
#include <algorithm>
#include <cstdint>

#include "ops/movement.h"
#include "ops/strided.h"

namespace narrow {
namespace {

std::int64_t count_of(std::int64_t start, std::int64_t end, std::int64_t step) {
  const std::int64_t span = step > 0 ? end - start : start - end, stride = step > 0 ? step : -step;
  return span <= 0 ? 0 : (span + stride - 1) / stride;
}

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  const Shape& from = ctx.input(0).shape;
  const auto starts = NARROW_TRY(ctx.ints("starts", 1)), ends = NARROW_TRY(ctx.ints("ends", 2));
  const auto axes = NARROW_TRY(ctx.ints("axes", 3)), steps = NARROW_TRY(ctx.ints("steps", 4));
  if (!starts || !ends) return error("starts or ends are missing");
  const std::size_t n = starts->size();
  if (ends->size() != n || (axes && axes->size() != n) || (steps && steps->size() != n)) return error("starts, ends, axes and steps have different lengths ({} starts, {} ends)", n, ends->size());
  std::vector<std::int64_t> full_starts(from.size(), 0), full_ends = from, full_steps(from.size(), 1);
  for (std::size_t i = 0; i < n; ++i) {
    const auto d = static_cast<std::size_t>(NARROW_TRY(normalize_axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), from.size())));
    const std::int64_t extent = from[d], step = steps ? (*steps)[i] : 1;
    if (step == 0) return error("the step of axis {} is 0", d);
    // Far ends (INT64_MAX) are clamped before they are added to.
    const auto wrapped = [&](std::int64_t index, std::int64_t low, std::int64_t high) {
      index = std::clamp(index, -extent - 1, extent + 1);
      return std::clamp(index < 0 ? index + extent : index, low, high);
    };
    full_steps[d] = std::clamp<std::int64_t>(step, -extent - 1, extent + 1);  // INT64_MAX is a way to say "the first only"
    full_starts[d] = step > 0 ? wrapped((*starts)[i], 0, extent) : wrapped((*starts)[i], -1, extent - 1);
    full_ends[d] = step > 0 ? wrapped((*ends)[i], 0, extent) : wrapped((*ends)[i], -1, extent - 1);
  }
  ctx.attrs() = {};
  if (full_starts == std::vector<std::int64_t>(from.size(), 0) && full_ends == from && full_steps == std::vector<std::int64_t>(from.size(), 1)) {
    ctx.results = {ctx.node().inputs[0]};
  }
  ctx.attrs().set("starts", Attr(std::move(full_starts)));
  ctx.attrs().set("ends", Attr(std::move(full_ends)));
  ctx.attrs().set("steps", Attr(std::move(full_steps)));
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0]});
  return {};
}

Status denormalize(RewriteContext& ctx) {
  const std::vector<std::int64_t> starts = ctx.node().attrs.get_ints("starts"), steps = ctx.node().attrs.get_ints("steps");
  std::vector<std::int64_t> ends = ctx.node().attrs.get_ints("ends"), axes;
  for (std::size_t d = 0; d < ends.size(); ++d) {
    axes.push_back(static_cast<std::int64_t>(d));
    if (ends[d] < 0) ends[d] = -ctx.input(0).shape[d] - 1;  // -1 would mean the last element
  }
  const auto constant = [&](const char* suffix, const std::vector<std::int64_t>& values) {
    return ctx.graph.add_constant(ctx.node().name + suffix, Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  };
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0], constant(".starts", starts), constant(".ends", ends), constant(".axes", axes), constant(".steps", steps)});
  ctx.attrs() = {};
  return {};
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  const Value& x = graph.value(node.inputs[0]);
  const std::vector<std::int64_t> starts = node.attrs.get_ints("starts"), ends = node.attrs.get_ints("ends"), steps = node.attrs.get_ints("steps");
  if (starts.size() != x.shape.size() || ends.size() != starts.size() || steps.size() != starts.size()) return error("{} starts for shape {}", starts.size(), to_string(x.shape));
  Shape shape;
  for (std::size_t d = 0; d < starts.size(); ++d) {
    const std::int64_t extent = x.shape[d], far = INT32_MAX;
    const bool sane = steps[d] != 0 && steps[d] >= -far && starts[d] >= -1 && starts[d] <= extent && ends[d] >= -1 && ends[d] <= extent;
    const std::int64_t count = sane ? count_of(starts[d], ends[d], steps[d]) : 0;
    const std::int64_t last = count > 0 ? starts[d] + (count - 1) * steps[d] : 0;
    if (!sane || (count > 0 && (starts[d] < 0 || starts[d] >= extent || last < 0 || last >= extent))) {
      return error("start {}, end {} and step {} do not fit axis {} of shape {}", starts[d], ends[d], steps[d], d, to_string(x.shape));
    }
    shape.push_back(count);
  }
  return std::vector<TensorType>{{x.dtype, std::move(shape)}};
}

void run(RunContext& ctx) {
  const std::vector<std::int64_t> starts = ctx.node.attrs.get_ints("starts"), steps = ctx.node.attrs.get_ints("steps");
  std::vector<AxisSource> source;
  for (std::size_t d = 0; d < starts.size(); ++d) source.push_back(axis_source(ctx.outputs[0].shape()[d], [&](std::int64_t i) { return starts[d] + i * steps[d]; }));
  gather_axes(ctx.inputs[0], source, nullptr, ctx.outputs[0]);
}

bool permute(Graph& graph, NodeId id, const std::vector<int>& perm) {
  if (graph.node(id).attrs.get_ints("starts").size() != perm.size()) return false;
  for (const char* key : {"starts", "ends", "steps"}) graph.attrs(id).set(key, Attr(permuted_entries(graph.node(id).attrs.get_ints(key), perm)));
  return true;
}

Status normalize_split(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  const ValueId x = ctx.node().inputs[0];
  const Shape from = ctx.input(0).shape;
  const auto axis = static_cast<std::size_t>(NARROW_TRY(normalize_axis(ctx.node().attrs.get_int("axis", 0), from.size())));
  const auto parts = static_cast<std::int64_t>(ctx.node().outputs.size());
  auto sizes = NARROW_TRY(ctx.ints("split", 1));
  if (!sizes) {
    // Equal parts; since opset 18 the last one may be smaller.
    const std::int64_t part = (from[axis] + parts - 1) / parts;
    sizes.emplace();
    for (std::int64_t i = 0; i < parts; ++i) sizes->push_back(std::clamp<std::int64_t>(from[axis] - i * part, 0, part));
  }
  std::int64_t total = 0;
  for (const std::int64_t s : *sizes) total += s;
  if (static_cast<std::int64_t>(sizes->size()) != parts || total != from[axis]) return error("parts {} do not divide axis {} of shape {} into {} outputs", to_string(*sizes), axis, to_string(from), parts);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < sizes->size(); ++i) {
    NodeSpec spec{.name = ctx.graph.value(ctx.node().outputs[i]).name + ".slice", .op = "Slice", .inputs = {x}};
    std::vector<std::int64_t> starts(from.size(), 0), ends = from;
    starts[axis] = start;
    ends[axis] = start += (*sizes)[i];
    spec.attrs.set("starts", Attr(std::move(starts)));
    spec.attrs.set("ends", Attr(std::move(ends)));
    spec.attrs.set("steps", Attr(std::vector<std::int64_t>(from.size(), 1)));
    ctx.results[i] = NARROW_TRY(ctx.insert_before(std::move(spec)));
  }
  return {};
}

}  // namespace

extern const OpDef op_slice;
constinit const OpDef op_slice{.name = "Slice", .summary = "a strided box of the input", .normalize = normalize, .denormalize = denormalize, .infer = infer, .run = run, .permute = permute, .quant_rule = movement_rule, .lower = lower_movement};

extern const OpDef op_split;
constinit const OpDef op_split{.name = "Split", .summary = "becomes several Slices", .counts_outputs = true, .normalize = normalize_split};

}  // namespace narrow
