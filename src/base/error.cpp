#include "base/error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/text.h"

namespace narrow {
namespace {

constexpr std::size_t kWidestLine = 200;     // of a source line, in characters; plans have lines with thousands of scales
constexpr std::size_t kLongestText = 4096;   // of a message, in which a name may be a whole damaged file
constexpr std::string_view kCut = "...";

// A source line over its caret: every character keeps its distance to it. Of a long line the part around the caret is shown.
struct Excerpt {
  std::string text;
  std::size_t column = 0;  // of the caret, from 0
  std::size_t length = 1;
};

Excerpt excerpt(const SourceSpan& where) {
  Excerpt out{where.text, static_cast<std::size_t>(std::max(where.column - 1, 0)), static_cast<std::size_t>(std::max(where.length, 1))};
  std::replace_if(out.text.begin(), out.text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  if (out.text.size() <= kWidestLine) return out;
  const std::size_t begin = std::min(out.column - std::min(out.column, kWidestLine / 4), out.text.size() - kWidestLine);
  const bool cut_before = begin > 0, cut_after = begin + kWidestLine < out.text.size();
  out.text = fmt::format("{}{}{}", cut_before ? kCut : "", out.text.substr(begin, kWidestLine), cut_after ? kCut : "");
  out.column = out.column - begin + (cut_before ? kCut.size() : 0);
  out.length = std::min(out.length, std::max<std::size_t>(1, out.text.size() - std::min(out.column, out.text.size())));
  return out;
}

std::string shown(std::string_view text) {
  if (text.size() <= kLongestText) return printable(text);
  return printable(text.substr(0, kLongestText / 2)) + std::string(kCut) + printable(text.substr(text.size() - kLongestText / 2));
}

}  // namespace

std::string Error::to_string() const {
  std::string out = fmt::format("error: {}", shown(message));
  if (!where.file.empty()) {
    out += fmt::format("\n  --> {}", printable(where.file));
    if (where.line > 0) out += fmt::format(":{}", where.line);
    if (where.line > 0 && where.column > 0) out += fmt::format(":{}", where.column);
    if (!where.text.empty()) {
      const Excerpt line = excerpt(where);
      out += fmt::format("\n   |  {}", line.text);
      if (where.column > 0) out += fmt::format("\n   |  {}{}", std::string(line.column, ' '), std::string(line.length, '^'));
    }
  }
  for (const std::string& note : notes) out += fmt::format("\n  note: {}", shown(note));
  if (!help.empty()) out += fmt::format("\n  help: {}", shown(help));
  return out;
}

void check_failed(const char* condition, const char* file, int line, const std::string& detail) {
  std::fprintf(stderr, "internal error: %s:%d: '%s' does not hold%s%s\n  help: this is a bug in narrow; please report it with the command line\n",
               file, line, condition, detail.empty() ? "" : ": ", detail.c_str());
  std::fflush(stderr);
#ifdef NARROW_FUZZ
  std::abort();  // a fuzzer keeps the input of a signal, but sees nothing in an exit
#endif
  std::_Exit(static_cast<int>(ExitCode::kInternal));
}

}  // namespace narrow
