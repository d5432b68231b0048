#include "passes/edits.h"

#include "ops/op_def.h"

namespace narrow {

void must_infer(Graph& graph, NodeId node) {
  const auto status = infer_node(graph, node);
  NARROW_CHECK(status.has_value(), "{}", status.error().message);
}

void take_over(Graph& graph, ValueId value, NodeId node) {
  const ValueId old = graph.node(node).outputs[0];
  const std::string name = graph.value(old).name;
  const NodeId producer = graph.value(value).producer;
  if (producer) graph.add_origin(producer, graph.node(node).origin);
  graph.replace_uses(old, value);
  graph.erase(node);
  if (producer && !graph.is_output(value)) graph.rename(value, name);
}

void set_parameter(Graph& graph, NodeId node, std::size_t slot, Tensor tensor, const std::string& name) {
  const auto& inputs = graph.node(node).inputs;
  const ValueId present = slot < inputs.size() ? inputs[slot] : ValueId{};
  if (present && graph.value(present).users.size() == 1 && !graph.is_output(present)) {
    graph.set_constant(present, std::move(tensor));
    return;
  }
  graph.set_input(node, slot, graph.add_constant(present ? graph.value(present).name : name, std::move(tensor)));
}

bool can_replace(const Graph& graph, ValueId value, ValueId by) {
  return !graph.is_output(value) || (graph.producer(by) != nullptr && !graph.is_output(by));
}

}  // namespace narrow
