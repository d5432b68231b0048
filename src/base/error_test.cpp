#include "base/error.h"

#include "base/diagnostics.h"
#include "base/hash.h"
#include "base/table.h"
#include "support.h"

namespace narrow {
namespace {

TEST(Error, PrintsPlaceNotesAndRemedy) {
  const Error e = error("no layer matches '{}'", "conv_1x").at({"yolo.yaml", 12, 8, 7, "match: conv_1x"}).with_notes({"first", "second"}).with_help("did you mean 'conv_1'?");
  EXPECT_EQ(e.to_string(),
            "error: no layer matches 'conv_1x'\n"
            "  --> yolo.yaml:12:8\n"
            "   |  match: conv_1x\n"
            "   |         ^^^^^^^\n"
            "  note: first\n"
            "  note: second\n"
            "  help: did you mean 'conv_1'?");
  EXPECT_EQ(Error(error("plain")).to_string(), "error: plain");
  EXPECT_EQ(Error(error("x")).in("node 'a'").message, "node 'a': x");
}

TEST(Error, NamesFromFilesBreakNoLine) {
  const Error e = error("node '{}' is bad", "a\nerror: b\x1b[2J").at({"f\n", 1, 3, 1, "\tx\x01"}).with_notes({"n\r"}).with_help("h\n");
  EXPECT_EQ(e.to_string(), "error: node 'a\\nerror: b\\x1b[2J' is bad\n  --> f\\n:1:3\n   |   x \n   |    ^\n  note: n\\r\n  help: h\\n");
}

// A damaged file may be one line of megabytes, and a plan has lines with thousands of scales.
TEST(Error, LongLinesAreShownAroundTheCaret) {
  std::string text(5000, '.');
  for (const std::size_t at : {0U, 1U, 60U, 2500U, 4900U, 4999U}) {
    std::string line = text;
    line[at] = 'X';
    const std::string shown = Error(error("m").at({"f", 1, static_cast<int>(at) + 1, 1, line})).to_string();
    EXPECT_LT(shown.size(), 500U) << at;
    const std::string rest = shown.substr(shown.find("\n   |  ") + 1);
    EXPECT_EQ(rest.find('X'), rest.find('^') - rest.find('\n') - 1) << shown;
  }
  const std::string whole = Error(error("m").at({"f", 1, 1, 5000, text})).to_string();
  EXPECT_LT(whole.size(), 500U);
  EXPECT_EQ(whole.substr(whole.size() - 4), "^^^^");
  EXPECT_EQ(Error(error("cannot open '{}': too long", std::string(1000000, 'a'))).to_string().size(), std::string("error: ...").size() + 4096);
}

Result<int> half(int x) {
  if (x % 2 != 0) return error("{} is odd", x).with_exit_code(ExitCode::kGateFailed);
  return x / 2;
}
Result<int> quarter(int x) { return NARROW_TRY(half(NARROW_TRY(half(x)))); }
Status check_half(int x) {
  NARROW_TRY(half(x));
  return {};
}

TEST(Error, TryHandsErrorsUp) {
  EXPECT_EQ(test::must(quarter(12)), 3);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
  EXPECT_EQ(quarter(6).error().exit_code, ExitCode::kGateFailed);
  EXPECT_TRUE(check_half(2).has_value());
  EXPECT_EQ(check_half(5).error().message, "5 is odd");
}

TEST(Diagnostics, WarningsAndNotesKeepTheirOrder) {
  Diagnostics diagnostics;
  diagnostics.warn("w", "do this", {"a.yaml", 2, 1, 1, "x"});
  diagnostics.note("n");
  ASSERT_EQ(diagnostics.all().size(), 2U);
  EXPECT_EQ(diagnostics.all()[0].to_string(), "warning: w\n  --> a.yaml:2:1\n   |  x\n   |  ^\n  help: do this");
  EXPECT_EQ(diagnostics.all()[1].to_string(), "note: n");
}

TEST(Diagnostics, WhatIsFoundAgainIsKeptOnce) {
  Diagnostics diagnostics;
  for (int i = 0; i < 2; ++i) {
    diagnostics.warn("w", "help");
    diagnostics.warn("w", "other help");
    diagnostics.note("w", "help");
    diagnostics.warn("w", "help", {"a.yaml", 2, 1, 1, "x"});
  }
  EXPECT_EQ(diagnostics.all().size(), 4U);
}

TEST(Table, CellsStayOnTheirLine) {
  Table table({{"layer"}});
  table.add_row({"a\nb"});
  EXPECT_EQ(table.to_string(), "layer\na\\nb\n");
}

TEST(Table, AlignsColumnsByCharacters) {
  Table table({{"layer"}, {"SQNR", Align::kRight}});
  table.add_row({"conv", "41.2"});
  table.add_row({"größe", "7"});
  EXPECT_EQ(table.to_string(), "layer  SQNR\nconv   41.2\ngröße     7\n");
}

TEST(Hash, IsStableAndReadsBack) {
  EXPECT_EQ(hash_to_string(hash_text("")), "2d06800538d394c2");  // XXH3 of nothing
  EXPECT_NE(hash_text("a"), hash_text("b"));
  EXPECT_NE(hash_text("a"), hash_text("a", 1));
  std::uint64_t back = 0;
  ASSERT_TRUE(hash_from_string("2d06800538d394c2", &back));
  EXPECT_EQ(back, hash_text(""));
  EXPECT_FALSE(hash_from_string("2d06", &back));
  EXPECT_FALSE(hash_from_string("2d06800538d394cg", &back));
}

}  // namespace
}  // namespace narrow
