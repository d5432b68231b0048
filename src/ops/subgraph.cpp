#include "ops/subgraph.h"

#include <algorithm>
#include <map>

#include "ops/op_def.h"

namespace narrow {
namespace {

bool contains(const std::vector<NodeId>& nodes, NodeId id) { return std::find(nodes.begin(), nodes.end(), id) != nodes.end(); }

// Conditions and indices are no real numbers: they can neither stand inside of a function of real numbers nor be its argument.
bool is_part(const Graph& graph, const Node& node, const Parts& parts) {
  const auto real = [&](ValueId v) { return !v || graph.value(v).dtype == DType::kF32; };
  return parts.node(graph, node) && std::all_of(node.outputs.begin(), node.outputs.end(), real) && std::all_of(node.inputs.begin(), node.inputs.end(), real);
}

bool collect(const Graph& graph, NodeId end, ValueId x, const Parts& parts, std::vector<NodeId>& out) {
  if (contains(out, end)) return true;
  if (!is_part(graph, graph.node(end), parts) || static_cast<int>(out.size()) >= parts.most) return false;
  for (const ValueId in : graph.node(end).inputs) {
    if (!in || in == x || parts.constant(graph.value(in))) continue;
    if (!graph.value(in).producer || !collect(graph, graph.value(in).producer, x, parts, out)) return false;
  }
  out.push_back(end);
  return true;
}

bool is_closed(const Graph& graph, const std::vector<NodeId>& nodes) {
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    const ValueId out = graph.node(nodes[i]).outputs[0];
    if (graph.is_output(out)) return false;
    const auto& users = graph.value(out).users;
    if (!std::all_of(users.begin(), users.end(), [&](NodeId user) { return contains(nodes, user); })) return false;
  }
  return true;
}

}  // namespace

std::vector<ValueId> possible_sources(const Graph& graph, NodeId end, const Parts& parts) {
  std::vector<ValueId> reachable;
  std::vector<NodeId> frontier{end};
  for (std::size_t i = 0; i < frontier.size() && static_cast<int>(i) < parts.most; ++i) {
    if (!is_part(graph, graph.node(frontier[i]), parts)) continue;
    for (const ValueId in : graph.node(frontier[i]).inputs) {
      if (!in || graph.value(in).is_constant()) continue;
      if (std::find(reachable.begin(), reachable.end(), in) == reachable.end()) reachable.push_back(in);
      const NodeId producer = graph.value(in).producer;
      if (producer && !contains(frontier, producer)) frontier.push_back(producer);
    }
  }
  const Shape& shape = graph.value(graph.node(end).outputs[0]).shape;
  std::erase_if(reachable, [&](ValueId v) { return graph.value(v).shape != shape; });
  std::reverse(reachable.begin(), reachable.end());
  return reachable;
}

std::vector<NodeId> nodes_between(const Graph& graph, ValueId x, NodeId end, const Parts& parts) {
  std::vector<NodeId> nodes;
  if (!collect(graph, end, x, parts, nodes) || !is_closed(graph, nodes)) return {};
  return nodes;
}

Tensor evaluate(const Graph& graph, const std::vector<NodeId>& nodes, ValueId x, const Tensor& at, const std::function<Shape(const Value&)>& shape_of) {
  std::map<ValueId, Tensor> values{{x, at}};
  Tensor last;
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    std::vector<Tensor> inputs;
    for (const ValueId in : node.inputs) {
      if (!in) inputs.emplace_back();
      else if (in != x && graph.value(in).is_constant()) inputs.push_back(graph.value(in).constant.reshaped(shape_of(graph.value(in))));
      else inputs.push_back(values.at(in));
    }
    std::vector<Tensor> outputs{Tensor(DType::kF32, shape_of(graph.value(node.outputs[0])))};
    RunContext ctx{node, inputs, outputs};
    op_of(node).run(ctx);
    values[node.outputs[0]] = last = outputs[0];
  }
  return last;
}

void become(Graph& graph, const std::vector<NodeId>& nodes, const std::string& op, std::vector<ValueId> inputs, Attrs attrs) {
  std::vector<std::string> origin;
  for (const NodeId id : nodes) origin.insert(origin.end(), graph.node(id).origin.begin(), graph.node(id).origin.end());
  const NodeId end = nodes.back();
  graph.set_op(end, op);
  graph.set_inputs(end, std::move(inputs));
  graph.attrs(end) = std::move(attrs);
  graph.add_origin(end, origin);
}

}  // namespace narrow
