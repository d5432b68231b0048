// Batch normalization that no weight could take (behind a Concat, in front of a residual sum), as one node or as several, becomes a
// depthwise 1x1 convolution: every target runs those, per-channel weights keep its accuracy, and its followers fold into it.
#include <optional>

#include "ops/depthwise.h"
#include "ops/layout.h"
#include "ops/op_def.h"
#include "passes/channel_affine.h"
#include "passes/edits.h"
#include "passes/passes.h"

namespace narrow {
namespace {

// The scale and shift of every channel of x, of one node or of several in a row.
struct Channels {
  ValueId x;
  std::vector<double> scale, shift;
  bool uniform = false;
};

std::optional<Channels> channels_of(const Graph& graph, NodeId id) {
  const auto affine = op_of(graph.node(id)).linear == nullptr ? channel_affine(graph, id) : std::nullopt;
  if (!affine || graph.value(affine->x).shape.size() < 2 || element_count(graph.value(affine->x).shape) == 0) return std::nullopt;
  Channels out{.x = affine->x, .scale = {}, .shift = {}, .uniform = affine->uniform};
  for (std::int64_t c = 0; c < graph.value(affine->x).shape.back(); ++c) {
    out.scale.push_back(affine->scale_at(c));
    out.shift.push_back(affine->shift_at(c));
  }
  return out;
}

// The nodes in front of `last` that only it reads, and that are affine too, are counted in and into `origin`.
void take_in_producers(const Graph& graph, NodeId last, Channels& channels, std::vector<std::string>& origin) {
  for (NodeId reader = last; graph.single_user(channels.x) == reader;) {
    const NodeId producer = graph.value(channels.x).producer;
    const auto before = producer ? channels_of(graph, producer) : std::nullopt;
    if (!before) return;
    for (std::size_t c = 0; c < channels.scale.size(); ++c) {
      channels.shift[c] += channels.scale[c] * before->shift[c];
      channels.scale[c] *= before->scale[c];
    }
    channels.x = before->x;
    channels.uniform = channels.uniform && before->uniform;
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
  auto affine = channels_of(graph, id);
  if (!affine) return false;
  const NodeId user = graph.single_user(graph.node(id).outputs[0]);
  if (user && channels_of(graph, user)) return false;  // that one takes this in
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

std::size_t standalone_affine(Graph& graph) { return everywhere(graph, convert); }

}  // namespace narrow
