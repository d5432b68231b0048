// Batch normalization that no weight could take (behind a Concat, in front of a residual sum), as one node or as several, becomes a
// depthwise 1x1 convolution: every target runs those, per-channel weights keep its accuracy, and its followers fold into it.
#include <optional>

#include "ops/depthwise.h"
#include "ops/layout.h"
#include "ops/op_def.h"
#include "passes/edits.h"
#include "passes/passes.h"

namespace narrow {
namespace {

// Scale and shift of each channel of a node that is affine along the innermost axis, or alike on all elements.
struct ChannelAffine {
  ValueId x;
  std::vector<double> scale, shift;
  bool uniform = false;
};

std::optional<ChannelAffine> channel_affine(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpDef& op = op_of(node);
  if (op.affine == nullptr || op.linear != nullptr || fused_activation(node).op != nullptr) return std::nullopt;
  const auto affine = op.affine(graph, node);
  if (!affine) return std::nullopt;
  ChannelAffine out{.x = node.inputs[static_cast<std::size_t>(affine->data_input)], .scale = {}, .shift = {}, .uniform = affine->scale.size() == 1 && affine->shift.size() == 1};
  const Shape& shape = graph.value(out.x).shape;
  const int rank = static_cast<int>(shape.size()), axis = affine->axis < 0 ? affine->axis + rank : affine->axis;
  if (graph.value(out.x).is_constant() || (!out.uniform && axis + 1 != rank) || rank < 2 || element_count(shape) == 0 || shape != graph.value(node.outputs[0]).shape) return std::nullopt;
  for (std::int64_t c = 0; c < shape.back(); ++c) {
    const auto at = [c](const std::vector<float>& list) { return static_cast<double>(list.size() == 1 ? list[0] : list[static_cast<std::size_t>(c)]); };
    out.scale.push_back(at(affine->scale));
    out.shift.push_back(at(affine->shift));
  }
  return out;
}

// The nodes in front of `last` that only it reads, and that are affine too, are counted in and into `origin`.
void take_in_producers(const Graph& graph, NodeId last, ChannelAffine& affine, std::vector<std::string>& origin) {
  for (NodeId reader = last; graph.single_user(affine.x) == reader;) {
    const NodeId producer = graph.value(affine.x).producer;
    const auto before = producer ? channel_affine(graph, producer) : std::nullopt;
    if (!before) return;
    for (std::size_t c = 0; c < affine.scale.size(); ++c) {
      affine.shift[c] += affine.scale[c] * before->shift[c];
      affine.scale[c] *= before->scale[c];
    }
    affine.x = before->x;
    affine.uniform = affine.uniform && before->uniform;
    origin.insert(origin.begin(), graph.node(producer).origin.begin(), graph.node(producer).origin.end());
    reader = producer;
  }
}

ValueId must_insert_before(Graph& graph, NodeId at, NodeSpec spec) {
  const NodeId id = graph.insert_before(at, std::move(spec));
  must_infer(graph, id);
  return graph.node(id).outputs[0];
}

bool convert(Graph& graph, NodeId id) {
  auto affine = channel_affine(graph, id);
  if (!affine) return false;
  const NodeId user = graph.single_user(graph.node(id).outputs[0]);
  if (user && channel_affine(graph, user)) return false;  // that one takes this in
  std::vector<std::string> origin = graph.node(id).origin;
  take_in_producers(graph, id, *affine, origin);
  if (affine->uniform) return false;
  // Behind a linear node of its own it will be folded in the next round.
  const Node* before = graph.producer(affine->x);
  if (before != nullptr && op_of(*before).linear != nullptr && graph.single_user(affine->x) && fused_activation(*before).op == nullptr) return false;

  const Shape shape = graph.value(affine->x).shape;
  const std::int64_t channels = shape.back();
  const bool is_map = shape.size() == 4;
  ValueId map = affine->x;
  if (!is_map) map = must_insert_before(graph, id, make_reshape(graph, map, {shape[0], 1, element_count(shape) / shape[0] / channels, channels}));
  const std::string name = graph.node(id).name;
  NodeSpec spec = make_depthwise_1x1(graph, map, name, {affine->scale.begin(), affine->scale.end()}, {affine->shift.begin(), affine->shift.end()});
  spec.origin = std::move(origin);
  ValueId y = must_insert_before(graph, id, std::move(spec));
  const NodeId depthwise = graph.value(y).producer;
  if (!is_map) y = must_insert_before(graph, id, make_reshape(graph, y, shape));
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
