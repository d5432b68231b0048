#include "passes/transposes.h"

#include <algorithm>

#include "ops/layout.h"
#include "ops/op_def.h"

namespace narrow {

std::optional<std::vector<int>> transposed_by(const Graph& graph, ValueId value) {
  const Node* producer = value ? graph.producer(value) : nullptr;
  return producer == nullptr ? std::nullopt : permutation_of(*producer);
}

ValueId transpose_source(const Graph& graph, ValueId value) { return graph.producer(value)->inputs[0]; }

ValueId only_computed_input(const Graph& graph, NodeId node) {
  ValueId found;
  for (const ValueId in : graph.node(node).inputs) {
    if (!in || graph.value(in).is_constant() || in == found) continue;
    if (found) return {};
    found = in;
  }
  return found;
}

bool can_be_permuted(const Node& node) {
  const OpDef& op = op_of(node);
  return op.permute != nullptr || op.permute_axes != nullptr;
}

bool ends_blocked(const Graph& graph, ValueId value) {
  const auto& users = graph.value(value).users;
  return !graph.is_output(value) && std::all_of(users.begin(), users.end(), [&](NodeId user) {
    const Node& node = graph.node(user);
    if (permutation_of(node)) return false;
    if (!can_be_permuted(node)) return true;
    return only_computed_input(graph, user) && node.outputs.size() == 1 && ends_blocked(graph, node.outputs[0]);
  });
}

}  // namespace narrow
