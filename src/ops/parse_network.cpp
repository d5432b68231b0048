#include "ops/parse_network.h"

#include "base/text.h"
#include "ops/op_def.h"

namespace narrow {

Result<Graph> parse_network(std::string_view text, ParseOptions options) {
  options.infer = [](Graph& graph, NodeId id, bool typed) -> Status {
    const Node& node = graph.node(id);
    const OpDef* op = find_op(node.op);
    if (op == nullptr) {
      std::vector<std::string> names;
      for (const OpDef* known : all_ops()) names.emplace_back(known->name);
      return error("unknown operator '{}'", node.op).with_help(did_you_mean(node.op, names));
    }
    for (std::size_t i = 0; i < op->min_inputs; ++i) {
      if (i >= node.inputs.size() || !node.inputs[i]) return error("input {} of '{}' is missing, at least {} are wanted", i, node.op, op->min_inputs);
    }
    if (op->infer != nullptr) return infer_node(graph, id);
    if (typed) return {};
    return error("the types of '{}' cannot be inferred", node.op).with_help("write them: %name: u8[...]");
  };
  return parse_graph(text, options);
}

}  // namespace narrow
