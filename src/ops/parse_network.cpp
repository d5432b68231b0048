#include "ops/parse_network.h"

#include "base/text.h"
#include "ops/op_def.h"
#include "ops/verify_network.h"

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
    if (auto status = check_operands(graph, node); !status) return tl::unexpected<Error>(std::move(status.error()).in(fmt::format("node '{}' ({})", node.name, node.op)));
    if (op->infer != nullptr) return infer_node(graph, id);
    if (typed) return {};
    return error("the types of '{}' cannot be inferred", node.op).with_help("write them: %name: u8[...]");
  };
  return parse_graph(text, options);
}

}  // namespace narrow
