#include "compile/products.h"

#include <filesystem>

#include "artifact/artifact.h"
#include "base/file.h"
#include "lower/qdq.h"
#include "model/export_onnx.h"
#include "report/html.h"

namespace narrow {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> all_paths(const ProductPaths& paths) { return {paths.artifact, paths.qdq, paths.plan, paths.report, paths.page}; }

}  // namespace

std::string product_stem(const std::string& output) {
  constexpr std::string_view kEnding = ".narrow";
  return output.size() > kEnding.size() && output.ends_with(kEnding) ? output.substr(0, output.size() - kEnding.size()) : output;
}

ProductPaths product_paths(const std::string& output) {
  const std::string stem = product_stem(output);
  return {stem + ".narrow", stem + ".qdq.onnx", stem + ".plan", stem + ".report.json", stem + ".html"};
}

std::string product_at(const std::string& file) {
  std::error_code code;
  const ProductPaths paths = product_paths(file);
  for (const std::string& path : {file, paths.artifact, paths.plan}) {
    if (fs::is_regular_file(path, code)) return path;
  }
  return file;
}

Status check_products_writable(const std::string& output, std::span<const std::string> inputs) {
  const fs::path stem(product_stem(output));
  if (stem.filename().empty() || stem.filename() == "." || stem.filename() == "..") {
    return error("output '{}' has no file name, wanted OUT of OUT.narrow, OUT.plan ...", output).with_help(fmt::format("for example -o {}", (stem.parent_path() / "net").string()));
  }
  NARROW_TRY(check_products_apart(output, inputs));
  for (const std::string& path : all_paths(product_paths(output))) NARROW_TRY(check_writable(path));
  return {};
}

Status check_products_apart(const std::string& output, std::span<const std::string> inputs) {
  for (const std::string& path : all_paths(product_paths(output))) NARROW_TRY(check_not_input(path, inputs));
  return {};
}

std::string pack(const CompileResult& result, const std::string& model) {
  Json report = result.report;
  report["times"] = Json::array();  // the same on every run
  report["size"]["artifact_bytes"] = 0;  // the reader knows
  return artifact_bytes({.model = model,
                         .target = result.target.name,
                         .arithmetic = std::string(name_of(result.target.arithmetic.rounding)),
                         .target_hash = result.target.hash(),
                         .float_graph_hash = result.graph.hash(),
                         .plan_hash = result.plan.hash(),
                         .recipe = result.recipe_text,
                         .extra = {},
                         .plan = result.plan.to_text(),
                         .report = report.dump(),
                         .graph = result.network});
}

Status write_products(const CompileResult& result, const std::string& artifact, const std::string& output) {
  const ProductPaths paths = product_paths(output);
  StagedFiles files;
  NARROW_TRY(files.write(paths.artifact, artifact));
  NARROW_TRY(files.write(paths.qdq, NARROW_TRY(onnx_bytes(NARROW_TRY(build_qdq(result.graph, result.plan, &result.network))))));
  NARROW_TRY(files.write(paths.plan, result.plan.to_text()));
  NARROW_TRY(files.write(paths.report, result.report.dump() + "\n"));
  NARROW_TRY(files.write(paths.page, report_html(result.report)));
  return files.commit();
}

}  // namespace narrow
