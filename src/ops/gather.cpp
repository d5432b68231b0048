// Gather: the slices of axis `axis` that the indices name; the axis is replaced by the axes of the indices (a scalar index
// drops it). Constant indices are made non-negative and checked; computed ones are clamped to the axis.
#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "ops/movement.h"

namespace narrow {
namespace {

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 2));
  const Shape& from = ctx.input(0).shape;
  const int axis = NARROW_TRY(normalize_axis(ctx.node().attrs.get_int("axis", 0), from.size()));
  ctx.attrs().set("axis", axis);
  if (!ctx.input(1).is_constant()) return {};
  const std::int64_t extent = from[static_cast<std::size_t>(axis)];
  std::vector<std::int64_t> indices = ctx.input(1).constant.to_ints();
  for (std::int64_t& i : indices) {
    if (i < -extent || i >= extent) return error("index {} is outside axis {} of shape {}", i, axis, to_string(from));
    if (i < 0) i += extent;
  }
  ctx.graph.set_input(ctx.node_id, 1, ctx.graph.add_constant(ctx.input(1).name, Tensor::of<std::int64_t>(ctx.input(1).shape, indices)));
  return {};
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 2));
  const Value &x = graph.value(node.inputs[0]), &indices = graph.value(node.inputs[1]);
  if (indices.dtype != DType::kI64 && indices.dtype != DType::kI32) return error("the indices are {}, wanted i64 or i32", name_of(indices.dtype));
  const auto axis = NARROW_TRY(normalize_axis(node.attrs.get_int("axis"), x.shape.size()));
  if (node.attrs.get_int("axis") != axis) return error("axis {} counts from the end", node.attrs.get_int("axis"));
  if (x.shape[static_cast<std::size_t>(axis)] == 0 && element_count(indices.shape) > 0) return error("axis {} of shape {} is empty", axis, to_string(x.shape));
  Shape shape(x.shape.begin(), x.shape.begin() + axis);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  return std::vector<TensorType>{{x.dtype, std::move(shape)}};
}

// Output rows [first, last): row k of `row` bytes comes from x's row (k / indices) * extent + indices[k % indices]. T has the size of
// a row, or is std::byte for rows of any size.
template <typename T>
void gather_rows(const std::byte* from, std::byte* to, const std::vector<std::int64_t>& indices, std::int64_t extent, std::int64_t first, std::int64_t last,
                 std::size_t row) {
  const auto copy = [&](std::int64_t k, std::int64_t source) {
    if constexpr (std::is_same_v<T, std::byte>) {
      std::memcpy(to + static_cast<std::size_t>(k) * row, from + static_cast<std::size_t>(source) * row, row);
    } else {
      reinterpret_cast<T*>(to)[k] = reinterpret_cast<const T*>(from)[source];
    }
  };
  const auto count = static_cast<std::int64_t>(indices.size());
  if (count == 1) {
    for (std::int64_t k = first, source = first * extent + indices[0]; k < last; ++k, source += extent) copy(k, source);
    return;
  }
  std::int64_t base = first / count * extent;
  auto index = static_cast<std::size_t>(first % count);
  for (std::int64_t k = first; k < last; ++k) {
    copy(k, base + indices[index]);
    if (++index == indices.size()) {
      index = 0;
      base += extent;
    }
  }
}

void run(RunContext& ctx) {
  const Tensor& x = ctx.inputs[0];
  const auto axis = static_cast<std::size_t>(ctx.node.attrs.get_int("axis"));
  const std::int64_t extent = x.shape()[axis];
  std::vector<std::int64_t> indices = ctx.inputs[1].to_ints();
  for (std::int64_t& i : indices) i = std::clamp<std::int64_t>(i < 0 ? i + extent : i, 0, std::max<std::int64_t>(extent - 1, 0));
  const std::int64_t outer = element_count(Shape(x.shape().begin(), x.shape().begin() + static_cast<std::ptrdiff_t>(axis)));
  if (ctx.outputs[0].elements() == 0 || x.elements() == 0) return;
  const std::size_t row = x.bytes() / static_cast<std::size_t>(outer * extent);
  const auto* from = static_cast<const std::byte*>(x.raw());
  auto* to = static_cast<std::byte*>(ctx.outputs[0].raw());
  const auto count = static_cast<std::int64_t>(indices.size());
  const std::int64_t total = outer * count, per_chunk = std::max<std::int64_t>(1, 65536 / static_cast<std::int64_t>(row));
  parallel_for((total + per_chunk - 1) / per_chunk, [&](std::int64_t chunk) {
    const std::int64_t first = chunk * per_chunk, last = std::min(total, first + per_chunk);
    // Short rows (channel shuffles) are single loads and stores.
    switch (row) {
      case 1: return gather_rows<std::uint8_t>(from, to, indices, extent, first, last, row);
      case 2: return gather_rows<std::uint16_t>(from, to, indices, extent, first, last, row);
      case 4: return gather_rows<std::uint32_t>(from, to, indices, extent, first, last, row);
      default: return gather_rows<std::byte>(from, to, indices, extent, first, last, row);
    }
  });
}

bool permute(Graph& graph, NodeId id, const std::vector<int>& perm) {
  const Node& node = graph.node(id);
  const Value &x = graph.value(node.inputs[0]), &indices = graph.value(node.inputs[1]);
  if (!indices.is_constant() || indices.shape.size() != 1 || x.is_constant() || x.shape.size() != perm.size()) return false;
  graph.attrs(id).set("axis", perm[static_cast<std::size_t>(node.attrs.get_int("axis"))]);
  return true;
}

// A single index drops its axis.
std::optional<std::vector<int>> permute_axes(Graph& graph, NodeId id, const std::vector<int>& perm) {
  const Node& node = graph.node(id);
  if (!graph.value(node.inputs[1]).shape.empty() || graph.value(node.inputs[0]).is_constant()) return std::nullopt;
  const auto axis = static_cast<std::size_t>(node.attrs.get_int("axis"));
  const int moved = perm[axis];
  std::vector<int> rest;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (i != axis) rest.push_back(perm[i] > moved ? perm[i] - 1 : perm[i]);
  }
  graph.attrs(id).set("axis", moved);
  return rest;
}

}  // namespace

extern const OpDef op_gather;
constinit const OpDef op_gather{.name = "Gather", .summary = "slices of an axis by index", .min_inputs = 2, .normalize = normalize, .infer = infer, .run = run, .permute = permute, .permute_axes = permute_axes, .quant_rule = movement_rule, .lower = lower_movement};

}  // namespace narrow
