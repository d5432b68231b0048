#include "ops/reduction.h"

#include <algorithm>

namespace narrow {

Result<Shape> reduced_shape(const Graph& graph, const Node& node) {
  Shape y = graph.value(node.inputs[0]).shape;
  for (const std::int64_t axis : node.attrs.get_ints("axes")) y[static_cast<std::size_t>(NARROW_TRY(normalize_axis(axis, y.size())))] = 1;
  return y;
}

Status normalize_reduction(RewriteContext& ctx) {
  const Shape x = ctx.input(0).shape;
  auto axes = NARROW_TRY(ctx.ints("axes", 1)).value_or(std::vector<std::int64_t>{});
  if (axes.empty()) {
    if (ctx.node().attrs.get_int("noop_with_empty_axes") == 0) {
      for (std::size_t i = 0; i < x.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    } else {
      ctx.results[0] = ctx.node().inputs[0];
      return {};
    }
  }
  for (std::int64_t& axis : axes) axis = NARROW_TRY(normalize_axis(axis, x.size()));
  std::sort(axes.begin(), axes.end());
  const bool keep = ctx.node().attrs.get_int("keepdims", 1) != 0;
  ctx.attrs().erase("keepdims");
  ctx.attrs().erase("noop_with_empty_axes");
  ctx.attrs().set("axes", axes);
  ctx.graph.set_inputs(ctx.node_id, {ctx.node().inputs[0]});
  NARROW_TRY(ctx.infer());
  if (keep) return {};
  Shape dropped;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end()) dropped.push_back(x[i]);
  }
  NodeSpec spec{.name = ctx.node().name + ".dropped", .op = "Reshape", .inputs = {ctx.results[0]}};
  spec.attrs.set("shape", std::move(dropped));
  ctx.results[0] = NARROW_TRY(ctx.insert_after(std::move(spec)));
  return {};
}

bool permute_reduction(Graph& graph, NodeId id, const std::vector<int>& perm) {
  if (graph.value(graph.node(id).inputs[0]).shape.size() != perm.size()) return false;
  std::vector<std::int64_t> axes;
  for (const std::int64_t axis : graph.node(id).attrs.get_ints("axes")) axes.push_back(perm[static_cast<std::size_t>(axis)]);
  std::sort(axes.begin(), axes.end());
  graph.attrs(id).set("axes", std::move(axes));
  return true;
}

void denormalize_reduction(RewriteContext& ctx, int axes_are_input) {
  ctx.attrs().set("keepdims", 1);
  if (ctx.opset < axes_are_input) return;
  const auto axes = ctx.node().attrs.get_ints("axes");
  ctx.attrs().erase("axes");
  const ValueId list = ctx.graph.add_constant(ctx.node().name + ".axes", Tensor::of<std::int64_t>({static_cast<std::int64_t>(axes.size())}, axes));
  ctx.graph.set_input(ctx.node_id, 1, list);
}

}  // namespace narrow
