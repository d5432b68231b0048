#include "ops/op_def.h"

#include "base/json.h"
#include "base/table.h"
#include "cli/networks.h"

namespace narrow::cli {

Status run(const OpsCommand& command) {
  Json json = Json::array();
  Table table({{"operator"}, {"opsets"}, {"float"}, {"integer"}, {"summary"}});
  for (const OpDef* op : all_ops()) {
    if (!is_float_op(*op)) continue;
    const bool integer = op->quant_rule != nullptr, rewritten = is_rewritten(*op);
    table.add_row({std::string(op->name), op->onnx ? fmt::format("{}-{}", op->since_opset, kNewestOpset) : "none", "yes", integer ? "yes" : rewritten ? "rewritten" : "no", std::string(op->summary)});
    Json entry = Json::object();
    entry["name"] = op->name;
    entry["onnx"] = op->onnx;
    if (op->onnx) {
      entry["since_opset"] = op->since_opset;
      entry["until_opset"] = kNewestOpset;
    }
    entry["integer"] = integer;
    entry["rewritten"] = rewritten;
    entry["summary"] = op->summary;
    json.push_back(std::move(entry));
  }
  return print_result(command.common.json ? json.dump() + "\n" : table.to_string());
}

}  // namespace narrow::cli
