#include "base/json.h"

#include <cmath>
#include <limits>

#include "support.h"

namespace narrow {
namespace {

std::string round_trip(const std::string& text) { return test::must(parse_json(text, "a.json")).dump(-1); }

TEST(Json, PrintsAndParsesBackToItself) {
  for (const char* text : {"null", "true", "-7", "9007199254740993", "0.1", "1e-40", "[]", "{}", "[1,2.5,\"x\",null,[true]]", "{\"b\":1,\"a\":{\"c\":[]}}", "\"a\\\"b\\n\\u0001\""}) {
    EXPECT_EQ(round_trip(text), text);
  }
}

TEST(Json, KeepsTheOrderOfKeys) {
  Json json;
  json["zebra"] = 1;
  json["ant"] = "x";
  json["zebra"] = 2;  // overwritten in place
  EXPECT_EQ(json.dump(-1), "{\"zebra\":2,\"ant\":\"x\"}");
  EXPECT_EQ(json.find("none"), nullptr);
  EXPECT_EQ(json.find("ant")->as_string(), "x");
}

TEST(Json, IndentsMapsAndKeepsListsOfNumbersOnALine) {
  Json json;
  json["shape"].push_back(1);
  json["shape"].push_back(3);
  json["inner"]["x"] = 0.5;
  EXPECT_EQ(json.dump(), "{\n  \"shape\": [1, 3],\n  \"inner\": {\n    \"x\": 0.5\n  }\n}");
}

TEST(Json, NumbersKeepTheirKindAndNonFiniteOnesBecomeNull) {
  const Json json = test::must(parse_json("[1, 1.0, 1e3]", "a.json"));
  EXPECT_TRUE(json.items()[0].is_int());
  EXPECT_FALSE(json.items()[1].is_int());
  EXPECT_EQ(json.items()[2].as_int(), 1000);
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(), "null");
  EXPECT_EQ(Json(std::nan("")).dump(), "null");
}

TEST(Json, InvalidUtf8IsReplacedNotRefused) { EXPECT_EQ(Json("a\xff").dump(), "\"a\xef\xbf\xbd\""); }

TEST(Json, ErrorsPointAtThePlace) {
  const auto json = parse_json("{\n  \"a\": 1,\n  \"b\" 2\n}", "a.json");
  ASSERT_FALSE(json.has_value());
  EXPECT_EQ(json.error().to_string(),
            "error: 'a.json' is not valid JSON\n"
            "  --> a.json:3:7\n"
            "   |    \"b\" 2\n"
            "   |        ^\n"
            "  help: check brackets, commas and quotes near the mark");
}

TEST(Json, DeepNestingIsRefused) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parse_json(nested(64), "a.json").has_value());
  EXPECT_EQ(parse_json(nested(65), "a.json").error().message, "'a.json' is nested more than 64 levels deep");
  EXPECT_FALSE(parse_json(nested(1'000'000), "a.json").has_value());
  EXPECT_EQ(test::must(parse_json("\"\\\"" + std::string(100, '[') + "\"", "a.json")).as_string().size(), 101U) << "brackets in a string";
  EXPECT_FALSE(parse_yaml(std::string(100'000, '['), "a.yaml").has_value());
}

TEST(Yaml, ScalarsAreTyped) {
  const Json yaml = test::must(parse_yaml("[true, False, 12, -3, +4, 0.5, 1e3, -1.5e-3, .inf, -.inf, ~, null, word, '12', \"true\", 1.2.3, -, 007]", "a.yaml"));
  const auto& items = yaml.items();
  const std::vector<std::string> kinds = {"bool",   "bool",   "number", "number", "number", "number", "number", "number", "number",
                                          "number", "null",   "null",   "string", "string", "string", "string", "string", "number"};
  ASSERT_EQ(items.size(), kinds.size());
  for (std::size_t i = 0; i < items.size(); ++i) EXPECT_EQ(items[i].kind(), kinds[i]) << i;
  EXPECT_EQ(items[4].as_int(), 4);
  EXPECT_EQ(items[6].as_double(), 1000);
  EXPECT_TRUE(std::isinf(items[8].as_double()));
  EXPECT_EQ(items[13].as_string(), "12");
  EXPECT_EQ(items[15].as_string(), "1.2.3");
}

TEST(Yaml, NodesKnowTheirPlace) {
  const Json yaml = test::must(parse_yaml("a: 1\nb:\n  - x\n  - yy: z\n", "a.yaml"));
  EXPECT_EQ(yaml.find("a")->where.line, 1);
  EXPECT_EQ(yaml.find("a")->where.column, 4);
  EXPECT_EQ(yaml.find("a")->key_where->column, 1);
  const Json& inner = yaml.find("b")->items()[1];
  EXPECT_EQ(inner.find("yy")->where.line, 4);
  EXPECT_EQ(inner.find("yy")->where.column, 9);
  EXPECT_EQ(inner.find("yy")->key_where->column, 5);
  EXPECT_EQ(inner.find("yy")->key_where->length, 2);
  EXPECT_EQ(inner.find("yy")->where.text, "  - yy: z");
}

TEST(Yaml, ErrorsPointAtThePlace) {
  EXPECT_EQ(parse_yaml("a: 1\nb: 2\na: 3\n", "a.yaml").error().to_string(),
            "error: key 'a' stands twice in the same map\n"
            "  --> a.yaml:3:1\n"
            "   |  a: 3\n"
            "   |  ^\n"
            "  help: remove one of the two");
  const auto open = parse_yaml("a: [1, 2\n", "a.yaml");
  ASSERT_FALSE(open.has_value());
  EXPECT_EQ(open.error().message.substr(0, 30), "'a.yaml' is not valid YAML: en");
  EXPECT_EQ(parse_yaml("input:\n\tcolor: rgb\n", "a.yaml").error().help, "indent with spaces: YAML takes no tabs there");
  EXPECT_EQ(parse_yaml("a:\tb: c\n", "a.yaml").error().help, "check indentation, colons and quotes near the mark");
  EXPECT_EQ(open.error().help, "check indentation, colons and quotes near the mark");
  EXPECT_EQ(parse_yaml("? [a]\n: b\n", "a.yaml").error().message, "a key of a map must be a plain word");
}

TEST(Yaml, AliasesEndAndStaySmall) {
  EXPECT_EQ(test::must(parse_yaml("a: &x [1, 2]\nb: *x\n", "a.yaml")).find("b")->items().size(), 2U);
  EXPECT_EQ(parse_yaml("a: &x [*x]\n", "a.yaml").error().message, "'a.yaml' is nested too deeply, or holds itself");
  EXPECT_EQ(parse_yaml("a: &x {b: *x}\n", "a.yaml").error().message, "'a.yaml' is nested too deeply, or holds itself");
  std::string bomb = "k0: &k0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string inner = "*k" + std::to_string(i - 1) + ",";
    bomb += "k" + std::to_string(i) + ": &k" + std::to_string(i) + " [";
    for (int n = 0; n < 10; ++n) bomb += inner;
    bomb += "]\n";
  }
  EXPECT_EQ(parse_yaml(bomb, "a.yaml").error().message, "'a.yaml' becomes too large when its aliases are filled in");
}

TEST(Yaml, EmptyTextIsNull) {
  EXPECT_TRUE(test::must(parse_yaml("", "a.yaml")).is_null());
  EXPECT_TRUE(test::must(parse_yaml("# nothing\n", "a.yaml")).is_null());
}

}  // namespace
}  // namespace narrow
