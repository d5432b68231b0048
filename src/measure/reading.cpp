#include "measure/reading.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "measure/top_k.h"

namespace narrow {

Result<Alphabet> Alphabet::read(const std::string& file) {
  Alphabet alphabet;
  alphabet.file_ = file;
  // An artifact remembers its recipe, but not where that stood.
  const std::string text = NARROW_TRY(read_file(file, "the dictionary: one character a line in the order of the classes; give it with --dictionary, or with -c the recipe that it stands beside"));
  std::vector<std::string> lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();  // behind the last line's end
  int number = 0;
  for (std::string& line : lines) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const Result<std::u32string> character = from_utf8(line);
    if (!character || character->size() != 1) {
      return error("a line of the dictionary {}, wanted one character", !character ? "is not UTF-8" : fmt::format("holds {} characters", character->size()))
          .at({.file = file, .line = number, .text = {}})
          .with_help("one character a line, in the order of the network's classes from 1 on; class 0 is the blank");
    }
    alphabet.characters_ += (*character)[0];
  }
  if (alphabet.empty()) return error("the dictionary '{}' holds no character", file).with_help("one character a line, in the order of the network's classes from 1 on");
  return alphabet;
}

Status Alphabet::check(std::int64_t classes) const {
  const auto lines = static_cast<std::int64_t>(characters_.size());
  if (empty() || classes == lines + 1 || classes == lines + 2) return {};
  return error("the dictionary '{}' has {} characters, but the network tells {} classes apart, wanted {} (with the blank) or {} (and the space)", file_, lines, classes, lines + 1, lines + 2)
      .with_help("give the dictionary that the network was trained with");
}

char32_t Alphabet::character(std::int64_t label) const {
  if (empty()) return static_cast<char32_t>(label);
  const auto index = static_cast<std::size_t>(label - 1);
  return index < characters_.size() ? characters_[index] : U' ';
}

Result<std::u32string> from_utf8(std::string_view bytes) {
  std::u32string text;
  for (std::size_t i = 0; i < bytes.size();) {
    const auto lead = static_cast<unsigned char>(bytes[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
    if (length == 0 || i + length > bytes.size()) return error("byte {} is not UTF-8", i);
    char32_t code = length == 1 ? lead : lead & (0xFFu >> (length + 1));
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(bytes[i + k]);
      if ((next & 0xC0) != 0x80) return error("byte {} is not UTF-8", i + k);
      code = code << 6 | (next & 0x3Fu);
    }
    constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // by length: a longer form than needed is none
    if (code < kLeast[length] || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return error("byte {} is not UTF-8", i);
    text += code;
    i += length;
  }
  return text;
}

std::u32string read_line(std::span<const float> scores, std::int64_t classes, const Alphabet& alphabet) {
  std::u32string text;
  std::int64_t before = 0;
  for (; !scores.empty(); scores = scores.subspan(static_cast<std::size_t>(classes))) {
    const std::int64_t best = argmax(scores.first(static_cast<std::size_t>(classes)));
    if (best > 0 && best != before) text += alphabet.character(best);
    before = best;
  }
  return text;
}

std::u32string_view trim_spaces(std::u32string_view text) {
  const std::size_t first = text.find_first_not_of(U' ');
  return first == std::u32string_view::npos ? std::u32string_view{} : text.substr(first, text.find_last_not_of(U' ') - first + 1);
}

std::int64_t edit_distance(std::u32string_view a, std::u32string_view b) {
  std::vector<std::int64_t> row(b.size() + 1);  // distances of a's first i characters to each beginning of b
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::int64_t diagonal = row[0]++;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::int64_t exchanged = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({exchanged, row[k + 1] + 1, row[k] + 1});
    }
  }
  return row.back();
}

}  // namespace narrow
