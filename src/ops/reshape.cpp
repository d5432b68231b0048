// Reshape and what is only a reshape: Flatten, Squeeze, Unsqueeze. Internal form: one input, attribute "shape" with the
// full static shape. No bytes move.
#include <algorithm>
#include <cstring>

#include "ops/layout.h"
#include "ops/movement.h"

namespace narrow {
namespace {

void become_reshape(RewriteContext& ctx, const Shape& shape) {
  const Shape& from = ctx.input(0).shape;
  if (shape == from) {
    ctx.results = {ctx.node().inputs[0]};
    return;
  }
  ctx.graph.set_op(ctx.node_id, "Reshape");
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0]});
  ctx.attrs() = {};
  ctx.attrs().set("shape", Attr(shape));
}

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  const auto wanted = NARROW_TRY(ctx.ints("shape", 1));
  if (!wanted) return error("no shape is given");
  const Shape& from = ctx.input(0).shape;
  Shape shape = *wanted;
  const bool zero_copies = ctx.node().attrs.get_int("allowzero") == 0;
  std::size_t open = shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && zero_copies) {
      if (i >= from.size()) return error("shape {} copies axis {} of an input of shape {}", to_string(*wanted), i, to_string(from));
      shape[i] = from[i];
    }
    if (shape[i] < -1 || (shape[i] == -1 && open < shape.size())) return error("shape {} is not valid", to_string(*wanted));
    if (shape[i] == -1) open = i;
  }
  Shape given = shape;
  if (open < given.size()) given[open] = 1;
  if (!is_plausible(given)) return error("shape {} is not valid", to_string(*wanted));
  const std::int64_t known = element_count(given);
  if (open < shape.size()) {
    if (known == 0 || element_count(from) % known != 0) return error("{} elements of shape {} do not fit shape {}", element_count(from), to_string(from), to_string(*wanted));
    shape[open] = element_count(from) / known;
  }
  if (element_count(shape) != element_count(from)) return error("shape {} does not hold the {} elements of shape {}", to_string(*wanted), element_count(from), to_string(from));
  become_reshape(ctx, shape);
  return {};
}

Status normalize_flatten(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  const Shape& from = ctx.input(0).shape;
  std::int64_t axis = ctx.node().attrs.get_int("axis", 1);
  const auto rank = static_cast<std::int64_t>(from.size());
  if (axis < -rank || axis > rank) return error("axis {} is outside [{}, {}]", axis, -rank, rank);
  if (axis < 0) axis += rank;
  const std::int64_t rows = element_count(Shape(from.begin(), from.begin() + axis));
  become_reshape(ctx, {rows, element_count(Shape(from.begin() + axis, from.end()))});
  return {};
}

Status normalize_squeeze(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  const Shape& from = ctx.input(0).shape;
  const auto axes = NARROW_TRY(ctx.ints("axes", 1));
  std::vector<bool> dropped(from.size(), false);
  if (!axes || axes->empty()) {
    for (std::size_t i = 0; i < from.size(); ++i) dropped[i] = from[i] == 1;
  } else {
    for (const std::int64_t a : *axes) {
      const auto axis = static_cast<std::size_t>(NARROW_TRY(normalize_axis(a, from.size())));
      if (from[axis] != 1) return error("axis {} of shape {} is not 1 and cannot be squeezed", a, to_string(from));
      dropped[axis] = true;
    }
  }
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!dropped[i]) shape.push_back(from[i]);
  }
  become_reshape(ctx, shape);
  return {};
}

Status normalize_unsqueeze(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  const Shape& from = ctx.input(0).shape;
  const auto axes = NARROW_TRY(ctx.ints("axes", 1));
  if (!axes) return error("no axes are given");
  std::vector<bool> added(from.size() + axes->size(), false);
  for (const std::int64_t a : *axes) {
    const auto axis = static_cast<std::size_t>(NARROW_TRY(normalize_axis(a, added.size())));
    if (added[axis]) return error("axis {} is given twice", a);
    added[axis] = true;
  }
  Shape shape;
  std::size_t next = 0;
  for (const bool is_new : added) shape.push_back(is_new ? 1 : from[next++]);
  become_reshape(ctx, shape);
  return {};
}

// An extent of 0 is meant as such; ONNX can say so since opset 14.
bool holds_nothing(const Node& node) {
  const Shape shape = node.attrs.get_ints("shape");
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}
int export_opset(const Node& node) { return holds_nothing(node) ? 14 : 13; }

Status denormalize(RewriteContext& ctx) {
  Shape shape = ctx.node().attrs.get_ints("shape");
  const auto rank = static_cast<std::int64_t>(shape.size());
  const ValueId constant = ctx.graph.add_constant(ctx.node().name + ".shape", Tensor::of<std::int64_t>({rank}, shape));
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0], constant});
  if (holds_nothing(ctx.node())) ctx.attrs().set("allowzero", 1);
  ctx.attrs().erase("shape");
  return {};
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  const Value& x = graph.value(node.inputs[0]);
  const Shape shape = node.attrs.get_ints("shape");
  if (!is_plausible(shape) || element_count(shape) != element_count(x.shape)) return error("shape {} does not hold the {} elements of shape {}", to_string(shape), element_count(x.shape), to_string(x.shape));
  return std::vector<TensorType>{{x.dtype, shape}};
}

void run(RunContext& ctx) {
  if (ctx.outputs[0].raw() != ctx.inputs[0].raw()) std::memcpy(ctx.outputs[0].raw(), ctx.inputs[0].raw(), ctx.inputs[0].bytes());
}

std::optional<std::vector<int>> permute_axes(Graph& graph, NodeId id, const std::vector<int>& perm) {
  const Node& node = graph.node(id);
  const auto moved = permute_reshape(graph.value(node.inputs[0]).shape, graph.value(node.outputs[0]).shape, perm);
  if (!moved) return std::nullopt;
  graph.attrs(id).set("shape", Attr(moved->shape));
  return moved->perm;
}

// Reshape of a Reshape: the inner one is skipped; one that changes nothing is skipped itself.
bool absorb_producer(Graph& graph, NodeId id) {
  const ValueId in = graph.node(id).inputs[0];
  const Node* producer = graph.producer(in);
  if (producer != nullptr && producer->op == graph.node(id).op) {
    const std::vector<std::string> origin = producer->origin;
    graph.set_input(id, 0, producer->inputs[0]);
    graph.add_origin(id, origin);
    return true;
  }
  const ValueId out = graph.node(id).outputs[0];
  if (graph.value(in).shape != graph.value(out).shape || graph.value(out).users.empty()) return false;
  if (graph.is_output(out) && (producer == nullptr || graph.is_output(in))) return false;  // its name must survive
  graph.replace_uses(out, in);
  return true;
}

}  // namespace

extern const OpDef op_reshape;
constinit const OpDef op_reshape{.name = "Reshape",
                                 .summary = "same elements in another shape",
                                 .view = true,
                                 .normalize = normalize,
                                 .denormalize = denormalize,
                                 .export_opset = export_opset,
                                 .infer = infer,
                                 .run = run,
                                 .permute_axes = permute_axes,
                                 .absorb_producer = absorb_producer,
                                 .quant_rule = movement_rule,
                                 .lower = lower_movement};

extern const OpDef op_flatten;
constinit const OpDef op_flatten{.name = "Flatten", .summary = "becomes Reshape to two axes", .normalize = normalize_flatten};

extern const OpDef op_squeeze;
constinit const OpDef op_squeeze{.name = "Squeeze", .summary = "becomes Reshape without axes of extent 1", .normalize = normalize_squeeze};

extern const OpDef op_unsqueeze;
constinit const OpDef op_unsqueeze{.name = "Unsqueeze", .summary = "becomes Reshape with more axes of extent 1", .normalize = normalize_unsqueeze};

}  // namespace narrow
