// y = act(f(x)) as one node: the float executor applies act while the data are in cache, and only y gets a quantizer.
#include "ops/op_def.h"
#include "passes/edits.h"
#include "passes/passes.h"

namespace narrow {
namespace {

bool fuse(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpDef& op = op_of(node);
  if (op.activation == nullptr || fused_activation(node).op != nullptr) return false;
  const ValueId x = node.inputs[0];
  const NodeId producer = graph.value(x).producer;
  if (!producer || graph.single_user(x) != id || graph.node(producer).outputs.size() != 1) return false;
  const OpDef& target = op_of(graph.node(producer));
  const bool fits = target.fuses_activation && (!target.fuses_only_clamps || op.activation->clamp != nullptr);
  if (!fits || fused_activation(graph.node(producer)).op != nullptr) return false;
  set_fused_activation(graph, producer, node);
  take_over(graph, x, id);
  return true;
}

}  // namespace

std::size_t fuse_activation(Graph& graph) { return everywhere(graph, fuse); }

}  // namespace narrow
