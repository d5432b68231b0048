// LayerNormalization: (x - mean) / sqrt(variance + epsilon) * scale + bias over the axes from `axis` on. Float only.
#include <cmath>

#include "base/parallel.h"
#include "ops/op_def.h"

namespace narrow {
namespace {

Status normalize(RewriteContext& ctx) {
  if (ctx.node().outputs.size() > 1) return error("mean and deviation are asked for ({} outputs), wanted 1", ctx.node().outputs.size());
  const int axis = NARROW_TRY(normalize_axis(ctx.node().attrs.get_int("axis", -1), ctx.input(0).shape.size()));
  ctx.attrs().set("axis", axis);
  ctx.attrs().set("epsilon", Attr(ctx.node().attrs.get_float("epsilon", 1e-5)));
  ctx.attrs().erase("stash_type");
  return ctx.infer();
}

std::int64_t row_length(const Shape& shape, std::int64_t axis) { return element_count({shape.begin() + axis, shape.end()}); }

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  const Shape& x = graph.value(node.inputs[0]).shape;
  const auto axis = NARROW_TRY(normalize_axis(node.attrs.get_int("axis", -1), x.size()));
  if (node.attrs.get_int("axis", -1) != axis) return error("axis {} counts from the end", node.attrs.get_int("axis", -1));
  const std::int64_t length = row_length(x, axis);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] && element_count(graph.value(node.inputs[i]).shape) != length) {
      return error("{} has shape {}, wanted {} elements", i == 1 ? "scale" : "bias", to_string(graph.value(node.inputs[i]).shape), length);
    }
  }
  return std::vector<TensorType>{{DType::kF32, x}};
}

void run(RunContext& ctx) {
  const std::int64_t length = row_length(ctx.inputs[0].shape(), ctx.node.attrs.get_int("axis"));
  const double epsilon = ctx.node.attrs.get_float("epsilon", 1e-5);
  const float* scale = ctx.has_input(1) ? ctx.inputs[1].data<float>() : nullptr;
  const float* bias = ctx.has_input(2) ? ctx.inputs[2].data<float>() : nullptr;
  parallel_for(length == 0 ? 0 : ctx.inputs[0].elements() / length, [&](std::int64_t row) {
    const float* x = ctx.inputs[0].data<float>() + row * length;
    float* y = ctx.outputs[0].data<float>() + row * length;
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < length; ++i) sum += static_cast<double>(x[i]);
    const double mean = sum / static_cast<double>(length);
    for (std::int64_t i = 0; i < length; ++i) squares += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
    const double inverse = 1 / std::sqrt(squares / static_cast<double>(length) + epsilon);
    for (std::int64_t i = 0; i < length; ++i) {
      const double normal = (static_cast<double>(x[i]) - mean) * inverse;
      y[i] = static_cast<float>(normal * (scale != nullptr ? static_cast<double>(scale[i]) : 1.0) + (bias != nullptr ? static_cast<double>(bias[i]) : 0.0));
    }
  });
}

// Fed with axes in another order, as long as the normalized ones stay where they are.
bool permute(Graph& graph, NodeId id, const std::vector<int>& perm) {
  const auto axis = static_cast<std::size_t>(graph.node(id).attrs.get_int("axis"));
  if (perm.size() != graph.value(graph.node(id).inputs[0]).shape.size()) return false;
  for (std::size_t i = axis; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int>(i)) return false;
  }
  return true;
}

}  // namespace

extern const OpDef op_layer_normalization;
constinit const OpDef op_layer_normalization{.name = "LayerNormalization", .summary = "normalization over trailing axes", .real_inputs = 3, .since_opset = 17, .normalize = normalize, .infer = infer, .run = run, .permute = permute};

}  // namespace narrow
