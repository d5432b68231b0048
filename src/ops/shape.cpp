// Shape and Size: known at import, since shapes are static.
#include <algorithm>

#include "ops/op_def.h"

namespace narrow {
namespace {

// Since opset 15 a range of axes may be asked for.
Shape part_of(const Shape& shape, const Node& node) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto at = [&](std::int64_t axis) { return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  const std::int64_t start = at(node.attrs.get_int("start", 0)), end = std::max(start, at(node.attrs.get_int("end", rank)));
  return {shape.begin() + start, shape.begin() + end};
}

Result<std::vector<TensorType>> infer_shape(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  return std::vector<TensorType>{{DType::kI64, {static_cast<std::int64_t>(part_of(graph.value(node.inputs[0]).shape, node).size())}}};
}
void run_shape(RunContext& ctx) {
  const Shape shape = part_of(ctx.inputs[0].shape(), ctx.node);
  std::copy(shape.begin(), shape.end(), ctx.outputs[0].data<std::int64_t>());
}

Result<std::vector<TensorType>> infer_size(const Graph&, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  return std::vector<TensorType>{{DType::kI64, {}}};
}
void run_size(RunContext& ctx) { ctx.outputs[0].data<std::int64_t>()[0] = ctx.inputs[0].elements(); }

QuantRule rule(const Graph&, const Node&) { return {.unquantized = "its result is an integer"}; }

}  // namespace

extern const OpDef op_shape;
constinit const OpDef op_shape{.name = "Shape", .summary = "extents of the input", .folds_shape = true, .infer = infer_shape, .run = run_shape, .quant_rule = rule};

extern const OpDef op_size;
constinit const OpDef op_size{.name = "Size", .summary = "number of elements of the input", .folds_shape = true, .infer = infer_size, .run = run_size, .quant_rule = rule};

}  // namespace narrow
