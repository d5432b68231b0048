// Is a tree that was read from a file what its readers rely on? They ask for some members without looking, and cut counts to integers.
#include <span>

#include "report/json.h"

namespace narrow {
namespace {

enum class Kind { kMap, kList, kText, kFlag, kCount };

std::string_view name_of(Kind kind) {
  constexpr std::string_view kNames[] = {"a map", "a list", "a string", "true or false", "a whole number"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool is(const Json& json, Kind kind) {
  switch (kind) {
    case Kind::kMap: return json.is_object();
    case Kind::kList: return json.is_array();
    case Kind::kText: return json.is_string();
    case Kind::kFlag: return json.is_bool();
    case Kind::kCount: return json.is_int();
  }
  return false;
}

// "a.b": member b of a; "[]": every item of a list, which stands before; "a?": a may be absent.
struct Part {
  std::string_view path;
  Kind kind;
};
using enum Kind;

constexpr Part kReport[] = {
    {"model", kMap},           {"model.file", kText},         {"target", kText},           {"recipe", kText},        {"calibrated_on", kCount},  {"data", kList},
    {"coverage", kMap},        {"coverage.layers", kCount},   {"coverage.integer", kCount}, {"coverage.float", kList}, {"coverage.float[]", kMap},
    {"accuracy", kMap},        {"accuracy.samples", kCount},  {"accuracy.outputs", kList}, {"accuracy.outputs[]", kMap}, {"accuracy.outputs[].lost?", kCount}, {"accuracy.outputs[].same_argmax?", kCount},
    {"layers", kList},         {"layers[]", kMap},            {"layers[].integer", kFlag}, {"layers[].moves", kFlag}, {"layers[].isolated", kMap}, {"layers[].cumulative", kMap}, {"layers[].output?", kMap},
    {"histograms", kList},     {"findings", kList},           {"findings[]", kMap},        {"findings[].helps?", kFlag},
    {"tried?", kMap},          {"tried?.samples", kCount},    {"tried?.points", kList},    {"tried?.points[]", kText},
    {"initiative", kList},     {"initiative[]", kText},       {"warnings", kList},         {"warnings[]", kText},
    {"size", kMap},            {"times", kList},              {"times[]", kMap}};

constexpr Part kComparison[] = {{"samples", kCount}, {"outputs", kList}, {"outputs[]", kMap}, {"layers", kList}, {"layers[]", kMap}};

std::string shown(std::string_view path) {
  std::string text(path);
  std::erase(text, '?');
  return text;
}

// `rest` of the part's path leads on from `json`.
Status check(const Json& json, std::string_view rest, const Part& part, const std::string& whole) {
  if (rest.empty()) {
    if (is(json, part.kind)) return {};
    return error("in {}, '{}' is a {}, wanted {}", whole, shown(part.path), json.kind(), name_of(part.kind)).at(json.where);
  }
  if (rest.starts_with("[]")) {
    for (const Json& item : json.items()) NARROW_TRY(check(item, rest.substr(2), part, whole));
    return {};
  }
  if (rest.starts_with('.')) rest.remove_prefix(1);
  const std::string_view key = rest.substr(0, rest.find_first_of(".[?"));
  rest.remove_prefix(key.size());
  const bool optional = rest.starts_with('?');
  if (optional) rest.remove_prefix(1);
  const Json* member = json.find(key);
  if (member != nullptr) return check(*member, rest, part, whole);
  if (optional) return {};
  return error("{} lacks '{}'", whole, shown(part.path)).at(json.where);
}

Status check_all(const Json& json, std::span<const Part> parts, const std::string& whole, const char* help) {
  for (const Part& part : parts) {
    Status status = check(json, part.path, part, whole);
    if (!status) return tl::unexpected<Error>(std::move(status.error()).with_help(help));
  }
  return {};
}

}  // namespace

Status verify_report(const Json& json, const std::string& file) {
  const Json* format = json.find("narrow_report");
  if (format == nullptr || !format->is_int()) {
    return error("'{}' is not a narrow report", file).with_help("`narrow compile` writes OUT.report.json beside its other products");
  }
  if (format->as_int() != kReportFormat) return error("report '{}' has format {}, this program reads {}", file, format->as_int(), kReportFormat).with_help("compile the model again");
  return check_all(json, kReport, fmt::format("report '{}'", file), "compile the model again");
}

Status verify_comparison(const Json& json, const std::string& file) { return check_all(json, kComparison, fmt::format("comparison '{}'", file), "compare again"); }

}  // namespace narrow
