#include "target/target.h"

#include <cstdlib>

#include "base/file.h"
#include "support.h"

namespace narrow {
namespace {

std::string error_of(const Result<Target>& target) { return target ? "no error" : target.error().to_string(); }

TEST(Target, ShippedTargetsSayWhatTheirNamesPromise) {
  const Target generic = test::must(load_target("generic-int8"));
  EXPECT_EQ(generic.name, "generic-int8");
  EXPECT_EQ(generic.activations, (std::vector<DType>{DType::kI8, DType::kU8, DType::kI16}));
  EXPECT_FALSE(generic.symmetric_activations);
  EXPECT_TRUE(generic.per_channel_weights);
  EXPECT_EQ(generic.arithmetic.rounding, Rounding::kSingleRound);
  EXPECT_FALSE(generic.arithmetic.average_raw_codes);
  EXPECT_EQ(generic.arithmetic.preactivation, DType::kI16);

  const Target tflite = test::must(load_target("tflite"));
  EXPECT_EQ(tflite.activations.front(), DType::kI8);
  EXPECT_EQ(tflite.arithmetic.rounding, Rounding::kDoubleRound);
  EXPECT_TRUE(tflite.arithmetic.average_raw_codes);

  const Target ort = test::must(load_target("ort"));
  EXPECT_EQ(ort.activations.front(), DType::kU8);
  EXPECT_EQ(ort.arithmetic.rounding, Rounding::kFloatRne);
}

TEST(Target, NamesAreSortedAndEveryOneLoads) {
  const std::vector<std::string> names = target_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_GE(names.size(), 3U);
  for (const std::string& name : names) EXPECT_EQ(test::must(load_target(name)).name, name);
}

TEST(Target, ReadsEveryKey) {
  const Target target = test::must(parse_target(R"(name: tiny
summary: a small one
activations: {types: [int16, int8], symmetric: true}
weights: {bits: 4, per_channel: false}
arithmetic: {rounding: double_round, average_pool: raw_codes, preactivation: uint8, accumulator_bits: 24, bias_bits: 24}
float_islands: false
float_only: {Softmax: no exponential unit}
)", "tiny.yaml"));
  EXPECT_EQ(target.summary, "a small one");
  EXPECT_EQ(target.activations, (std::vector<DType>{DType::kI16, DType::kI8}));
  EXPECT_TRUE(target.symmetric_activations);
  EXPECT_EQ(target.weight_bits, 4);
  EXPECT_FALSE(target.per_channel_weights);
  EXPECT_EQ(target.accumulator_bits, 24);
  EXPECT_EQ(target.bias_bits, 24);
  EXPECT_FALSE(target.float_islands);
  EXPECT_EQ(target.arithmetic.preactivation, DType::kU8);

  EXPECT_TRUE(target.supports("Conv", DType::kI8).yes);
  EXPECT_EQ(target.supports("Softmax", DType::kI8).reason, "no exponential unit");
  EXPECT_EQ(target.supports("Conv", DType::kU8).reason, "u8 activations are not offered by target 'tiny', which has i16, i8");
}

TEST(Target, HashIsOfTheMeaningNotOfTheText) {
  const Target a = test::must(parse_target("name: a\nactivations: {types: [int8]}\n", "a.yaml"));
  const Target same = test::must(parse_target("# comment\nactivations:\n  types: [int8]\nname: a\nsummary: words\n", "b.yaml"));
  const Target other = test::must(parse_target("name: a\nactivations: {types: [int8], symmetric: true}\n", "a.yaml"));
  EXPECT_EQ(a.hash(), same.hash());
  EXPECT_NE(a.hash(), other.hash());
}

TEST(Target, MistakesPointAtThePlace) {
  EXPECT_EQ(error_of(parse_target("name: a\nwieghts:\n  bits: 8\n", "t.yaml")),
            "error: unknown key 'wieghts' in the target\n"
            "  --> t.yaml:2:1\n"
            "   |  wieghts:\n"
            "   |  ^^^^^^^\n"
            "  help: did you mean 'weights'?");
  EXPECT_EQ(error_of(parse_target("arithmetic:\n  rounding: singel_round\n", "t.yaml")),
            "error: 'rounding' of 'arithmetic' is 'singel_round', wanted one of: single_round, double_round, float_rne\n"
            "  --> t.yaml:2:13\n"
            "   |    rounding: singel_round\n"
            "   |              ^^^^^^^^^^^^\n"
            "  help: did you mean 'single_round'?");
  EXPECT_EQ(error_of(parse_target("activations: {types: []}", "t.yaml")).find("error: 'types' of 'activations' is an empty list, wanted a list of at least one of: "), 0U);
  EXPECT_EQ(error_of(parse_target("weights: {bits: 9}", "t.yaml")),
            "error: 'bits' of 'weights' is 9, wanted an integer in [2, 8]\n"
            "  --> t.yaml:1:17\n"
            "   |  weights: {bits: 9}\n"
            "   |                  ^");
}

TEST(Target, FloatOnlyNamesOperatorsThatALayerCanBe) {
  for (const char* op : {"MatMul", "Gemm", "SiLU", "Softmax", "LayerNormalization"}) {
    EXPECT_EQ(test::must(parse_target(fmt::format("float_only: {{{}: none}}", op), "t.yaml")).supports(op, DType::kI8).reason, "none");
  }
  EXPECT_EQ(error_of(parse_target("float_only:\n  Softmx: none\n", "t.yaml")),
            "error: 'float_only' names 'Softmx', and there is no such operator\n"
            "  --> t.yaml:2:3\n"
            "   |    Softmx: none\n"
            "   |    ^^^^^^\n"
            "  help: did you mean 'Softmax'?  `narrow ops` lists the operators");
  EXPECT_EQ(error_of(parse_target("float_only: {Foo: none}", "t.yaml")).find("error: 'float_only' names 'Foo', and there is no such operator\n"), 0U);
  EXPECT_EQ(error_of(parse_target("float_only: {qconv: none}", "t.yaml")).find("error: 'float_only' names 'qconv', and there is no such operator\n"), 0U) << "integer operators are ours";
  for (const char* op : {"Split", "Flatten", "BatchNormalization", "GlobalAveragePool", "LSTM"}) {
    EXPECT_EQ(error_of(parse_target(fmt::format("float_only: {{{}: none}}", op), "t.yaml")).find(fmt::format("error: '{}' of 'float_only' has no effect: import rewrites this operator\n", op)), 0U) << op;
  }
}

TEST(Target, UnknownNameListsTheKnownOnes) {
  const std::string text = error_of(load_target("generic-in8"));
  EXPECT_EQ(text.find("error: no target is called 'generic-in8'\n  help: did you mean 'generic-int8'?  known: "), 0U) << text;
}

TEST(Target, FolderOfTheUserComesFirst) {
  const std::string folder = test::temporary_folder();
  test::must(write_file(folder + "/mine.yaml", "weights: {bits: 4}\n"));
  ::setenv("NARROW_TARGETS", folder.c_str(), 1);
  const Target mine = test::must(load_target("mine"));
  EXPECT_EQ(mine.name, "mine");
  EXPECT_EQ(mine.weight_bits, 4);
  ::unsetenv("NARROW_TARGETS");
  EXPECT_FALSE(load_target("mine").has_value());
  EXPECT_EQ(test::must(load_target(folder + "/mine.yaml")).weight_bits, 4);
}

}  // namespace
}  // namespace narrow
