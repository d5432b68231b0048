#include "ops/movement.h"

#include "ops/layout.h"
#include "ops/lower_context.h"

namespace narrow {

QuantRule movement_rule(const Graph& graph, const Node& node) {
  QuantRule rule{.follows_input = true};
  std::vector<Slot> group;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] && graph.value(node.inputs[i]).dtype == DType::kF32) group.push_back(input_slot(static_cast<int>(i)));
  }
  group.push_back(output_slot(0));
  rule.same = {std::move(group)};
  return rule;
}

Status lower_movement(LowerContext& ctx) {
  NodeSpec spec{.op = ctx.node().op, .attrs = ctx.node().attrs};
  for (std::size_t i = 0; i < ctx.node().inputs.size(); ++i) {
    spec.inputs.push_back(ctx.has_input(static_cast<int>(i)) ? ctx.input(static_cast<int>(i)) : ValueId{});
  }
  ctx.emit_output(std::move(spec));
  return {};
}

void transpose_constant_inputs(Graph& graph, NodeId id, const std::vector<int>& perm) {
  for (std::size_t slot = 0; slot < graph.node(id).inputs.size(); ++slot) {
    const ValueId in = graph.node(id).inputs[slot];
    if (!in || !graph.value(in).is_constant()) continue;
    Tensor moved = transposed(graph.value(in).constant, inverse_of(perm));
    graph.set_input(id, slot, graph.add_constant(graph.value(in).name, std::move(moved)));
  }
}

}  // namespace narrow
