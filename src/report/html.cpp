#include "report/html.h"

namespace narrow {
namespace {

constexpr std::string_view kPage =
#include "report/page.inc"
    ;
constexpr std::string_view kTitleMark = "@TITLE@";
constexpr std::string_view kDataMark = "@DATA@";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

// Inside <script>, only "</" and "<!--" could end the block; JSON allows any character of a string as \u003c.
std::string script_safe(const std::string& json) {
  std::string out;
  for (const char c : json) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

}  // namespace

std::string report_html(const Json& report) {
  const std::string title = fmt::format("{} on {}", report.find("model")->find("file")->as_string(), report.find("target")->as_string());
  std::string page;
  std::string_view rest = kPage;
  while (!rest.empty()) {
    const std::size_t at = rest.find('@');
    page += rest.substr(0, at);
    if (at == std::string_view::npos) break;
    rest.remove_prefix(at);
    if (rest.starts_with(kTitleMark)) {
      page += escaped(title);
      rest.remove_prefix(kTitleMark.size());
    } else if (rest.starts_with(kDataMark)) {
      page += script_safe(report.dump(-1));
      rest.remove_prefix(kDataMark.size());
    } else {
      page += '@';
      rest.remove_prefix(1);
    }
  }
  return page;
}

}  // namespace narrow
