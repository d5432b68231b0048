#include <filesystem>

#include "artifact/artifact.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/networks.h"
#include "compile/products.h"
#include "report/html.h"
#include "report/json.h"

namespace narrow::cli {
namespace {

// OUT, OUT.narrow or OUT.report.json; the saved report is preferred, it also knows the times.
Result<Json> read_report(const std::string& file, std::string& source, std::string& page) {
  const ProductPaths paths = product_paths(file);
  page = paths.page;
  source = file;
  if (file.ends_with(".report.json")) page = product_paths(file.substr(0, file.size() - std::string(".report.json").size())).page;
  else if (std::filesystem::exists(paths.report)) source = paths.report;
  else if (std::filesystem::exists(paths.artifact)) source = paths.artifact;
  std::string text;
  std::uint64_t bytes = 0;
  if (is_artifact(source)) {
    const Artifact artifact = NARROW_TRY(read_artifact(source));
    text = artifact.contents.report;
    bytes = artifact.file_bytes;
    if (text.empty()) return error("artifact '{}' carries no report", source).with_help("compile the model again");
  } else {
    text = NARROW_TRY(read_file(source));
  }
  if (!trim(text).starts_with("{")) return error("'{}' is not a narrow report", source).with_help("`narrow compile MODEL -o OUT` writes OUT.report.json");
  Json report = NARROW_TRY(parse_json(text, source));
  NARROW_TRY(verify_report(report, source));
  if (bytes > 0) report["size"]["artifact_bytes"] = bytes;
  return report;
}

}  // namespace

Status run(const ReportCommand& command) {
  std::string source, page;
  const Json report = NARROW_TRY(read_report(command.file, source, page));
  if (command.common.json) return print_result(report.dump() + "\n");
  if (!command.output.empty()) page = command.output;
  const ProductPaths paths = product_paths(command.file);  // what OUT stands for is not to be lost either
  NARROW_TRY(check_not_input(page, std::vector<std::string>{command.file, source, paths.artifact, paths.report, paths.plan, paths.qdq}));
  NARROW_TRY(write_file(page, report_html(report)));
  return print_result(fmt::format("wrote {}\n", page));
}

}  // namespace narrow::cli
