// Runs a model in float and writes its outputs as raw bytes, for comparison with ONNX Runtime.
//   float_outputs MODEL OUT_DIR [--no-passes] [--text FILE] [--export FILE] INPUT.bin...
// OUT_DIR/K.bin holds output K. Prints one line: the operators that are left, with their counts.
#include <cstdio>
#include <cstring>
#include <map>

#include "base/file.h"
#include "graph/text.h"
#include "model/export_onnx.h"
#include "model/import.h"
#include "ops/op_def.h"
#include "passes/passes.h"
#include "run/executor.h"

namespace narrow {
namespace {

struct Arguments {
  std::string model, folder, text, exported;
  bool passes = true;
  std::vector<std::string> inputs;
};

Status run(const Arguments& arguments) {
  Diagnostics diagnostics;
  Graph graph = NARROW_TRY(import_onnx(arguments.model, {}, diagnostics));
  if (arguments.passes) NARROW_TRY(run_passes(graph));
  if (!arguments.text.empty()) NARROW_TRY(write_file(arguments.text, print_graph(graph, {.max_inline_elements = 16})));
  if (!arguments.exported.empty()) NARROW_TRY(export_onnx(graph, arguments.exported));
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& v = graph.value(graph.inputs()[i]);
    Tensor t(v.dtype, v.shape);
    if (i >= arguments.inputs.size()) return error("input '{}' is missing", v.name);
    const std::string bytes = NARROW_TRY(read_file(arguments.inputs[i]));
    if (bytes.size() != t.bytes()) return error("input '{}' {} has {} bytes, wanted {}", v.name, to_string(v.shape), bytes.size(), t.bytes());
    std::memcpy(t.raw(), bytes.data(), bytes.size());
    inputs.push_back(std::move(t));
  }
  Executor executor(graph);
  const std::vector<Tensor> outputs = NARROW_TRY(executor.run(inputs));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    NARROW_TRY(write_file(fmt::format("{}/{}.bin", arguments.folder, i), std::string_view(static_cast<const char*>(outputs[i].raw()), outputs[i].bytes())));
  }
  std::map<std::string, int> counts;
  for (const NodeId id : graph.order()) ++counts[graph.node(id).op];
  std::string line;
  for (const auto& [op, count] : counts) line += fmt::format("{}{} {}", line.empty() ? "" : ", ", op, count);
  std::printf("%s\n", line.c_str());
  return {};
}

}  // namespace
}  // namespace narrow

int main(int argc, char** argv) {
  narrow::Arguments arguments;
  std::vector<std::string> places;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--no-passes") arguments.passes = false;
    else if (word == "--text" && i + 1 < argc) arguments.text = argv[++i];
    else if (word == "--export" && i + 1 < argc) arguments.exported = argv[++i];
    else places.push_back(word);
  }
  if (places.size() < 2) {
    std::fprintf(stderr, "usage: float_outputs MODEL OUT_DIR [--no-passes] [--text FILE] [--export FILE] INPUT.bin...\n");
    return 2;
  }
  arguments.model = places[0];
  arguments.folder = places[1];
  arguments.inputs.assign(places.begin() + 2, places.end());
  const auto status = narrow::run(arguments);
  if (status) return 0;
  std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  return 1;
}
