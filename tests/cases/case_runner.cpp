// Runs the text cases of this folder. A file is a list of sections; a section begins with "--- KIND ARGUMENTS".
//
//   passes/*.case   --- graph              a graph in text form; types may be left out
//                   --- passes A, B        which passes run ("all": the whole table)
//                   --- expect N rewrites, outputs within T    then the graph afterwards; constants with more than 8 elements
//                                          print as "..."; graph outputs on random inputs differ by at most T
//   errors/*.case   --- model FILE         an ONNX file of the folder
//                   --- error              the message of importing it; FOLDER stands for the folder
//
//   case_runner [--update] [NAME...]       names are parts of file names; --update writes what came out as expected
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "graph/text.h"
#include "model/import.h"
#include "ops/op_def.h"
#include "passes/passes.h"
#include "run/executor.h"

namespace narrow {
namespace {

namespace fs = std::filesystem;

struct Section {
  std::string kind, arguments, text;  // the text ends with a newline
};
struct Case {
  std::string title;  // what stands before the first section
  std::vector<Section> sections;
  Section* find(std::string_view kind) {
    const auto it = std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.kind == kind; });
    return it == sections.end() ? nullptr : &*it;
  }
};

Case parse_case(const std::string& text) {
  Case out;
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with("--- ")) {
      const std::string head(trim(line.substr(4)));
      const std::size_t blank = head.find(' ');
      out.sections.push_back({head.substr(0, blank), blank == std::string::npos ? "" : head.substr(blank + 1), ""});
    } else {
      (out.sections.empty() ? out.title : out.sections.back().text) += line + "\n";
    }
  }
  for (Section& s : out.sections) {
    while (s.text.ends_with("\n\n")) s.text.pop_back();
  }
  return out;
}

std::string print_case(const Case& c) {
  std::string out = std::string(trim(c.title)) + "\n";
  for (const Section& s : c.sections) out += "--- " + s.kind + (s.arguments.empty() ? "" : " " + s.arguments) + "\n" + s.text;
  return out;
}

// The printed graph with long constants as "...".
std::string readable(const Graph& graph) {
  std::string text = print_graph(graph, {.max_inline_elements = 8});
  for (std::size_t at = text.find("elided("); at != std::string::npos; at = text.find("elided(", at)) text.replace(at, text.find(')', at) + 1 - at, "...");
  return text;
}

Result<double> output_difference(const Graph& before, const Graph& after) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < before.inputs().size(); ++i) {
    const Value& v = before.value(before.inputs()[i]);
    inputs.push_back(random_constant(v.dtype, v.shape, 1000 + i));
  }
  Executor first(before, {.normative = true}), second(after, {.normative = true});
  const std::vector<Tensor> a = NARROW_TRY(first.run(inputs)), b = NARROW_TRY(second.run(inputs));
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].type() != b[i].type() || before.value(before.outputs()[i]).name != after.value(after.outputs()[i]).name) return error("output {} has another type or name", i);
    if (a[i].dtype() != DType::kF32) continue;
    for (std::int64_t k = 0; k < a[i].elements(); ++k) worst = std::max(worst, std::abs(static_cast<double>(a[i].data<float>()[k]) - static_cast<double>(b[i].data<float>()[k])));
  }
  return worst;
}

// Fills in the expected section; the caller compares.
Status run_passes_case(Case& c, const std::string& file) {
  Section *graph_text = c.find("graph"), *passes = c.find("passes"), *expect = c.find("expect");
  if (graph_text == nullptr || passes == nullptr || expect == nullptr) return error("wants the sections graph, passes and expect");
  const auto infer = [](Graph& graph, NodeId node, bool typed) -> Status { return typed ? Status() : infer_node(graph, node); };
  const Graph before = NARROW_TRY(parse_graph(graph_text->text, {.file = file, .infer = infer}));
  Graph after = before;
  PassOptions options;
  for (const std::string& name : split(passes->arguments, ',')) {
    if (trim(name) != "all") options.only.emplace_back(trim(name));
  }
  std::size_t rewrites = 0;
  for (const PassReport& report : NARROW_TRY(run_passes(after, options))) {
    if (report.name != "dead-code") rewrites += report.rewrites;
  }
  const std::size_t within = expect->arguments.find("within ");
  const std::string tolerance = within == std::string::npos ? "1e-5" : expect->arguments.substr(within + 7);
  const double difference = NARROW_TRY(output_difference(before, after));
  if (!(difference <= std::strtod(tolerance.c_str(), nullptr))) return error("outputs differ by {}, more than {}", difference, tolerance);
  expect->arguments = fmt::format("{} rewrite{}, outputs within {}", rewrites, rewrites == 1 ? "" : "s", tolerance);
  expect->text = readable(after);
  return {};
}

Status run_error_case(Case& c, const fs::path& folder) {
  Section *model = c.find("model"), *expected = c.find("error");
  if (model == nullptr || expected == nullptr) return error("wants the sections model and error");
  Diagnostics diagnostics;
  const auto graph = import_onnx((folder / model->arguments).string(), {}, diagnostics);
  std::string text = graph ? "no error" : graph.error().to_string();
  for (std::size_t at = text.find(folder.string()); at != std::string::npos; at = text.find(folder.string())) text.replace(at, folder.string().size(), "FOLDER");
  expected->text = text + "\n";
  return {};
}

bool run_case(const fs::path& path, bool update) {
  const auto text = read_file(path.string());
  if (!text) return false;
  Case c = parse_case(*text);
  const bool is_error = path.parent_path().filename() == "errors";
  const Status status = is_error ? run_error_case(c, path.parent_path()) : run_passes_case(c, path.filename().string());
  if (!status) {
    std::printf("FAILED %s: %s\n", path.filename().c_str(), status.error().to_string().c_str());
    return false;
  }
  const std::string now = print_case(c), wanted = print_case(parse_case(*text));
  if (now == wanted) return true;
  if (update) {
    if (auto written = write_file(path.string(), now); !written) std::printf("%s\n", written.error().to_string().c_str());
    std::printf("updated %s\n", path.filename().c_str());
    return true;
  }
  std::printf("FAILED %s; it gives now:\n%s\n", path.filename().c_str(), now.c_str());
  return false;
}

}  // namespace
}  // namespace narrow

int main(int argc, char** argv) {
  bool update = false;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--update") update = true;
    else names.emplace_back(argv[i]);
  }
  std::vector<std::filesystem::path> paths;
  for (const char* folder : {"errors", "passes"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(NARROW_CASES) / folder)) {
      if (entry.path().extension() == ".case") paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  int run = 0, failed = 0;
  for (const auto& path : paths) {
    if (!names.empty() && std::none_of(names.begin(), names.end(), [&](const std::string& n) { return path.string().find(n) != std::string::npos; })) continue;
    ++run;
    if (!narrow::run_case(path, update)) ++failed;
  }
  std::printf("%d of %d cases hold\n", run - failed, run);
  return failed == 0 && run > 0 ? 0 : 1;
}
