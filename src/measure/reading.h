// Lines of text as a recogniser gives them: one row of class scores per step along the line, class 0 the blank between characters
// (connectionist temporal classification; Graves et al., 2006). A text is a row of code points; without an alphabet, of classes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace narrow {

// Which character each class stands for: class 1 is the first line of the dictionary. A network with one class more than blank and
// lines has the space last.
class Alphabet {
 public:
  Alphabet() = default;
  // A text file in UTF-8, one character a line. Errors: unreadable, no line, a line of more or less than one character.
  static Result<Alphabet> read(const std::string& file);
  bool empty() const { return characters_.empty(); }
  // Error: `classes` are neither the blank and the lines nor those and the space.
  Status check(std::int64_t classes) const;
  // Of the class, above 0. Without characters: the class itself.
  char32_t character(std::int64_t label) const;

 private:
  std::u32string characters_;
  std::string file_;
};

// Code points of UTF-8. Error: the bytes are not UTF-8.
Result<std::u32string> from_utf8(std::string_view bytes);
// The best class of every step; repeats merged, blanks dropped. scores: [steps, classes], steps = scores.size() / classes.
std::u32string read_line(std::span<const float> scores, std::int64_t classes, const Alphabet& alphabet);
// Without the spaces in front and behind.
std::u32string_view trim_spaces(std::u32string_view text);
// Fewest characters to insert, drop or exchange to make one of the other (Levenshtein, 1966).
std::int64_t edit_distance(std::u32string_view a, std::u32string_view b);

}  // namespace narrow
