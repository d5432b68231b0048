// The commands that look at files, inspect, explain and report, end to end, through the binary.
#include <gtest/gtest.h>

#include "base/text.h"
#include "scene.h"

namespace narrow {
namespace {

using test::Outcome;

class Inspect : public test::SceneTest {};

TEST_F(Inspect, KnowsEveryFile) {
  compile();
  std::filesystem::create_directory(scene.path("dump"));
  good("compile net.onnx --data data.npy -q --dump-dir dump");
  scene.write("recipe.yaml", "input:\n  divide: 255\n");
  const auto first_line = [&](const std::string& file) { return split(good("inspect " + file).out, '\n')[0]; };
  EXPECT_EQ(first_line("net.onnx"), "net.onnx: model");
  EXPECT_EQ(first_line("net.qdq.onnx"), "net.qdq.onnx: model");
  EXPECT_EQ(first_line("net.narrow"), "net.narrow: artifact");
  EXPECT_EQ(first_line("net.plan"), "net.plan: plan");
  EXPECT_EQ(first_line("net.report.json"), "net.report.json: report");
  EXPECT_EQ(first_line("dump/3-calibrate.stats"), "dump/3-calibrate.stats: statistics");
  for (const std::string dump : {"dump/1-import.graph", "dump/2-simplify.graph", "dump/5-lower.graph"}) EXPECT_EQ(first_line(dump), dump + ": graph");
  EXPECT_NE(good("inspect dump/1-import.graph").out.find("\nconstants 1.4 kB\n"), std::string::npos) << good("inspect dump/1-import.graph").out;
  EXPECT_EQ(first_line("dump/4-plan.plan"), "dump/4-plan.plan: plan");
  EXPECT_EQ(first_line("dump/6-compare.json"), "dump/6-compare.json: comparison");
  EXPECT_EQ(json("inspect dump/6-compare.json --json").find("layers")->items().size(), 6U);
  scene.write("compared.json", good("compare net.onnx net.narrow --data data.npy --samples 3 -q --json").out);
  EXPECT_TRUE(good("inspect compared.json").out.starts_with("compared.json: comparison\nsamples   3\nlayer "));
  EXPECT_EQ(first_line("data.npy"), "data.npy: array");
  EXPECT_EQ(first_line("recipe.yaml"), "recipe.yaml: recipe");
  EXPECT_EQ(first_line(test::source_folder() + "/targets/ort.yaml"), test::source_folder() + "/targets/ort.yaml: target");
  EXPECT_EQ(json("inspect net.narrow --layers --json").find("kind")->as_string(), "artifact");
  const Outcome nothing = scene.narrow("inspect nothing.bin");
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_TRUE(nothing.err.starts_with("error: cannot open 'nothing.bin'")) << nothing.err;
}

TEST_F(Inspect, OutStandsForItsArtifactElseItsPlan) {
  compile();
  std::filesystem::create_directory(scene.path("net"));  // is no file
  EXPECT_EQ(good("explain net").out, good("explain net.narrow").out);
  EXPECT_EQ(split(good("inspect net").out, '\n')[0], "net.narrow: artifact");
  std::filesystem::remove(scene.path("net.narrow"));
  EXPECT_EQ(good("explain net gemm").out, good("explain net.plan gemm").out);
  EXPECT_EQ(split(good("inspect net").out, '\n')[0], "net.plan: plan");
  for (const char* command : {"explain", "inspect"}) {
    const Outcome nothing = scene.narrow(std::string(command) + " nothing");
    EXPECT_EQ(nothing.exit_code, 1) << command;
    EXPECT_TRUE(nothing.err.starts_with("error: cannot open 'nothing': No such file or directory\n")) << nothing.err;
  }
}

TEST_F(Inspect, NamesWhatItKnowsWhenAFileIsNone) {
  scene.write("page.html", "<!DOCTYPE html>\n<p>a: b: c</p>\n");
  scene.write("cat.png", "\x89PNG\r\n\x1a\n");
  scene.write("net.yaml", "input: {divid: 255}\n");
  for (const char* file : {"page.html", "cat.png"}) {
    const Outcome outcome = scene.narrow(std::string("inspect ") + file);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_TRUE(outcome.err.starts_with(std::string("error: '") + file + "' is no file that narrow knows\n  help: give a model (.onnx), an artifact, ")) << outcome.err;
  }
  EXPECT_TRUE(scene.narrow("inspect net.yaml").err.starts_with("error: unknown key 'divid' in 'input'\n"));
}

TEST_F(Inspect, ExplainAndReport) {
  compile();
  const Outcome all = good("explain net.narrow");
  EXPECT_NE(all.out.find("decided by"), std::string::npos);
  EXPECT_NE(all.out.find("default: "), std::string::npos) << all.out;
  EXPECT_NE(good("explain net.plan gemm").out.find("gemm"), std::string::npos);
  EXPECT_EQ(scene.narrow("explain net.narrow nonsense").exit_code, 1);
  std::filesystem::remove(scene.path("net.html"));
  EXPECT_EQ(good("report net").out, "wrote net.html\n");
  EXPECT_NE(scene.read("net.html").find("</html>"), std::string::npos);
  EXPECT_EQ(good("report net.narrow -o page.html").out, "wrote page.html\n");
  const Outcome wrong = scene.narrow("report data.npy");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_TRUE(wrong.err.starts_with("error: 'data.npy' is not a narrow report\n")) << wrong.err;
}

}  // namespace
}  // namespace narrow
