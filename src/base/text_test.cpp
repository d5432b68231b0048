#include "base/text.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "support.h"

namespace narrow {
namespace {

TEST(Text, NumbersPrintShortestAndReadBack) {
  EXPECT_EQ(exact(0.1F), "0.1");
  EXPECT_EQ(exact(0.1), "0.1");
  EXPECT_EQ(exact(static_cast<double>(0.1F)), "0.10000000149011612");
  EXPECT_EQ(exact(1e-40F), "1e-40");
  EXPECT_EQ(exact(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(exact(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(exact(std::nan("")), "nan");
  EXPECT_EQ(exact(-std::nan("")), "nan") << "a sign of NaN says nothing";
  NARROW_SEEDED(rng);
  for (int i = 0; i < 2000; ++i) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(rng()));
    if (!std::isfinite(x)) continue;
    EXPECT_EQ(std::strtof(exact(x).c_str(), nullptr), x);
  }
}

TEST(Text, SplitsTrimsAndJoins) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string>{"a", "", "b", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim("  "), "");
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({}, ", "), "");
  EXPECT_EQ(lower_case("ConvBN_1"), "convbn_1");
}

TEST(Text, SuggestsWhatIsNear) {
  const std::vector<std::string> names = {"conv_1", "conv_10", "conv_11", "relu", "pool"};
  EXPECT_EQ(suggest("conv_1x", names), (std::vector<std::string>{"conv_1", "conv_10", "conv_11"}));
  EXPECT_EQ(suggest("conv_1x", names, 1), (std::vector<std::string>{"conv_1"}));
  EXPECT_EQ(did_you_mean("conv_1x", names), "did you mean 'conv_1', 'conv_10' or 'conv_11'?");
  EXPECT_EQ(did_you_mean("Rlu", names), "did you mean 'relu'?");
  EXPECT_EQ(did_you_mean("completely different", names), "");
  EXPECT_EQ(did_you_mean("oo", {}), "");
}

TEST(Text, GlobsMatchWholeNames) {
  EXPECT_TRUE(glob_match("conv_*", "conv_1"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a?c", "abc"));
  EXPECT_TRUE(glob_match("*b*d", "abcbd"));
  EXPECT_TRUE(glob_match("**x", "x"));
  EXPECT_FALSE(glob_match("conv", "conv_1"));
  EXPECT_FALSE(glob_match("a?c", "ac"));
  EXPECT_FALSE(glob_match("", "a"));
  // A pattern that makes naive matchers exponential.
  EXPECT_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*a*b", std::string(200, 'a')));
}

TEST(Text, PrintableEscapesControlCharactersOnly) {
  EXPECT_EQ(printable("a\nb\t\r\x1b[2J\x7f"), "a\\nb\\t\\r\\x1b[2J\\x7f");
  EXPECT_EQ(printable("a\nb\x01", Newlines::kKeep), "a\nb\\x01");
  EXPECT_EQ(printable("größe \\ \"层\""), "größe \\ \"层\"");
}

TEST(Text, SizesAndTimesForPeople) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1300), "1.3 kB");
  EXPECT_EQ(human_bytes(1.34e6), "1.3 MB");
  EXPECT_EQ(human_bytes(2.5e9), "2.50 GB");
  EXPECT_EQ(human_seconds(0.0213), "0.02 s");
  EXPECT_EQ(human_seconds(80), "1 min 20 s");
}

}  // namespace
}  // namespace narrow
