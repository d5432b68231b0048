#include "base/strict_map.h"

#include "support.h"

namespace narrow {
namespace {

enum class Colour { kRed, kBlue };
const StrictMap::Choices<Colour> kColours = {{"red", Colour::kRed}, {"blue", Colour::kBlue}, {"azure", Colour::kBlue}};

TEST(StrictMap, ReadsEachKindAndLeavesAbsentKeysAlone) {
  const Json yaml = test::must(parse_yaml("{flag: true, word: abc, real: 2, count: 7, small: 3, one: 4, many: [1, 2.5], colour: azure, colours: [red, blue], here: 1}", "a.yaml"));
  StrictMap map = test::must(StrictMap::open(yaml, "the test"));
  bool flag = false;
  std::string word, absent = "as before";
  double real = 0;
  std::int64_t count = 0;
  int small = 0;
  std::vector<double> one, many;
  Colour colour = Colour::kRed;
  std::vector<Colour> colours;
  std::optional<int> here, gone;
  test::must(map.read("flag", &flag));
  test::must(map.read("word", &word));
  test::must(map.read("absent", &absent));
  test::must(map.read("real", &real));
  test::must(map.read("count", &count, 0, 10));
  test::must(map.read("small", &small));
  test::must(map.read("one", &one));
  test::must(map.read("many", &many));
  test::must(map.choose("colour", kColours, &colour));
  test::must(map.choose_many("colours", kColours, &colours));
  test::must(map.read("here", &here));
  test::must(map.read("gone", &gone));
  test::must(map.finish());
  EXPECT_TRUE(flag);
  EXPECT_EQ(word, "abc");
  EXPECT_EQ(absent, "as before");
  EXPECT_EQ(real, 2.0);
  EXPECT_EQ(count, 7);
  EXPECT_EQ(small, 3);
  EXPECT_EQ(one, (std::vector<double>{4}));
  EXPECT_EQ(many, (std::vector<double>{1, 2.5}));
  EXPECT_EQ(colour, Colour::kBlue);
  EXPECT_EQ(colours, (std::vector<Colour>{Colour::kRed, Colour::kBlue}));
  EXPECT_EQ(here, 1);
  EXPECT_FALSE(gone.has_value());
}

TEST(StrictMap, WrongValuesSayFoundAndWanted) {
  const Json yaml = test::must(parse_yaml("{flag: 1, word: [a], real: 2, count: 2.5, colour: 3, list: {}}", "a.yaml"));
  StrictMap map = test::must(StrictMap::open(yaml, "the test"));
  bool flag = false;
  std::string word;
  double real = 0;
  std::int64_t count = 0;
  std::vector<double> list;
  Colour colour = Colour::kRed;
  std::vector<Colour> colours;
  EXPECT_EQ(map.read("flag", &flag).error().message, "'flag' of the test is 1, wanted true or false");
  EXPECT_EQ(map.read("word", &word).error().message, "'word' of the test is a list, wanted a word");
  EXPECT_EQ(map.read("word", &real).error().message, "'word' of the test is a list, wanted a number");
  EXPECT_EQ(map.read("real", &real, 3.0, 4.0).error().message, "'real' of the test is 2, wanted a number in [3, 4]");
  EXPECT_EQ(map.read("real", &real, 3.0).error().message, "'real' of the test is 2, wanted a number of at least 3");
  EXPECT_EQ(map.read("count", &count).error().message, "'count' of the test is 2.5, wanted an integer");
  EXPECT_EQ(map.read("real", &count, 3).error().message, "'real' of the test is 2, wanted an integer of at least 3");
  EXPECT_EQ(map.read("list", &list).error().message, "'list' of the test is an empty map, wanted a finite number or a list of them");
  EXPECT_EQ(map.choose("colour", kColours, &colour).error().message, "'colour' of the test is 3, wanted one of: red, blue, azure");
  EXPECT_EQ(map.choose_many("colour", kColours, &colours).error().message, "'colour' of the test is 3, wanted a list of at least one of: red, blue, azure");
  EXPECT_EQ(StrictMap::open(yaml.members()[1].second, "that").error().message, "that is a list, wanted a map");
}

// Whatever is asked for, what was found is named as the user wrote it.
TEST(StrictMap, FoundValuesAreNamed) {
  const Json yaml = test::must(parse_yaml("{nan: .nan, inf: .inf, low: -.inf, none: ~, empty: [], blank: {}, words: [a], nested: {a: 1}, text: abc}", "a.yaml"));
  StrictMap map = test::must(StrictMap::open(yaml, "the test"));
  const std::pair<const char*, const char*> kFound[] = {{"nan", ".nan"}, {"inf", ".inf"}, {"low", "-.inf"}, {"none", "nothing"}, {"empty", "an empty list"}, {"blank", "an empty map"}, {"nested", "a map"}, {"text", "'abc'"}};
  double real = 0;
  std::vector<double> reals;
  std::int64_t count = 0;
  bool flag = false;
  std::vector<Colour> colours;
  for (const auto& [key, found] : kFound) {
    const std::string begin = fmt::format("'{}' of the test is {}, wanted ", key, found);
    const bool number = std::string(found).find("inf") != std::string::npos || std::string(found) == ".nan";
    EXPECT_EQ(map.read(key, &real).error().message, begin + (number ? "a finite number" : "a number"));
    EXPECT_EQ(map.read(key, &reals).error().message, begin + "a finite number or a list of them");
    EXPECT_EQ(map.read(key, &count).error().message, begin + "an integer");
    EXPECT_EQ(map.read(key, &flag).error().message, begin + "true or false");
    EXPECT_EQ(map.choose_many(key, kColours, &colours).error().message, begin + "a list of at least one of: red, blue, azure");
  }
  EXPECT_EQ(map.read("words", &real).error().message, "'words' of the test is a list, wanted a number");
  EXPECT_EQ(map.choose_many("words", kColours, &colours).error().message, "'words' of the test is 'a', wanted one of: red, blue, azure");
}

TEST(StrictMap, UnknownKeysListTheKnownOnesWhenNothingIsNear) {
  const Json yaml = test::must(parse_yaml("{a: 1, something: 2}", "a.yaml"));
  StrictMap map = test::must(StrictMap::open(yaml, "the test"));
  int a = 0, b = 0;
  test::must(map.read("a", &a));
  test::must(map.read("b", &b));
  const Status end = map.finish();
  ASSERT_FALSE(end.has_value());
  EXPECT_EQ(end.error().message, "unknown key 'something' in the test");
  EXPECT_EQ(end.error().help, "keys here: a, b");
  EXPECT_EQ(end.error().where.column, 8);
}

}  // namespace
}  // namespace narrow
