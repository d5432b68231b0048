#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/json.h"
#include "base/text.h"

namespace narrow {
namespace {

constexpr int kMaxDepth = 64;        // an alias may name the list it stands in
constexpr int kMaxNodes = 1 << 18;   // aliases of aliases multiply

struct Reader {
  std::vector<std::string> lines;
  std::string name;
  int nodes = 0;

  SourceSpan span(const YAML::Mark& mark, int length = 1) const {
    SourceSpan out{.file = name, .line = mark.line + 1, .column = mark.column + 1, .length = length, .text = {}};
    if (mark.line >= 0 && static_cast<std::size_t>(mark.line) < lines.size()) out.text = lines[static_cast<std::size_t>(mark.line)];
    return out;
  }

  static Json scalar(const YAML::Node& node) {
    const std::string& text = node.Scalar();
    if (node.Tag() == "!") return text;  // quoted
    if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
    std::int64_t integer = 0;
    const char* begin = text.data() + (text[0] == '+' ? 1 : 0);
    const char* end = text.data() + text.size();
    if (const auto r = std::from_chars(begin, end, integer); r.ec == std::errc() && r.ptr == end) return integer;
    if (text == ".inf" || text == ".Inf") return std::numeric_limits<double>::infinity();
    if (text == "-.inf") return -std::numeric_limits<double>::infinity();
    if (text == ".nan" || text == ".NaN") return std::numeric_limits<double>::quiet_NaN();
    double real = 0;
    const bool looks_like_number = (*begin >= '0' && *begin <= '9') || *begin == '-' || *begin == '.';
    if (const auto r = std::from_chars(begin, end, real); looks_like_number && r.ec == std::errc() && r.ptr == end) return real;
    return text;
  }

  Result<Json> convert(const YAML::Node& node, int depth = 0) {
    if (depth > kMaxDepth || ++nodes > kMaxNodes) {
      return error("'{}' {}", name, depth > kMaxDepth ? "is nested too deeply, or holds itself" : "becomes too large when its aliases are filled in").at(span(node.Mark())).with_help("write it without '&' and '*'");
    }
    Json out;
    if (node.IsScalar()) {
      out = scalar(node);
    } else if (node.IsSequence()) {
      out = Json::array();
      for (const YAML::Node& item : node) out.push_back(NARROW_TRY(convert(item, depth + 1)));
    } else if (node.IsMap()) {
      out = Json::object();
      for (const auto& member : node) {
        if (!member.first.IsScalar()) return error("a key of a map must be a plain word").at(span(member.first.Mark()));
        const std::string& key = member.first.Scalar();
        if (out.find(key) != nullptr) {
          return error("key '{}' stands twice in the same map", key)
              .at(span(member.first.Mark(), static_cast<int>(key.size())))
              .with_help("remove one of the two");
        }
        Json value = NARROW_TRY(convert(member.second, depth + 1));
        value.key_where = std::make_shared<SourceSpan>(span(member.first.Mark(), static_cast<int>(key.size())));
        if (value.where.line == 0) value.where = *value.key_where;
        out[key] = std::move(value);
      }
    }
    if (node.Mark().line >= 0) out.where = span(node.Mark(), node.IsScalar() ? static_cast<int>(node.Scalar().size()) : 1);
    return out;
  }
};

// Near the mark, that is: in its line or the one before.
bool tab_indents(const std::vector<std::string>& lines, int at) {
  for (int i = std::max(at - 1, 0); i <= at && i < std::ssize(lines); ++i) {
    const std::string& line = lines[static_cast<std::size_t>(i)];
    if (const std::size_t end = line.find_first_not_of(" \t"); line.substr(0, end).find('\t') != std::string::npos) return true;
  }
  return false;
}

}  // namespace

Result<Json> parse_yaml(std::string_view text, const std::string& name) {
  Reader reader{split(text, '\n'), name};
  try {
    return reader.convert(YAML::Load(std::string(text)));
  } catch (const YAML::Exception& e) {
    return error("'{}' is not valid YAML: {}", name, e.msg).at(reader.span(e.mark)).with_help(tab_indents(reader.lines, e.mark.line) ? "indent with spaces: YAML takes no tabs there" : "check indentation, colons and quotes near the mark");
  }
}

}  // namespace narrow
