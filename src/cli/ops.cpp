#include "ops/op_def.h"

#include "base/json.h"
#include "base/table.h"
#include "cli/networks.h"

namespace narrow::cli {

Status run(const OpsCommand& command) {
  Json json = Json::array();
  Table table({{"operator"}, {"opsets"}, {"float"}, {"integer"}, {"summary"}});
  for (const OpDef* op : all_ops()) {
    if (!op->onnx) continue;
    const bool integer = op->quant_rule != nullptr;
    // Without a form of its own (Flatten) it is rewritten to others on import, and an affine one is folded into its neighbours.
    const bool rewritten = !integer && (op->run == nullptr || op->affine != nullptr);
    table.add_row({std::string(op->name), fmt::format("{}-{}", op->since_opset, op->until_opset), "yes", integer ? "yes" : rewritten ? "rewritten" : "no", std::string(op->summary)});
    Json entry = Json::object();
    entry["name"] = op->name;
    entry["since_opset"] = op->since_opset;
    entry["until_opset"] = op->until_opset;
    entry["integer"] = integer;
    entry["rewritten"] = rewritten;
    entry["summary"] = op->summary;
    json.push_back(std::move(entry));
  }
  return print_result(command.common.json ? json.dump() + "\n" : table.to_string());
}

}  // namespace narrow::cli
