// Concat: inputs side by side along `axis`. In integer networks all inputs and the output share one grid.
#include <cstring>

#include "base/parallel.h"
#include "ops/movement.h"

namespace narrow {
namespace {

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), ctx.node().inputs.size()));
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  ctx.attrs().set("axis", NARROW_TRY(normalize_axis(ctx.node().attrs.get_int("axis", 1), ctx.input(0).shape.size())));
  if (ctx.node().inputs.size() == 1) ctx.results = {ctx.node().inputs[0]};
  return {};
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  const Value& first = graph.value(node.inputs[0]);
  const auto axis = static_cast<std::size_t>(NARROW_TRY(normalize_axis(node.attrs.get_int("axis"), first.shape.size())));
  if (node.attrs.get_int("axis") < 0) return error("axis {} counts from the end", node.attrs.get_int("axis"));
  NARROW_TRY(expect_inputs(node, node.inputs.size()));
  Shape shape = first.shape;
  shape[axis] = 0;
  for (const ValueId in : node.inputs) {
    const Value& x = graph.value(in);
    if (x.dtype != first.dtype) return error("'{}' is {}, '{}' is {}, wanted one element type", first.name, name_of(first.dtype), x.name, name_of(x.dtype));
    bool fits = x.shape.size() == shape.size();
    for (std::size_t d = 0; fits && d < shape.size(); ++d) fits = d == axis || x.shape[d] == shape[d];
    if (!fits) return error("'{}' of shape {} does not fit '{}' of shape {} along axis {}", x.name, to_string(x.shape), first.name, to_string(first.shape), axis);
    shape[axis] += x.shape[axis];
  }
  return std::vector<TensorType>{{first.dtype, std::move(shape)}};
}

void run(RunContext& ctx) {
  const Shape& shape = ctx.outputs[0].shape();
  const auto axis = static_cast<std::size_t>(ctx.node.attrs.get_int("axis"));
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < axis; ++d) outer *= shape[d];
  if (ctx.outputs[0].elements() == 0) return;
  const std::size_t row = ctx.outputs[0].bytes() / static_cast<std::size_t>(outer);
  struct Part { const std::byte* data; std::size_t bytes, offset; };
  std::vector<Part> parts;
  std::size_t offset = 0;
  for (const Tensor& in : ctx.inputs) {
    const std::size_t bytes = in.bytes() / static_cast<std::size_t>(outer);
    parts.push_back({static_cast<const std::byte*>(in.raw()), bytes, offset});
    offset += bytes;
  }
  auto* y = static_cast<std::byte*>(ctx.outputs[0].raw());
  const std::int64_t per_chunk = std::max<std::int64_t>(1, 65536 / static_cast<std::int64_t>(row));
  parallel_for((outer + per_chunk - 1) / per_chunk, [&](std::int64_t chunk) {
    for (std::int64_t o = chunk * per_chunk; o < std::min(outer, (chunk + 1) * per_chunk); ++o) {
      for (const Part& p : parts) std::memcpy(y + static_cast<std::size_t>(o) * row + p.offset, p.data + static_cast<std::size_t>(o) * p.bytes, p.bytes);
    }
  });
}

bool permute(Graph& graph, NodeId id, const std::vector<int>& perm) {
  if (graph.value(graph.node(id).outputs[0]).shape.size() != perm.size()) return false;
  graph.attrs(id).set("axis", perm[static_cast<std::size_t>(graph.node(id).attrs.get_int("axis"))]);
  transpose_constant_inputs(graph, id, perm);
  return true;
}

}  // namespace

extern const OpDef op_concat;
constinit const OpDef op_concat{.name = "Concat", .summary = "inputs side by side along an axis", .normalize = normalize, .infer = infer, .run = run, .permute = permute, .quant_rule = movement_rule, .lower = lower_movement};

}  // namespace narrow
