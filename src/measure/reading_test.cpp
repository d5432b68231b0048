#include "measure/reading.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/file.h"
#include "support.h"

namespace narrow {
namespace {

Result<Alphabet> alphabet_of(const std::string& lines) {
  const std::string file = test::temporary_folder() + "/keys.txt";
  test::must(write_file(file, lines));
  return Alphabet::read(file);
}

// Rows of scores in which these classes win.
std::vector<float> steps(const std::vector<std::int64_t>& winners, std::int64_t classes) {
  std::vector<float> scores(winners.size() * static_cast<std::size_t>(classes), 0.1F);
  for (std::size_t i = 0; i < winners.size(); ++i) scores[i * static_cast<std::size_t>(classes) + static_cast<std::size_t>(winners[i])] = 0.6F;
  return scores;
}

TEST(Reading, RepeatsAreMergedUnlessABlankPartsThem) {
  const Alphabet alphabet = test::must(alphabet_of("a\nb\n疗\n"));
  EXPECT_EQ(read_line(steps({0, 1, 1, 0, 1, 2, 2, 3, 0, 0}, 4), 4, alphabet), U"aab疗");
  EXPECT_EQ(read_line(steps({4, 1, 4, 4, 3}, 5), 5, alphabet), U" a 疗") << "one class more than lines and blank: the space";
  EXPECT_EQ(read_line(steps({0, 0, 0}, 4), 4, alphabet), U"");
  EXPECT_EQ(read_line({}, 4, alphabet), U"");
  EXPECT_EQ(read_line(steps({7, 7, 0, 9}, 11), 11, Alphabet()), (std::u32string{7, 9})) << "without a dictionary, the classes themselves";
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(read_line(std::vector<float>{nan, nan, nan, 0, 1, 0}, 3, alphabet), U"a") << "a step without scores reads as a blank";
}

TEST(Reading, AnAlphabetFitsTheNetwork) {
  const Alphabet alphabet = test::must(alphabet_of("a\r\nb\r\n疗"));
  EXPECT_TRUE(alphabet.check(4) && alphabet.check(5));
  ASSERT_FALSE(alphabet.check(3));
  EXPECT_NE(alphabet.check(6).error().message.find("has 3 characters, but the network tells 6 classes apart, wanted 4 (with the blank) or 5 (and the space)"), std::string::npos);
  EXPECT_TRUE(Alphabet().check(6625));
  const auto refused = [](const std::string& lines, const std::string& message, int line) {
    const auto found = alphabet_of(lines);
    ASSERT_FALSE(found) << lines;
    EXPECT_NE(found.error().message.find(message), std::string::npos) << found.error().message;
    EXPECT_EQ(found.error().where.line, line);
  };
  refused("a\nbc\n", "a line of the dictionary holds 2 characters, wanted one character", 2);
  refused("a\n\nb\n", "a line of the dictionary holds 0 characters, wanted one character", 2);
  EXPECT_EQ(Alphabet::read(test::temporary_folder() + "/none.txt").error().help, "the dictionary: one character a line in the order of the classes; give it with --dictionary, or with -c the recipe that it stands beside");
  refused("a\nb\n\xff\n", "a line of the dictionary is not UTF-8, wanted one character", 3);
  refused("", "holds no character", 0);
}

TEST(Reading, Utf8) {
  EXPECT_EQ(test::must(from_utf8("aé疗😀")), U"aé疗😀");
  EXPECT_EQ(test::must(from_utf8("")), U"");
  EXPECT_EQ(test::must(from_utf8("\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf")),
            (std::u32string{0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF})) << "the ends of every length";
  for (const char* bytes : {"\x80", "\xc3", "\xc3" "a", "\xe7\x96", "\xf8\x88\x80\x80\x80", "a\xc0\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80"}) EXPECT_FALSE(from_utf8(bytes)) << bytes;
}

TEST(Reading, SpacesAroundATextAreNotPartOfIt) {
  EXPECT_EQ(trim_spaces(U"  a b "), U"a b");
  EXPECT_EQ(trim_spaces(U"a"), U"a");
  EXPECT_EQ(trim_spaces(U"   "), U"");
  EXPECT_EQ(trim_spaces(U""), U"");
}

TEST(Reading, EditDistance) {
  EXPECT_EQ(edit_distance(U"kitten", U"sitting"), 3);
  EXPECT_EQ(edit_distance(U"", U"abc"), 3);
  EXPECT_EQ(edit_distance(U"abc", U""), 3);
  EXPECT_EQ(edit_distance(U"abc", U"abc"), 0);
  EXPECT_EQ(edit_distance(U"abcd", U"bcde"), 2);
}

}  // namespace
}  // namespace narrow
