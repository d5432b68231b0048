#include <algorithm>

#include "artifact/artifact.h"
#include "base/file.h"
#include "base/json.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/networks.h"
#include "compile/products.h"
#include "data/npz.h"
#include "graph/text.h"
#include "plan/plan.h"
#include "recipe/recipe.h"
#include "report/json.h"
#include "report/summary.h"
#include "target/target.h"
#include "tensor/npy.h"

namespace narrow::cli {
namespace {

std::string quant_text(const Value& v) { return v.quant ? v.quant->to_string() : std::string(); }

Json graph_json(const Graph& graph, bool layers) {
  Json json = Json::object();
  json["name"] = graph.name;
  const auto list = [&](const std::vector<ValueId>& ids) {
    Json array = Json::array();
    for (const ValueId id : ids) {
      const Value& v = graph.value(id);
      Json entry = Json::object();
      entry["name"] = v.name;
      entry["dtype"] = name_of(v.dtype);
      entry["shape"] = to_string(v.shape);
      if (v.quant) entry["params"] = quant_text(v);
      array.push_back(std::move(entry));
    }
    return array;
  };
  json["inputs"] = list(graph.inputs());
  json["outputs"] = list(graph.outputs());
  json["nodes"] = static_cast<std::int64_t>(graph.order().size());
  if (!layers) return json;
  Json nodes = Json::array();
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    Json entry = Json::object();
    entry["name"] = node.name;
    entry["op"] = node.op;
    entry["outputs"] = list(node.outputs);
    Json origin = Json::array();
    for (const std::string& name : node.origin) origin.push_back(name);
    entry["origin"] = std::move(origin);
    nodes.push_back(std::move(entry));
  }
  json["layers"] = std::move(nodes);
  return json;
}

std::string graph_text(const Graph& graph, bool layers) {
  std::string text;
  for (const auto& [what, ids] : {std::pair{"input", graph.inputs()}, std::pair{"output", graph.outputs()}}) {
    for (const ValueId id : ids) {
      const Value& v = graph.value(id);
      text += fmt::format("{:<9} {} {}{} {}", what, printable(v.name), name_of(v.dtype), to_string(v.shape), quant_text(v));
      text.erase(text.find_last_not_of(' ') + 1);
      text += "\n";
    }
  }
  double bytes = 0;
  for (const ValueId id : graph.live_values()) bytes += graph.value(id).is_constant() ? static_cast<double>(graph.value(id).constant.bytes()) : 0;
  text += fmt::format("nodes     {}\nconstants {}\n", graph.order().size(), human_bytes(bytes));
  Table table({{"layer"}, {"type"}, {"output"}, {"params"}, {"from"}});
  std::map<std::string, int> kinds;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const Value& v = graph.value(node.outputs[0]);
    ++kinds[node.op];
    table.add_row({node.name, node.op, fmt::format("{}{}", name_of(v.dtype), to_string(v.shape)), quant_text(v), join(node.origin, ", ")});
  }
  if (layers) return text + "\n" + table.to_string();
  std::vector<std::string> counts;
  for (const auto& [op, count] : kinds) counts.push_back(fmt::format("{} {}", op, count));
  return text + fmt::format("types     {}\n(--layers lists every one)\n", join(counts, ", "));
}

Status show(const InspectCommand& command, const std::string& kind, Json json, const std::string& text) {
  if (!command.common.json) return print_result(fmt::format("{}: {}\n{}", command.file, kind, text));
  Json out = Json::object();
  out["file"] = command.file;
  out["kind"] = kind;
  for (const auto& [key, value] : json.members()) out[key] = value;
  return print_result(out.dump() + "\n");
}

Status show_artifact(const InspectCommand& command) {
  const Artifact artifact = NARROW_TRY(read_artifact(command.file));
  const ArtifactContents& c = artifact.contents;
  Json json = graph_json(c.graph, command.layers);
  json["model"] = c.model;
  json["target"] = c.target;
  json["arithmetic"] = c.arithmetic;
  json["bytes"] = artifact.file_bytes;
  json["hash"] = fmt::format("{:016x}", artifact.hash);
  json["network_hash"] = fmt::format("{:016x}", c.graph.hash());  // without what samples showed
  json["plan_hash"] = fmt::format("{:016x}", c.plan_hash);
  Table sections({{"section"}, {"bytes", Align::kRight}, {"checksum"}});
  for (const ArtifactSection& section : artifact.sections) sections.add_row({section.name, fmt::format("{}", section.bytes), fmt::format("{:016x}", section.hash)});
  return show(command, "artifact", json,
              fmt::format("model     {}\ntarget    {} ({})\nsize      {}\nhash      {:016x} (network {:016x})\n", c.model, c.target, c.arithmetic, human_bytes(static_cast<double>(artifact.file_bytes)), artifact.hash,
                          c.graph.hash()) +
                  graph_text(c.graph, command.layers) + "\n" + sections.to_string());
}

Status show_arrays(const InspectCommand& command, const std::string& kind, const NamedTensors& arrays) {
  Json json = Json::object(), list = Json::array();
  Table table({{"array"}, {"type"}, {"min", Align::kRight}, {"max", Align::kRight}});
  for (const auto& [name, tensor] : arrays) {
    const Tensor real = tensor.cast(DType::kF32);
    const std::span<const float> values = real.span<float>();
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    const bool some = !values.empty();
    table.add_row({name, fmt::format("{}{}", name_of(tensor.dtype()), to_string(tensor.shape())), some ? fmt::format("{:.6g}", *low) : "", some ? fmt::format("{:.6g}", *high) : ""});
    Json entry = Json::object();
    entry["name"] = name;
    entry["dtype"] = name_of(tensor.dtype());
    entry["shape"] = to_string(tensor.shape());
    if (some) entry["min"] = static_cast<double>(*low);
    if (some) entry["max"] = static_cast<double>(*high);
    list.push_back(std::move(entry));
  }
  json["arrays"] = std::move(list);
  return show(command, kind, json, table.to_string());
}

Status show_json(const InspectCommand& command, const std::string& text) {
  const Json json = NARROW_TRY(parse_json(text, command.file));
  if (json.find("narrow_report") != nullptr) {
    NARROW_TRY(verify_report(json, command.file));
    return show(command, "report", json, summary_text(json));
  }
  if (json.find("narrow_stats") != nullptr) {
    const Stats stats = NARROW_TRY(Stats::from_json(json));
    Table table({{"value"}, {"min", Align::kRight}, {"max", Align::kRight}, {"channels", Align::kRight}, {"elements", Align::kRight}});
    for (const ValueStats& v : stats.values) table.add_row({v.value, fmt::format("{:.6g}", v.min), fmt::format("{:.6g}", v.max), fmt::format("{}", v.channel_min.size()), fmt::format("{}", v.elements)});
    return show(command, "statistics", json, fmt::format("samples   {}\n", stats.samples) + table.to_string());
  }
  if (json.find("narrow_comparison") != nullptr) return show(command, "comparison", json, NARROW_TRY(comparison_text(json, command.file)));
  return error("'{}' is JSON, but neither a report nor statistics nor a comparison of narrow", command.file).with_help("give OUT.report.json, or 3-calibrate.stats or 6-compare.json of --dump-dir");
}

Status unknown(const InspectCommand& command) {
  return error("'{}' is no file that narrow knows", command.file).with_help("give a model (.onnx), an artifact, a plan, a report (.json), statistics, a target or recipe (.yaml), a graph or an array (.npy, .npz)");
}

// Text files: a plan, a graph, else YAML of a target or a recipe.
Status show_text(const InspectCommand& command, const std::string& text) {
  if (trim(text).starts_with("graph ")) {
    const Graph graph = NARROW_TRY(parse_graph(text, {.file = command.file, .elided = true}));
    return show(command, "graph", graph_json(graph, command.layers), graph_text(graph, command.layers));
  }
  if (const Result<Plan> plan = Plan::from_text(text, command.file)) {
    Json json = Json::object();
    json["target"] = plan->target;
    json["activations"] = static_cast<std::int64_t>(plan->activations.size());
    json["constants"] = static_cast<std::int64_t>(plan->constants.size());
    json["islands"] = static_cast<std::int64_t>(plan->islands.size());
    return show(command, "plan", json,
                fmt::format("target    {}\ncontents  {} activations, {} constants, {} float islands\nhash      {:016x}\n(`narrow explain {}` lists them)\n", plan->target, plan->activations.size(),
                            plan->constants.size(), plan->islands.size(), plan->hash(), command.file));
  } else if (trim(text).starts_with("plan")) {
    return tl::unexpected<Error>(plan.error());
  }
  if (const Result<Target> target = parse_target(text, command.file)) {
    Json json = Json::object();
    json["name"] = target->name;
    json["summary"] = target->summary;
    return show(command, "target", json, fmt::format("name      {}\nsummary   {}\n", target->name, target->summary));
  }
  const Result<Recipe> parsed = parse_recipe(text, command.file);
  const bool named_yaml = command.file.ends_with(".yaml") || command.file.ends_with(".yml");
  if (!parsed) return named_yaml ? tl::unexpected<Error>(parsed.error()) : unknown(command);
  const Recipe& recipe = *parsed;
  Json json = Json::object();
  json["inputs"] = static_cast<std::int64_t>(recipe.inputs.size());
  json["layers"] = static_cast<std::int64_t>(recipe.layers.size());
  return show(command, "recipe", json,
              fmt::format("target    {}\ninputs    {}\nlayers    {}\nsamples   {}\n", recipe.target.empty() ? "(default)" : recipe.target, recipe.inputs.size(), recipe.layers.size(), recipe.samples));
}

bool is_text(std::string_view bytes) {
  return !bytes.empty() && std::none_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(bytes.size(), 4096)), [](char c) {
    return static_cast<unsigned char>(c) < 9 || c == 0x7f || (static_cast<unsigned char>(c) > 13 && static_cast<unsigned char>(c) < 32);
  });
}

}  // namespace

Status run(const InspectCommand& asked) {
  InspectCommand command = asked;
  command.file = product_at(asked.file);
  if (is_artifact(command.file)) return show_artifact(command);
  const std::string bytes = NARROW_TRY(read_file(command.file));
  if (bytes.starts_with("\x93NUMPY")) return show_arrays(command, "array", {{"array", NARROW_TRY(read_npy(command.file))}});
  if (bytes.starts_with("PK")) return show_arrays(command, "arrays", NARROW_TRY(read_npz(command.file)));
  if (is_text(bytes)) return trim(bytes).starts_with("{") ? show_json(command, bytes) : show_text(command, bytes);
  Diagnostics diagnostics;
  if (bytes.starts_with("\x89PNG") || bytes.starts_with("\xff\xd8\xff") || bytes.starts_with("BM")) return unknown(command);
  const Graph graph = NARROW_TRY(load_float_graph(command.file, {}, diagnostics));
  print_diagnostics(diagnostics, command.common);
  return show(command, "model", graph_json(graph, command.layers), graph_text(graph, command.layers));
}

}  // namespace narrow::cli
