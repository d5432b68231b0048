#include "passes/fold_constants.h"

#include <algorithm>

#include "ops/op_def.h"
#include "passes/edits.h"
#include "passes/passes.h"

namespace narrow {

std::vector<ValueId> fold_node(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpDef& op = op_of(node);
  if (op.run == nullptr) return {};
  const bool known = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) { return !in || graph.value(in).is_constant(); });
  if (!known && !op.folds_shape) return {};

  std::int64_t elements = 0;  // beyond those of the inputs
  for (const ValueId in : node.inputs) elements -= in && graph.value(in).is_constant() ? element_count(graph.value(in).shape) : 0;
  for (const ValueId out : node.outputs) elements += element_count(graph.value(out).shape);
  if (elements > kMostGenerated) return {};

  static std::byte never_read{};
  std::vector<Tensor> inputs, outputs;
  for (const ValueId in : node.inputs) {
    if (!in) inputs.emplace_back();
    else if (graph.value(in).is_constant()) inputs.push_back(graph.value(in).constant);
    else inputs.push_back(Tensor::view(graph.value(in).dtype, graph.value(in).shape, &never_read));
  }
  for (const ValueId out : node.outputs) outputs.emplace_back(graph.value(out).dtype, graph.value(out).shape);
  RunContext context{.node = node, .inputs = inputs, .outputs = outputs};
  op.run(context);

  std::vector<ValueId> constants;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ValueId out = graph.node(id).outputs[i];
    names.push_back(graph.value(out).name);
    constants.push_back(graph.add_constant(names.back(), std::move(outputs[i])));
    graph.replace_uses(out, constants.back());
  }
  graph.erase(id);
  for (std::size_t i = 0; i < constants.size(); ++i) graph.rename(constants[i], names[i]);
  return constants;
}

std::size_t fold_constants(Graph& graph) {
  const std::size_t rewrites = everywhere(graph, [](Graph& g, NodeId id) { return !fold_node(g, id).empty(); });
  graph.remove_dead();
  return rewrites;
}

}  // namespace narrow
