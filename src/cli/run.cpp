#include <filesystem>

#include "base/file.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/networks.h"
#include "data/npz.h"
#include "lower/lower.h"
#include "lower/qdq.h"
#include "data/sample_stream.h"
#include "measure/top_k.h"
#include "plan/plan.h"
#include "tensor/npy.h"

namespace narrow::cli {
namespace {

// The network in the wanted arithmetic. A model becomes fake-quantized or integer by a plan; an artifact is integer already.
Result<Graph> in_mode(const RunCommand& command, const Network& network, Diagnostics& diagnostics) {
  const std::string mode = !command.mode.empty() ? command.mode : network.integer ? "int" : "float";
  if (network.integer) {
    if (mode == "int") return network.graph;
    return error("'{}' is an artifact and holds integers only; mode '{}' needs the model", command.network, mode).with_help("narrow run MODEL --mode fake --plan OUT.plan").with_exit_code(ExitCode::kUsage);
  }
  if (mode == "float") return network.graph;
  if (command.plan.empty()) return error("mode '{}' of a model needs a plan", mode).with_help("--plan OUT.plan, as `narrow compile` writes it").with_exit_code(ExitCode::kUsage);
  Plan plan = NARROW_TRY(Plan::from_text(NARROW_TRY(read_file(command.plan)), command.plan));
  const Target target = NARROW_TRY(command.target.empty() ? target_of(plan) : load_target(command.target));
  NARROW_TRY(accept_plan(plan, network.graph, target, diagnostics));
  Graph integer = NARROW_TRY(lower(network.graph, plan, target));
  return mode == "fake" ? build_qdq(network.graph, plan, &integer) : Result<Graph>(std::move(integer));
}

Status check_output(const RunCommand& command, const Graph& graph) {
  if (command.output.empty()) return {};
  const std::string ending = std::filesystem::path(command.output).extension().string();
  if (ending != ".npy" && ending != ".npz") return error("output '{}' ends in '{}', wanted .npy or .npz", command.output, ending).with_exit_code(ExitCode::kUsage);
  if (ending == ".npy" && graph.outputs().size() != 1) {
    return error("output '{}' holds one array, the network has {} outputs", command.output, graph.outputs().size()).with_help("use a name that ends in .npz").with_exit_code(ExitCode::kUsage);
  }
  return check_writable(command.output);
}

// Samples along a new first axis; a batch axis of one is dropped first, so that [1,10] stacks to [N,10].
Tensor stack(const std::vector<Tensor>& parts) {
  Shape shape = parts[0].shape();
  if (!shape.empty() && shape[0] == 1) shape.erase(shape.begin());
  shape.insert(shape.begin(), static_cast<std::int64_t>(parts.size()));
  Tensor all(parts[0].dtype(), shape);
  auto* to = static_cast<std::byte*>(all.raw());
  for (const Tensor& part : parts) {
    std::copy_n(static_cast<const std::byte*>(part.raw()), part.bytes(), to);
    to += part.bytes();
  }
  return all;
}

Json numbers(const Tensor& tensor) {
  Json array = Json::array();
  const Tensor real = tensor.cast(DType::kF32);
  for (const float x : real.span<float>()) array.push_back(static_cast<double>(x));
  return array;
}

std::string brief(const Tensor& tensor) {
  const Tensor real = tensor.cast(DType::kF32);
  const std::span<const float> values = real.span<float>();
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 8); ++i) text += (i == 0 ? "" : " ") + fmt::format("{:.5g}", values[i]);
  return values.size() > 8 ? text + " ..." : text;
}

}  // namespace

Status run(const RunCommand& command) {
  Diagnostics diagnostics;
  Progress progress(1, command.common.quiet);
  progress.begin("run");
  const Network network = std::move(NARROW_TRY(load_networks({command.network}, command.shapes, diagnostics))[0]);
  const Graph graph = NARROW_TRY(in_mode(command, network, diagnostics));
  NARROW_TRY(check_output(command, graph));
  const Recipe recipe = NARROW_TRY(recipe_for(command.data, {&network}));
  const auto dataset = NARROW_TRY(open_data(command.data, graph, recipe));
  if (!command.output.empty()) {
    std::vector<std::string> inputs = dataset->files();
    inputs.insert(inputs.end(), {command.network, command.plan, command.target, command.data.recipe});
    inputs.insert(inputs.end(), command.data.paths.begin(), command.data.paths.end());
    NARROW_TRY(check_not_input(command.output, inputs));
  }
  NARROW_TRY(look_at(*dataset, {&network}, recipe, progress, diagnostics));
  print_diagnostics(diagnostics, command.common);

  Executor executor(graph);
  Diagnostics unread;
  std::int64_t samples = 0;
  std::vector<std::vector<Tensor>> outputs(graph.outputs().size());
  Json json = Json::array();
  Table table({{"sample"}, {"output"}, {"shape"}, {"largest at", Align::kRight}, {"values"}});
  for (SampleStream stream(*dataset, 0, dataset->size()); !stream.done();) {
    NARROW_TRY(check_cancelled());
    const std::int64_t index = stream.index();
    const Result<Sample> sample = stream.next();
    if (!sample) {
      warn_left_out(*dataset, index, sample.error(), unread);
      continue;
    }
    const std::vector<Tensor> found = NARROW_TRY(run_real(executor, sample->inputs));
    ++samples;
    Json entry = Json::object();
    entry["sample"] = sample->name;
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::string& name = graph.value(graph.outputs()[k]).name;
      if (!command.output.empty()) outputs[k].push_back(found[k]);
      if (command.common.json) entry["outputs"][name] = numbers(found[k]);
      else table.add_row({std::filesystem::path(sample->name).filename().string(), name, to_string(found[k].shape()), fmt::format("{}", argmax(found[k].cast(DType::kF32).span<float>())), brief(found[k])});
    }
    if (command.common.json) json.push_back(std::move(entry));
    progress.step(stream.index(), dataset->size(), "samples");
  }
  progress.end(counted(samples, "sample"));
  print_diagnostics(unread, command.common);
  if (samples == 0) return error("none of the {} samples could be read", dataset->size()).with_help("check --data");
  const std::string count = counted(samples, "sample") + (samples < dataset->size() ? fmt::format(", {} left out", dataset->size() - samples) : "");
  if (!command.output.empty()) {
    NamedTensors named;
    for (std::size_t k = 0; k < outputs.size(); ++k) named.emplace_back(graph.value(graph.outputs()[k]).name, stack(outputs[k]));
    NARROW_TRY(command.output.ends_with(".npy") ? write_npy(command.output, named[0].second) : write_npz(command.output, named));
    return command.common.json ? print_result(json.dump() + "\n") : print_result(fmt::format("wrote {}: {}\n", command.output, count));
  }
  return print_result(command.common.json ? json.dump() + "\n" : table.to_string());
}

}  // namespace narrow::cli
