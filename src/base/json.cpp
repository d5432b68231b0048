#include "base/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace narrow {
namespace {

Json from_nlohmann(const nlohmann::ordered_json& node) {
  switch (node.type()) {
    case nlohmann::ordered_json::value_t::boolean: return node.get<bool>();
    case nlohmann::ordered_json::value_t::number_integer:
    case nlohmann::ordered_json::value_t::number_unsigned: return node.get<std::int64_t>();
    case nlohmann::ordered_json::value_t::number_float: return node.get<double>();
    case nlohmann::ordered_json::value_t::string: return node.get<std::string>();
    case nlohmann::ordered_json::value_t::array: {
      Json out = Json::array();
      for (const auto& item : node) out.push_back(from_nlohmann(item));
      return out;
    }
    case nlohmann::ordered_json::value_t::object: {
      Json out = Json::object();
      for (const auto& [key, item] : node.items()) out[key] = from_nlohmann(item);
      return out;
    }
    default: return {};
  }
}

void indent_to(std::string* out, int indent, int depth) {
  if (indent < 0) return;
  *out += '\n';
  out->append(static_cast<std::size_t>(indent * depth), ' ');
}

void write(const Json& node, int indent, int depth, std::string* out) {
  if (node.is_null()) {
    *out += "null";
  } else if (node.is_bool()) {
    *out += node.as_bool() ? "true" : "false";
  } else if (node.is_int()) {
    *out += std::to_string(node.as_int());
  } else if (node.is_number()) {
    *out += std::isfinite(node.as_double()) ? exact(node.as_double()) : "null";
  } else if (node.is_string()) {
    // The library escapes; invalid UTF-8 is replaced rather than refused.
    *out += nlohmann::json(node.as_string()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  } else if (node.is_array()) {
    // Lists of plain numbers stay on one line: they are shapes, scales and histograms.
    bool flat = true;
    for (const Json& item : node.items()) flat = flat && !item.is_array() && !item.is_object();
    *out += '[';
    for (std::size_t i = 0; i < node.items().size(); ++i) {
      if (i > 0) *out += indent >= 0 && flat ? ", " : ",";
      if (!flat) indent_to(out, indent, depth + 1);
      write(node.items()[i], indent, depth + 1, out);
    }
    if (!flat) indent_to(out, indent, depth);
    *out += ']';
  } else {
    *out += '{';
    for (std::size_t i = 0; i < node.members().size(); ++i) {
      if (i > 0) *out += ',';
      indent_to(out, indent, depth + 1);
      write(Json(node.members()[i].first), indent, depth + 1, out);
      *out += indent >= 0 ? ": " : ":";
      write(node.members()[i].second, indent, depth + 1, out);
    }
    if (!node.members().empty()) indent_to(out, indent, depth);
    *out += '}';
  }
}

// Of brackets, those in strings aside.
int nesting(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    else if (in_string) i += c == '\\' ? 1 : 0;
    else if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    else if (c == ']' || c == '}') --depth;
  }
  return deepest;
}

}  // namespace

std::string_view Json::kind() const {
  static constexpr std::string_view kNames[] = {"null", "bool", "number", "number", "string", "list", "map"};
  return kNames[data_.index()];
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const auto& [name, value] : members()) {
    if (name == key) return &value;
  }
  return nullptr;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) data_ = Object{};
  Object& object = std::get<Object>(data_);
  for (auto& [name, value] : object) {
    if (name == key) return value;
  }
  return object.emplace_back(std::string(key), Json()).second;
}

void Json::push_back(Json value) {
  if (is_null()) data_ = Array{};
  std::get<Array>(data_).push_back(std::move(value));
}

std::string Json::dump(int indent) const {
  std::string out;
  write(*this, indent, 0, &out);
  return out;
}

Result<Json> parse_json(std::string_view text, const std::string& name) {
  constexpr int kMaxDepth = 64;  // trees are walked by recursion
  if (nesting(text) > kMaxDepth) return error("'{}' is nested more than {} levels deep", name, kMaxDepth);
  try {
    return from_nlohmann(nlohmann::ordered_json::parse(text));
  } catch (const nlohmann::json::parse_error& e) {
    SourceSpan span{.file = name, .line = 1, .column = 1, .length = 1, .text = {}};
    const std::size_t stop = std::min<std::size_t>(e.byte > 0 ? e.byte - 1 : 0, text.size());
    std::size_t line_begin = 0;
    for (std::size_t i = 0; i < stop; ++i) {
      if (text[i] == '\n') {
        ++span.line;
        line_begin = i + 1;
      }
    }
    span.column = static_cast<int>(stop - line_begin) + 1;
    span.text = std::string(text.substr(line_begin, text.find('\n', line_begin) - line_begin));
    return error("'{}' is not valid JSON", name).at(span).with_help("check brackets, commas and quotes near the mark");
  } catch (const nlohmann::json::exception& e) {
    return error("'{}' is not valid JSON: {}", name, e.what());
  }
}

}  // namespace narrow
