// Batch normalization that no weight could take (behind a Concat, in front of a residual sum) becomes a depthwise 1x1
// convolution: every target runs those, per-channel weights keep its accuracy, and its followers fold into it.
#include "ops/depthwise.h"
#include "ops/layout.h"
#include "ops/op_def.h"
#include "passes/edits.h"
#include "passes/passes.h"

namespace narrow {
namespace {

std::vector<float> per_channel(const std::vector<float>& list, std::int64_t channels) {
  return list.size() == 1 ? std::vector<float>(static_cast<std::size_t>(channels), list[0]) : list;
}

ValueId must_insert_before(Graph& graph, NodeId at, NodeSpec spec) {
  const NodeId id = graph.insert_before(at, std::move(spec));
  must_infer(graph, id);
  return graph.node(id).outputs[0];
}

bool convert(Graph& graph, NodeId id) {
  const OpDef& op = op_of(graph.node(id));
  if (op.affine == nullptr || op.linear != nullptr || fused_activation(graph.node(id)).op != nullptr) return false;
  const auto affine = op.affine(graph, graph.node(id));
  if (!affine || (affine->scale.size() == 1 && affine->shift.size() == 1)) return false;
  const ValueId x = graph.node(id).inputs[static_cast<std::size_t>(affine->data_input)];
  const Shape shape = graph.value(x).shape;
  const int rank = static_cast<int>(shape.size()), axis = affine->axis < 0 ? affine->axis + rank : affine->axis;
  if (graph.value(x).is_constant() || axis + 1 != rank || rank < 2 || shape != graph.value(graph.node(id).outputs[0]).shape) return false;
  // Behind a linear node of its own it will be folded in the next round.
  const Node* before = graph.producer(x);
  if (before != nullptr && op_of(*before).linear != nullptr && graph.single_user(x) == id && fused_activation(*before).op == nullptr) return false;

  const std::int64_t channels = shape.back();
  ValueId map = x;
  if (rank != 4) map = must_insert_before(graph, id, make_reshape(graph, x, {shape[0], 1, element_count(shape) / shape[0] / channels, channels}));
  const std::string name = graph.node(id).name;
  NodeSpec spec = make_depthwise_1x1(graph, map, name, per_channel(affine->scale, channels), per_channel(affine->shift, channels));
  spec.origin = graph.node(id).origin;
  ValueId y = must_insert_before(graph, id, std::move(spec));
  const NodeId depthwise = graph.value(y).producer;
  if (rank != 4) y = must_insert_before(graph, id, make_reshape(graph, y, shape));
  take_over(graph, y, id);
  graph.rename(depthwise, name);
  return true;
}

}  // namespace

std::size_t standalone_affine(Graph& graph) {
  std::size_t rewrites = 0;
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) rewrites += convert(graph, id) ? 1 : 0;
  return rewrites;
}

}  // namespace narrow
