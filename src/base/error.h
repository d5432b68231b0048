// Errors that a user's input can cause. Every function such input can reach returns Result<T>; NARROW_CHECK is for
// our own bugs only. No exception crosses these headers. One message style: the object, the value found, the value
// wanted, and a remedy (in `help`).
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace narrow {

// Process exit codes, also carried by errors so that the command line need not guess.
enum class ExitCode : int { kOk = 0, kRejected = 1, kUsage = 2, kGateFailed = 3, kInternal = 70, kHungUp = 129, kInterrupted = 130, kTerminated = 143 };  // 128 + signal

// Where in a text the user wrote something stands. line and column count from 1; 0 means unknown.
struct SourceSpan {
  std::string file;
  int line = 0;
  int column = 0;
  int length = 0;
  std::string text;  // the whole source line, for the caret display; may be empty
  bool operator==(const SourceSpan&) const = default;
};

struct Error {
  std::string message;             // one line; names the object, found and wanted
  std::string help;                // the remedy; may be empty
  SourceSpan where;                // may be empty
  std::vector<std::string> notes;  // further lines, e.g. a list of all unsupported nodes
  ExitCode exit_code = ExitCode::kRejected;

  // "error: MESSAGE\n  --> file:line:col\n   |  text\n   |  ^^^\n  help: ..." (no trailing newline). Control characters that
  // came in with a name or a line of a file are escaped; of a line or message too long to read, the part around the caret, or its ends.
  std::string to_string() const;
  Error&& with_help(std::string text) && { help = std::move(text); return std::move(*this); }
  Error&& at(SourceSpan span) && { where = std::move(span); return std::move(*this); }
  // Prefixes the message with "CONTEXT: ", once per level.
  Error&& in(std::string_view context) && { message = fmt::format("{}: {}", context, message); return std::move(*this); }
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

// return error("node '{}' has {} inputs, wanted {}", ...).with_help("...");
class ErrorBuilder {
 public:
  explicit ErrorBuilder(Error e) : error_(std::move(e)) {}
  ErrorBuilder&& with_help(std::string text) && { error_.help = std::move(text); return std::move(*this); }
  ErrorBuilder&& at(SourceSpan span) && { error_.where = std::move(span); return std::move(*this); }
  ErrorBuilder&& with_notes(std::vector<std::string> notes) && { error_.notes = std::move(notes); return std::move(*this); }
  ErrorBuilder&& with_exit_code(ExitCode code) && { error_.exit_code = code; return std::move(*this); }
  template <typename T>
  operator tl::expected<T, Error>() && { return tl::unexpected<Error>(std::move(error_)); }  // NOLINT: implicit by design
  operator Error() && { return std::move(error_); }                                         // NOLINT

 private:
  Error error_;
};

template <typename... Args>
[[nodiscard]] ErrorBuilder error(fmt::format_string<Args...> format, Args&&... args) {
  Error e;
  e.message = fmt::format(format, std::forward<Args>(args)...);
  return ErrorBuilder(std::move(e));
}

// Prints the message with file and line and ends the process with ExitCode::kInternal.
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const std::string& detail);

}  // namespace narrow

// A broken invariant of ours (never bad input). NARROW_CHECK(cond) or NARROW_CHECK(cond, "format {}", args...).
#define NARROW_CHECK(condition, ...)                                                     \
  do {                                                                                   \
    if (!(condition)) [[unlikely]]                                                       \
      ::narrow::check_failed(#condition, __FILE__, __LINE__, ::narrow::detail::text(__VA_ARGS__)); \
  } while (false)

// Value of a Result, or return its error from the enclosing function. Works for Status too (as a statement).
#define NARROW_TRY(...)                                                          \
  __extension__({                                                                \
    auto&& narrow_try_result = (__VA_ARGS__);                                    \
    if (!narrow_try_result.has_value()) [[unlikely]]                             \
      return tl::unexpected<::narrow::Error>(std::move(narrow_try_result).error()); \
    ::narrow::detail::take(std::move(narrow_try_result));                        \
  })

namespace narrow::detail {
inline std::string text() { return {}; }
template <typename... Args>
std::string text(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}
template <typename T>
T take(tl::expected<T, Error>&& r) { return std::move(*r); }
inline void take(tl::expected<void, Error>&&) {}
}  // namespace narrow::detail
