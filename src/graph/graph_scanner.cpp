#include "graph/graph_scanner.h"

#include <algorithm>

#include "base/text.h"

namespace narrow {
namespace {

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' || c == '-';
}

}  // namespace

void GraphScanner::skip() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else {
      return;
    }
  }
}

bool GraphScanner::next_is(char c) {
  skip();
  return at_ < text_.size() && text_[at_] == c;
}

bool GraphScanner::take(char c) {
  if (!next_is(c)) return false;
  ++at_;
  return true;
}

std::string_view GraphScanner::peek_word() {
  skip();
  std::size_t end = at_;
  while (end < text_.size() && is_word_char(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

bool GraphScanner::take_word(std::string_view word) {
  if (peek_word() != word) return false;
  at_ += word.size();
  return true;
}

Status GraphScanner::expect(char c) {
  if (take(c)) return {};
  return fail(at_, fmt::format("found {}, wanted '{}'", found(), c));
}

std::string GraphScanner::found() {
  skip();
  if (at_ >= text_.size()) return "the end";
  const std::string_view word = peek_word();
  return quoted(word.empty() ? text_.substr(at_, 1) : word.substr(0, 40));
}

tl::unexpected<Error> GraphScanner::fail(std::size_t begin, std::string message, std::string help, std::size_t length) const {
  begin = std::min(begin, text_.size());
  const auto before = text_.substr(0, begin);
  const std::size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const std::size_t line_end = std::min(text_.find('\n', begin), text_.size());
  Error e;
  e.message = std::move(message);
  e.help = std::move(help);
  e.where.file = file_;
  e.where.line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
  e.where.column = static_cast<int>(begin - line_begin) + 1;
  std::size_t end = begin;
  while (length == 0 && end < line_end && is_word_char(text_[end])) ++end;
  e.where.length = static_cast<int>(length > 0 ? length : std::max<std::size_t>(1, end - begin));
  constexpr std::size_t kShown = 200;  // long constants would flood the terminal
  e.where.text = std::string(text_.substr(line_begin, std::min(line_end - line_begin, std::max(kShown, begin - line_begin + 20))));
  if (e.where.column > static_cast<int>(kShown)) e.where.text.clear();
  return tl::unexpected<Error>(std::move(e));
}

Result<std::string> GraphScanner::string() {
  skip();
  const std::size_t begin = at_;
  NARROW_TRY(expect('"'));
  while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
  if (at_ >= text_.size()) return fail(begin, "the string does not end", "add the closing '\"'");
  ++at_;
  auto out = unquoted(text_.substr(begin, at_ - begin));
  if (!out) return fail(begin, "unknown escape in string", "the escapes are \\\" \\\\ \\n \\t \\r \\xNN", at_ - begin);
  return *out;
}

Result<std::string> GraphScanner::word_or_string(const char* what) {
  if (next_is('"')) return string();
  const std::string_view word = peek_word();
  if (word.empty()) return fail(at_, fmt::format("found {}, wanted {}", found(), what));
  at_ += word.size();
  return std::string(word);
}

Result<std::string> GraphScanner::name() {
  NARROW_TRY(expect('%'));
  if (at_ < text_.size() && (text_[at_] == '"' || is_word_char(text_[at_]))) {
    const std::size_t begin = at_;
    std::string text = NARROW_TRY(word_or_string("a name"));
    if (text.empty()) return fail(begin, "a value has an empty name");
    return text;
  }
  return fail(at_, "wanted a name right after '%'", "names with other characters than letters, digits and _ . / - are quoted: %\"a b\"");
}

}  // namespace narrow
