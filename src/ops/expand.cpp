// Expand (broadcast to a constant shape; attribute "shape" is the full result) and Tile (attribute "repeats" per axis).
#include <algorithm>

#include "ops/movement.h"
#include "ops/strided.h"

namespace narrow {
namespace {

ValueId int_constant(RewriteContext& ctx, const char* suffix, const std::vector<std::int64_t>& values) {
  return ctx.graph.add_constant(ctx.node().name + suffix, Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

// --- Expand ---

Status normalize_expand(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  const auto wanted = NARROW_TRY(ctx.ints("shape", 1));
  if (!wanted) return error("no shape is given");
  Shape full = NARROW_TRY(broadcast(ctx.input(0).shape, *wanted));
  if (full == ctx.input(0).shape) ctx.results = {ctx.node().inputs[0]};
  ctx.attrs().set("shape", Attr(std::move(full)));
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0]});
  return {};
}

Status denormalize_expand(RewriteContext& ctx) {
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0], int_constant(ctx, ".shape", ctx.node().attrs.get_ints("shape"))});
  ctx.attrs() = {};
  return {};
}

Result<std::vector<TensorType>> infer_expand(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  const Value& x = graph.value(node.inputs[0]);
  return std::vector<TensorType>{{x.dtype, NARROW_TRY(broadcast(x.shape, node.attrs.get_ints("shape")))}};
}

void run_expand(RunContext& ctx) {
  const Shape& to = ctx.outputs[0].shape();
  Shape from(to.size() - ctx.inputs[0].shape().size(), 1);
  from.insert(from.end(), ctx.inputs[0].shape().begin(), ctx.inputs[0].shape().end());
  std::vector<AxisSource> source;
  for (std::size_t d = 0; d < to.size(); ++d) source.push_back(axis_source(to[d], [&](std::int64_t i) { return from[d] == 1 ? 0 : i; }));
  gather_axes(ctx.inputs[0].reshaped(from), source, nullptr, ctx.outputs[0]);
}

bool permute_expand(Graph& graph, NodeId id, const std::vector<int>& perm) {
  const Shape shape = graph.node(id).attrs.get_ints("shape");
  if (shape.size() != perm.size() || graph.value(graph.node(id).inputs[0]).shape.size() != perm.size()) return false;
  graph.attrs(id).set("shape", Attr(permuted_entries(shape, perm)));
  return true;
}

// --- Tile ---

Status normalize_tile(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  const auto repeats = NARROW_TRY(ctx.ints("repeats", 1));
  if (!repeats || repeats->size() != ctx.input(0).shape.size()) return error("{} repeats for shape {}", repeats ? repeats->size() : 0, to_string(ctx.input(0).shape));
  for (const std::int64_t r : *repeats) {
    if (r < 0) return error("repeats are {}, wanted none below 0", to_string(*repeats));
  }
  if (std::all_of(repeats->begin(), repeats->end(), [](std::int64_t r) { return r == 1; })) ctx.results = {ctx.node().inputs[0]};
  ctx.attrs().set("repeats", Attr(*repeats));
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0]});
  return {};
}

Status denormalize_tile(RewriteContext& ctx) {
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0], int_constant(ctx, ".repeats", ctx.node().attrs.get_ints("repeats"))});
  ctx.attrs() = {};
  return {};
}

Result<std::vector<TensorType>> infer_tile(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  const Value& x = graph.value(node.inputs[0]);
  const std::vector<std::int64_t> repeats = node.attrs.get_ints("repeats");
  if (repeats.size() != x.shape.size()) return error("{} repeats for shape {}", repeats.size(), to_string(x.shape));
  Shape shape = x.shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;  // of one axis; a later axis of 0 must not hide an overflow
    if (repeats[d] < 0 || (shape[d] > 0 && repeats[d] > kMost / shape[d])) return error("repeats {} are out of all proportion", to_string(repeats));
    shape[d] *= repeats[d];
  }
  return std::vector<TensorType>{{x.dtype, std::move(shape)}};
}

void run_tile(RunContext& ctx) {
  const Shape &from = ctx.inputs[0].shape(), &to = ctx.outputs[0].shape();
  std::vector<AxisSource> source;
  for (std::size_t d = 0; d < to.size(); ++d) source.push_back(axis_source(to[d], [&](std::int64_t i) { return i % from[d]; }));
  gather_axes(ctx.inputs[0], source, nullptr, ctx.outputs[0]);
}

bool permute_tile(Graph& graph, NodeId id, const std::vector<int>& perm) {
  const std::vector<std::int64_t> repeats = graph.node(id).attrs.get_ints("repeats");
  if (repeats.size() != perm.size()) return false;
  graph.attrs(id).set("repeats", Attr(permuted_entries(repeats, perm)));
  return true;
}

}  // namespace

extern const OpDef op_expand;
constinit const OpDef op_expand{.name = "Expand", .summary = "broadcast to a constant shape", .normalize = normalize_expand, .denormalize = denormalize_expand, .infer = infer_expand, .run = run_expand, .permute = permute_expand, .quant_rule = movement_rule, .lower = lower_movement};

extern const OpDef op_tile;
constinit const OpDef op_tile{.name = "Tile", .summary = "input repeated along its axes", .normalize = normalize_tile, .denormalize = denormalize_tile, .infer = infer_tile, .run = run_tile, .permute = permute_tile, .quant_rule = movement_rule, .lower = lower_movement};

}  // namespace narrow
