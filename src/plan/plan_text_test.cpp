#include "plan/plan.h"
#include "support.h"

namespace narrow {
namespace {

using test::must;

Plan sample_plan() {
  Plan p;
  p.graph_hash = 0x0123456789abcdefULL;
  p.target = "generic-int8";
  p.activations.push_back({"x \"quoted\" \\ value", QuantParams::per_tensor(DType::kI8, 0.1F, -128), "default: mse over 64 samples"});
  p.activations.push_back({"y", QuantParams::per_tensor(DType::kI16, 1.0F / 3, 0), "two\nlines"});
  QuantParams w;
  w.dtype = DType::kI8;
  w.bits = 4;
  w.narrow_range = true;
  w.axis = 0;
  w.scale = {0.5F, 1e-20F, 0.1F};
  w.zero_point = {0, 0, 0};
  p.constants.push_back({"conv", 1, w, "largest magnitude"});
  w.zero_point = {1, 2, 3};
  p.constants.push_back({"conv", 2, w, "per channel zero points"});
  p.activations.push_back({"z", p.activations[0].params, "constraint: same as it", p.activations[0].value});
  p.islands.push_back({"softmax", "Softmax has no integer form"});
  p.notes = {"something was done"};
  return p;
}

TEST(PlanText, PrintsAndParsesBackToItself) {
  const Plan p = sample_plan();
  EXPECT_EQ(p.to_text(), R"(narrow plan 1
graph 0123456789abcdef
target "generic-int8"
activation "x \"quoted\" \\ value" i8 scale=0.1 zp=-128 by "default: mse over 64 samples"
activation "y" i16 scale=0.33333334 zp=0 by "two\nlines"
activation "z" as "x \"quoted\" \\ value" by "constraint: same as it"
constant "conv" 1 i8 bits=4 narrow axis=0 scale=0.5,1e-20,0.1 zp=0 by "largest magnitude"
constant "conv" 2 i8 bits=4 narrow axis=0 scale=0.5,1e-20,0.1 zp=1,2,3 by "per channel zero points"
island "softmax" by "Softmax has no integer form"
note "something was done"
)");
  const Plan back = must(Plan::from_text(p.to_text(), "plan.txt"));
  EXPECT_EQ(back, p);
  EXPECT_EQ(back.hash(), p.hash());
  Plan other = p;
  other.activations[0].params.zero_point[0] = -127;
  EXPECT_NE(other.hash(), p.hash());
}

TEST(PlanText, AnyNameSurvives) {
  Plan p = sample_plan();
  std::string every;
  for (int c = 0; c < 256; ++c) every += static_cast<char>(c);
  p.activations[0].value = every;
  p.activations.back().same_as = every;
  p.constants[0].node = "a\r";
  p.islands[0].node = "\\\"\t";
  const std::string text = p.to_text();
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  EXPECT_EQ(must(Plan::from_text(text, "p")), p);
}

TEST(PlanText, AValueMayShareTheParamsOfAnother) {
  // Whatever the order of the lines.
  const std::string text = "narrow plan 1\nactivation \"y\" as \"x\" by \"me\"\nactivation \"x\" u8 scale=2 zp=3 by \"me\"\n";
  Plan p = must(Plan::from_text(text, "p"));
  EXPECT_EQ(p.activations.at(0), (ActivationPlan{"y", QuantParams::per_tensor(DType::kU8, 2, 3), "me", "x"}));
  EXPECT_NE(p.to_text().find("activation \"y\" as \"x\" by \"me\"\n"), std::string::npos);
  // Numbers are printed where they are not those of the other.
  p.activations[0].params.scale[0] = 4;
  EXPECT_NE(p.to_text().find("activation \"y\" u8 scale=4 zp=3 by \"me\"\n"), std::string::npos);
  EXPECT_EQ(must(Plan::from_text(p.to_text(), "p")).activations[0].params.scale[0], 4);
}

TEST(PlanText, CommentsAndBlankLinesAreForPeople) {
  const Plan p = must(Plan::from_text("narrow plan 1\n\n# by hand\n  graph 0000000000000001\r\ntarget \"t\"\nactivation  \"x\"  u8 zp=3 scale=2 by \"me\"\n", "p"));
  EXPECT_EQ(p.graph_hash, 1U);
  EXPECT_EQ(p.activations.at(0), (ActivationPlan{"x", QuantParams::per_tensor(DType::kU8, 2, 3), "me"}));
}

TEST(PlanText, ErrorsNameFileLineAndColumn) {
  const auto fails = [](const std::string& text) {
    const auto p = Plan::from_text("narrow plan 1\n" + text, "p.plan");
    EXPECT_FALSE(p.has_value()) << text;
    return p ? std::string() : p.error().to_string();
  };
  EXPECT_EQ(fails("activation \"x\" i8 scale=-1 zp=0 by \"me\""),
            "error: '-1' is not a scale\n  --> p.plan:2:19\n   |  activation \"x\" i8 scale=-1 zp=0 by \"me\"\n   |                    ^^^^^^^^\n  help: a scale is a positive normal number");
  EXPECT_EQ(fails("activation \"x\" i8 scal=1 zp=0 by \"me\"").substr(0, 26), "error: unknown key 'scal'\n");
  EXPECT_NE(fails("activation \"x\" i8 scale=1 zp=300 by \"me\"").find("zero point 300 does not fit i8, wanted -128 to 127"), std::string::npos);
  EXPECT_NE(fails("activation \"x\" f16 scale=1 zp=0 by \"me\"").find("'f16' is not a quantized type"), std::string::npos);
  EXPECT_NE(fails("activation \"x\" i8 scale=1 zp=0").find("the line ends, wanted 'by'"), std::string::npos);
  EXPECT_NE(fails("activation \"x i8").find("the quoted text has no end"), std::string::npos);
  EXPECT_NE(fails("activation \"x\\").find("the quoted text has no end"), std::string::npos);
  EXPECT_NE(fails("activation \"\\q\" i8").find("unknown escape in the quoted text"), std::string::npos);
  EXPECT_NE(fails("activation x i8 scale=1 zp=0 by \"me\"").find("found 'x', wanted a value's name, in quotes"), std::string::npos);
  EXPECT_NE(fails("activation \"x\" i8 scale=1,2 zp=0 by \"me\"").find("2 scales without an axis"), std::string::npos);
  for (const char* number : {"4294967304", "-1", "-4294967288"}) {  // 8 modulo 2^32
    EXPECT_NE(fails(fmt::format("activation \"x\" i8 bits={} scale=1 zp=0 by \"me\"", number)).find("is not a number from 0 to 65535"), std::string::npos);
    EXPECT_NE(fails(fmt::format("activation \"x\" i8 axis={} scale=1 zp=0 by \"me\"", number)).find("is not a number from 0 to 65535"), std::string::npos);
    EXPECT_NE(fails(fmt::format("constant \"x\" {} i8 scale=1 zp=0 by \"me\"", number)).find("is not a number from 0 to 65535"), std::string::npos);
  }
  EXPECT_EQ(fails("activation \"y\" as \"x\" by \"me\""), "error: 'y' shall be as 'x', which is not planned\n  --> p.plan:2:19\n   |  activation \"y\" as \"x\" by \"me\"\n   |                    ^^^\n  help: give it a type, scale= and zp= of its own");
  EXPECT_NE(fails("activation \"y\" as \"y\" by \"me\"").find("'y' shall be as 'y', which has no params of its own"), std::string::npos);
  EXPECT_NE(fails("activation \"y\" as x by \"me\"").find("found 'x', wanted the name of the value whose params it shares, in quotes"), std::string::npos);
  EXPECT_NE(fails("activation \"y\" \"as\" \"x\" by \"me\"").find("found quoted text, wanted a type such as i8"), std::string::npos);
  EXPECT_NE(fails("aktivation \"x\"").find("unknown kind of entry 'aktivation'"), std::string::npos);
  EXPECT_NE(fails("graph 12").find("'12' is not a hash"), std::string::npos);
  EXPECT_NE(fails("note \"a\" b").find("nothing was wanted here"), std::string::npos);
  EXPECT_EQ(Plan::from_text("hello", "p.plan").error().message, "'p.plan' is not a plan of this version: it begins with 'hello', wanted 'narrow plan 1'");
}

}  // namespace
}  // namespace narrow
