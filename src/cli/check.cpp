#include "base/json.h"
#include "base/table.h"
#include "cli/networks.h"
#include "ops/op_def.h"
#include "plan/plan.h"

namespace narrow::cli {
namespace {

struct Verdict {
  bool integer = true;
  std::string how;  // "i8", or why not
};

// Before any data: the operator's rule, the target, the recipe.
Verdict judge(const Graph& graph, const Node& node, const Target& target) {
  const OpDef& op = op_of(node);
  if (op.quant_rule == nullptr) return {false, "the operator has no integer form"};
  if (graph.value(node.outputs[0]).dtype != DType::kF32) return {true, std::string(name_of(graph.value(node.outputs[0]).dtype))};
  const QuantRule rule = op.quant_rule(graph, node);
  if (!rule.unquantized.empty()) return {false, rule.unquantized};
  const Target::Answer answer = target.supports(node.op, target.activations[0]);
  if (!answer.yes) return {false, answer.reason};
  return {true, rule.follows_input ? "as its input" : std::string(name_of(target.activations[0]))};
}

}  // namespace

Status run(const CheckCommand& command) {
  Diagnostics diagnostics;
  const Recipe recipe = command.recipe.empty() ? Recipe{} : NARROW_TRY(load_recipe(command.recipe));
  const Target target = NARROW_TRY(load_target(command.target));
  const Graph graph = NARROW_TRY(load_float_graph(command.model, command.shapes, diagnostics));
  print_diagnostics(diagnostics, command.common);
  Json json = Json::object();
  json["model"] = command.model;
  json["target"] = target.name;
  Json layers = Json::array();
  Table table({{"layer"}, {"type"}, {"output"}, {"runs as"}});
  std::int64_t integer = 0;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const Verdict verdict = judge(graph, node, target);
    integer += verdict.integer ? 1 : 0;
    const std::string shape = to_string(graph.value(node.outputs[0]).shape);
    table.add_row({node.name, node.op, shape, (verdict.integer ? "" : "float: ") + verdict.how});
    Json entry = Json::object();
    entry["name"] = node.name;
    entry["op"] = node.op;
    entry["shape"] = shape;
    entry["integer"] = verdict.integer;
    entry[verdict.integer ? "dtype" : "reason"] = verdict.how;
    layers.push_back(std::move(entry));
  }
  json["integer"] = integer;
  json["layers"] = std::move(layers);
  if (command.common.json) return print_result(json.dump() + "\n");
  return print_result(table.to_string() + fmt::format("{}/{} layers integer on {}\n", integer, graph.order().size(), target.name));
}

}  // namespace narrow::cli
