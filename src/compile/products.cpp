#include "compile/products.h"

#include <filesystem>
#include <system_error>

#include "artifact/artifact.h"
#include "base/file.h"
#include "lower/qdq.h"
#include "model/export_onnx.h"
#include "report/html.h"

namespace narrow {
namespace {

namespace fs = std::filesystem;

// Files written beside their final places; renamed together, or removed.
class Staging {
 public:
  ~Staging() {
    std::error_code ignored;
    for (const auto& [staged, path] : files_) fs::remove(staged, ignored);
  }
  std::string stage(const std::string& path) {
    const fs::path target(path);
    const std::string staged = (target.parent_path() / ("." + target.filename().string() + ".new")).string();
    files_.emplace_back(staged, path);
    return staged;
  }
  Status commit() {
    for (const auto& [staged, path] : files_) {
      std::error_code code;
      fs::rename(staged, path, code);
      if (code) return error("cannot write '{}': {}", path, code.message()).with_help("choose another output path with -o");
    }
    files_.clear();
    return {};
  }

 private:
  std::vector<std::pair<std::string, std::string>> files_;
};

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

Status check_products_writable(const std::string& output) {
  const fs::path stem(product_stem(output));
  if (stem.filename().empty() || stem.filename() == "." || stem.filename() == "..") {
    return error("output '{}' has no file name, wanted OUT of OUT.narrow, OUT.plan ...", output).with_help(fmt::format("for example -o {}", (stem.parent_path() / "net").string()));
  }
  for (const std::string& path : all_paths(product_paths(output))) NARROW_TRY(check_writable(path));
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
  Staging staging;
  NARROW_TRY(write_file(staging.stage(paths.artifact), artifact));
  NARROW_TRY(export_onnx(NARROW_TRY(build_qdq(result.graph, result.plan, &result.network)), staging.stage(paths.qdq)));
  NARROW_TRY(write_file(staging.stage(paths.plan), result.plan.to_text()));
  NARROW_TRY(write_file(staging.stage(paths.report), result.report.dump() + "\n"));
  NARROW_TRY(write_file(staging.stage(paths.page), report_html(result.report)));
  return staging.commit();
}

}  // namespace narrow
