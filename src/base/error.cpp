#include "base/error.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/text.h"

namespace narrow {
namespace {

// The line as it is shown over the caret: every character keeps its column.
std::string shown_line(std::string text) {
  std::replace_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return text;
}

}  // namespace

std::string Error::to_string() const {
  std::string out = fmt::format("error: {}", printable(message));
  if (!where.file.empty()) {
    out += fmt::format("\n  --> {}", printable(where.file));
    if (where.line > 0) out += fmt::format(":{}", where.line);
    if (where.line > 0 && where.column > 0) out += fmt::format(":{}", where.column);
    if (!where.text.empty()) {
      out += fmt::format("\n   |  {}", shown_line(where.text));
      if (where.column > 0) {
        out += fmt::format("\n   |  {}{}", std::string(static_cast<std::size_t>(where.column - 1), ' '),
                           std::string(static_cast<std::size_t>(where.length > 0 ? where.length : 1), '^'));
      }
    }
  }
  for (const std::string& note : notes) out += fmt::format("\n  note: {}", printable(note));
  if (!help.empty()) out += fmt::format("\n  help: {}", printable(help));
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
