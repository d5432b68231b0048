// A channels-first network that pads or normalizes its input before the first convolution keeps a Transpose between the
// two, where it hides the one from the other. Such a Transpose is lifted to the graph input.
#include <algorithm>

#include "ops/layout.h"
#include "ops/op_def.h"
#include "passes/edits.h"
#include "passes/passes.h"
#include "passes/transposes.h"

namespace narrow {
namespace {

// The nodes from the graph input down to the Transpose `id`, innermost first; empty: it cannot be lifted.
std::vector<NodeId> way_to_input(const Graph& graph, NodeId id) {
  std::vector<NodeId> way;
  const ValueId out = graph.node(id).outputs[0];
  const auto& users = graph.value(out).users;
  const bool blocked = !graph.is_output(out) && std::none_of(users.begin(), users.end(), [&](NodeId user) { return can_be_permuted(graph.node(user)); });
  if (!blocked) return {};
  ValueId value = graph.node(id).inputs[0];
  for (NodeId reader = id; !graph.is_input(value); value = only_computed_input(graph, reader)) {
    if (!value || graph.single_user(value) != reader) return {};
    reader = graph.value(value).producer;
    const Node& node = graph.node(reader);
    if (op_of(node).permute == nullptr || permutation_of(node) || node.outputs.size() != 1 || !only_computed_input(graph, reader)) return {};
    way.push_back(reader);
  }
  return way;
}

// Transpose(f(x)) becomes f(Transpose(x)) for each node of the way. On false `graph` is spoilt.
bool lift(Graph& graph, NodeId id) {
  const std::vector<NodeId> way = way_to_input(graph, id);
  if (way.empty()) return false;
  const std::vector<int> perm = *permutation_of(graph.node(id));
  const ValueId input = only_computed_input(graph, way.back());
  for (const NodeId node : way) {
    if (!op_of(graph.node(node)).permute(graph, node, inverse_of(perm))) return false;
  }
  NodeSpec spec = make_transpose(graph, input, perm);
  spec.origin = graph.node(id).origin;
  const NodeId top = graph.insert_before(way.back(), std::move(spec));
  must_infer(graph, top);
  for (std::size_t slot = 0; slot < graph.node(way.back()).inputs.size(); ++slot) {
    if (graph.node(way.back()).inputs[slot] == input) graph.set_input(way.back(), slot, graph.node(top).outputs[0]);
  }
  for (auto node = way.rbegin(); node != way.rend(); ++node) must_infer(graph, *node);
  const ValueId old = graph.node(id).outputs[0], now = graph.node(id).inputs[0];
  NARROW_CHECK(graph.value(old).shape == graph.value(now).shape, "'{}'", graph.value(now).name);
  graph.replace_uses(old, now);
  graph.erase(id);
  return true;
}

}  // namespace

std::size_t lift_transposes(Graph& graph) {
  return everywhere(graph, [](Graph& g, NodeId id) {
    if (!permutation_of(g.node(id)) || way_to_input(g, id).empty()) return false;
    Graph trial = g;  // tensors are shared: a copy is cheap
    if (!lift(trial, id)) return false;
    g = std::move(trial);
    return true;
  });
}

}  // namespace narrow
