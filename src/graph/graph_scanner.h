// Words, strings, names and numbers of the graph text. Scannerless: every routine skips blanks and comments, then reads
// what it expects at at_. Errors carry line, column and the line itself.
#pragma once

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "base/error.h"

namespace narrow {

class GraphScanner {
 protected:
  GraphScanner(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  void skip();
  bool next_is(char c);
  bool take(char c);
  std::string_view peek_word();  // letters, digits and _ . / -; may be empty
  bool take_word(std::string_view word);
  Status expect(char c);
  std::string found();  // what stands here, for a message

  // `length` 0: as far as the word goes.
  tl::unexpected<Error> fail(std::size_t begin, std::string message, std::string help = {}, std::size_t length = 0) const;

  Result<std::string> string();
  Result<std::string> word_or_string(const char* what);
  Result<std::string> name();  // with its '%', which is not part of it

  template <typename T>
  Result<T> number() {
    skip();
    T value{};
    const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code == std::errc::result_out_of_range) {
      return fail(at_, fmt::format("{} does not fit in {}", found(), std::is_floating_point_v<T> ? "a float" : fmt::format("{} bits", sizeof(T) * 8)));
    }
    if (code != std::errc()) return fail(at_, fmt::format("found {}, wanted {}", found(), std::is_floating_point_v<T> ? "a number" : "an integer"));
    at_ = static_cast<std::size_t>(end - text_.data());
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(value)) return std::numeric_limits<T>::quiet_NaN();  // one NaN: "-nan" prints as "nan"
    }
    return value;
  }
  // number(), or 0, 1, false, true for bool.
  template <typename T>
  Result<T> element() {
    if constexpr (std::is_same_v<T, bool>) {
      if (take_word("1") || take_word("true")) return true;
      if (take_word("0") || take_word("false")) return false;
      return fail(at_, fmt::format("found {}, wanted 0 or 1", found()));
    } else {
      return number<T>();
    }
  }
  bool looks_like_float() { return peek_word().find_first_of(".eEin") != std::string_view::npos; }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
};

}  // namespace narrow
