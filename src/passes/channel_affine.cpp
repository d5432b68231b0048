#include "passes/channel_affine.h"

namespace narrow {

std::optional<ChannelAffine> channel_affine(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpDef& op = op_of(node);
  if (op.affine == nullptr || fused_activation(node).op != nullptr) return std::nullopt;
  auto form = op.affine(graph, node);
  if (!form) return std::nullopt;
  const ValueId x = node.inputs[static_cast<std::size_t>(form->data_input)];
  const Shape& shape = graph.value(x).shape;
  if (shape != graph.value(node.outputs[0]).shape || graph.value(x).is_constant()) return std::nullopt;
  const bool uniform = form->scale.size() == 1 && form->shift.size() == 1;
  const int rank = static_cast<int>(shape.size()), axis = form->axis < 0 ? form->axis + rank : form->axis;
  if (!uniform && axis + 1 != rank) return std::nullopt;
  return ChannelAffine{.x = x, .scale = std::move(form->scale), .shift = std::move(form->shift), .uniform = uniform};
}

}  // namespace narrow
