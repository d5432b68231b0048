#include <algorithm>

#include "base/json.h"
#include "base/table.h"
#include "cli/networks.h"
#include "model/import.h"
#include "ops/op_def.h"
#include "plan/islands.h"
#include "plan/wishes.h"

namespace narrow::cli {
namespace {

struct Verdict {
  bool integer = true;
  std::string how;  // "i8", or why not
};

// What the planner will choose, as far as it can be known before any data.
Verdict verdict(const Graph& graph, const Node& node, const NodeChoice& choice, DType planned) {
  const DType dtype = graph.value(node.outputs[0]).dtype;
  if (dtype != DType::kF32) return {true, std::string(name_of(dtype))};
  if (!choice.integer) return {false, choice.reason};
  return {true, choice.rule.follows_input ? "as its input" : std::string(name_of(planned))};
}

}  // namespace

Status run(const CheckCommand& command) {
  Diagnostics diagnostics;
  const Recipe recipe = command.recipe.empty() ? Recipe{} : NARROW_TRY(load_recipe(command.recipe));
  const std::string& wanted = command.target.empty() ? recipe.target : command.target;
  const Target target = NARROW_TRY(load_target(wanted.empty() ? kDefaultTarget : wanted));
  const Graph graph = NARROW_TRY(load_float_graph(command.model, {.input_shapes = command.shapes}, diagnostics));
  tell_quantized(graph, diagnostics);
  const Wishes wishes = resolve_wishes(graph, recipe);
  NARROW_TRY(check_matched(graph, wishes));
  const DType planned = recipe.activations.value_or(target.activations[0]);
  const std::vector<NodeChoice> choices = choose_islands(graph, wishes, target, planned);
  tell_unheeded(graph, choices, wishes, diagnostics);
  print_diagnostics(diagnostics, command.common);
  Json json = Json::object();
  json["model"] = command.model;
  json["target"] = target.name;
  Json layers = Json::array();
  Table table({{"layer"}, {"type"}, {"output"}, {"runs as"}});
  std::int64_t integer = 0, counted = 0;
  bool joins = false;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const std::optional<Wish<DType>>& wish = wishes.nodes[id.index].activations;
    const Verdict answer = verdict(graph, node, choices[id.index], wish ? wish->value : planned);
    // As in the report, what makes indices and conditions does not count.
    const bool real = graph.value(node.outputs[0]).dtype == DType::kF32;
    counted += real ? 1 : 0;
    integer += real && answer.integer ? 1 : 0;
    joins = joins || (answer.integer && choices[id.index].rule.follows_input && std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId in) { return in && !graph.value(in).is_constant(); }) > 1);
    const std::string shape = to_string(graph.value(node.outputs[0]).shape);
    table.add_row({node.name, node.op, shape, (answer.integer ? "" : "float: ") + answer.how});
    Json entry = Json::object();
    entry["name"] = node.name;
    entry["op"] = node.op;
    entry["shape"] = shape;
    entry["integer"] = answer.integer;
    entry[answer.integer ? "dtype" : "reason"] = answer.how;
    layers.push_back(std::move(entry));
  }
  json["integer"] = integer;
  json["layers"] = std::move(layers);
  if (command.common.json) return print_result(json.dump() + "\n");
  return print_result(table.to_string() + fmt::format("{}/{} layers integer on {}\n", integer, counted, target.name) +
                      (joins ? "(joins of values whose ranges turn out very different may stay float: calibration shows)\n" : ""));
}

}  // namespace narrow::cli
