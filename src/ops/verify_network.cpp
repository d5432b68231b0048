#include "ops/verify_network.h"

#include <algorithm>

#include "ops/attributes.h"
#include "ops/op_def.h"

namespace narrow {
namespace {

Status check_node(const Graph& graph, const Node& node) {
  const OpDef* op = find_op(node.op);
  if (op == nullptr || op->infer == nullptr) return error("the operator is unknown");
  NARROW_TRY(check_operands(graph, node));
  const std::vector<TensorType> types = NARROW_TRY(op->infer(graph, node));
  if (types.size() < node.outputs.size()) return error("it has {} outputs, wanted {}", node.outputs.size(), types.size());
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Value& declared = graph.value(node.outputs[i]);
    if (types[i] == TensorType{declared.dtype, declared.shape}) continue;
    return error("'{}' is declared {}{}, the operator gives {}{}", declared.name, name_of(declared.dtype), to_string(declared.shape), name_of(types[i].dtype), to_string(types[i].shape));
  }
  return {};
}

}  // namespace

Status check_operands(const Graph& graph, const Node& node) {
  const OpDef& op = op_of(node);
  for (std::size_t i = 0; i < op.min_inputs; ++i) {
    if (i >= node.inputs.size() || !node.inputs[i]) return error("input {} is missing", i);
  }
  for (std::size_t i = 0; i < std::min(op.real_inputs, node.inputs.size()); ++i) {
    if (node.inputs[i] && graph.value(node.inputs[i]).dtype != DType::kF32) return error("input {} is {}, wanted f32", i, name_of(graph.value(node.inputs[i]).dtype));
  }
  return check_attributes(node.attrs);
}

Status verify_network(const Graph& graph) {
  for (const auto* borders : {&graph.inputs(), &graph.outputs()}) {
    for (const ValueId id : *borders) {
      const Value& v = graph.value(id);
      if (v.quant && (v.quant->dtype != v.dtype || v.quant->per_channel()) && !v.is_constant()) return error("'{}' is {}, which its scale does not fit", v.name, name_of(v.dtype));
    }
  }
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    auto status = check_node(graph, node);
    if (!status) return tl::unexpected<Error>(std::move(status.error()).in(fmt::format("node '{}' ({})", node.name, node.op)));
  }
  return {};
}

}  // namespace narrow
