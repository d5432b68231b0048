// Small text services: exact number printing, splitting, "did you mean", sizes and times for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace narrow {

// Shortest decimal that reads back to the same value (std::to_chars); "nan", "inf", "-inf".
std::string exact(float value);
std::string exact(double value);

// Parts between separators, empty ones included: one more than there are separators.
std::vector<std::string> split(std::string_view text, char separator);
// Without white space at either end.
std::string_view trim(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string lower_case(std::string_view text);

// The up to `limit` candidates nearest to `wanted` by edit distance (at most a third of its length away, or containing it).
std::vector<std::string> suggest(std::string_view wanted, const std::vector<std::string>& candidates, std::size_t limit = 3);
// "did you mean 'a', 'b' or 'c'?" or "" when nothing is near.
std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& candidates);

// Shell-style match: '*' any run, '?' one character.
bool glob_match(std::string_view pattern, std::string_view text);

// A string between double quotes with the escapes \" \\ \n \t \r \xNN, and back; nullopt when `text` is not exactly one such string.
std::string quoted(std::string_view text);
std::optional<std::string> unquoted(std::string_view text);

// Control characters as \n, \t, \xNN, so that a name from a file can neither break a line nor drive a terminal.
enum class Newlines { kEscape, kKeep };
std::string printable(std::string_view text, Newlines newlines = Newlines::kEscape);

std::string counted(std::int64_t count, std::string_view noun);  // "1 sample", "2 samples"
std::string human_bytes(double bytes);      // "1.3 MB"
std::string human_seconds(double seconds);  // "0.02 s", "1 min 20 s"

}  // namespace narrow
