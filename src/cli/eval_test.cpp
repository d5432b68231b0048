// `narrow eval` end to end, through the binary.
#include <gtest/gtest.h>

#include <cmath>

#include "model/export_onnx.h"
#include "ops/op_def.h"
#include "scene.h"

namespace narrow {
namespace {

using test::must;
using test::Outcome;

class Eval : public test::SceneTest {};

TEST_F(Eval, FindsAnomalies) {
  // A network that halves its input: the error of a window is a quarter of its mean square.
  scene.write("half.yaml", "input: {window_stride: 2}\neval: {task: anomaly}\n");
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, {1, 4});
  graph.add_output(must(append_inferred(graph, {.name = "y", .op = "Mul", .inputs = {x, graph.add_constant("half", Tensor::scalar(0.5F))}})));
  must(export_onnx(graph, scene.path("half.onnx")));
  const auto recording = [&](const std::string& name, std::vector<float> v) { must(write_npy(scene.path(name), Tensor::of<float>({static_cast<std::int64_t>(v.size())}, v))); };
  // Mean squares over the windows: a 1, b 4, c 2.5 (windows of 1 and 4), d 9.
  recording("a.npy", {1, 1, 1, 1, 1, 1});
  recording("b.npy", {2, 2, 2, 2});
  recording("c.npy", {1, 1, 1, 1, std::sqrt(7.0F), std::sqrt(7.0F)});
  recording("d.npy", {3, 3, 3, 3, 3, 3, 3, 3});
  scene.write("list.txt", "a.npy\nb.npy\nc.npy\nd.npy\n");
  const auto area = [&](const std::string& labels) {
    scene.write("labels.txt", labels);
    return json("eval half.onnx -c half.yaml --data list.txt --labels labels.txt --json").find("networks")->items()[0].find("AUC")->as_double();
  };
  EXPECT_EQ(area("a.npy 0\nb.npy 1\nc.npy 0\nd.npy 1\n"), 1);
  EXPECT_EQ(area("a.npy 0\nb.npy 0\nc.npy 1\nd.npy 1\n"), 0.75);
  EXPECT_EQ(area("a.npy 1\nb.npy 0\nc.npy 0\nd.npy 1\n"), 0.5);
  EXPECT_EQ(json("eval half.onnx -c half.yaml --data list.txt --labels labels.txt --json").find("samples")->as_int(), 2 + 1 + 2 + 3);
  EXPECT_EQ(scene.narrow("eval half.onnx -c half.yaml --data list.txt --labels labels.txt -q --min-metric AUC=0.6").exit_code, 3);
  const auto refusal = [&](const std::string& arguments) { return scene.narrow("eval half.onnx -q " + arguments).err; };
  EXPECT_TRUE(refusal("-c half.yaml --data list.txt").starts_with("error: task 'anomaly' needs labels, found none\n"));
  scene.write("labels.txt", "a.npy 0\nb.npy 0\nc.npy 0\nd.npy 0\n");
  EXPECT_TRUE(refusal("-c half.yaml --data list.txt --labels labels.txt").starts_with("error: labels 'labels.txt' call every recording normal (0), wanted both kinds\n"));
  scene.write("labels.txt", "a.npy 0\nb.npy 1\nc.npy 0\n");
  EXPECT_TRUE(refusal("-c half.yaml --data list.txt --labels labels.txt").starts_with("error: labels 'labels.txt' have no line for sample 'd.npy'\n"));
}

TEST_F(Eval, ScoresAndGates) {
  compile();
  // Labels that are what the float network answers: it is right always.
  const Json real = json("run net.onnx --input data.npy --json");
  Tensor labels(DType::kU8, {40});
  for (std::size_t i = 0; i < 40; ++i) {
    const Json::Array& y = real.items()[i].find("outputs")->find("y")->items();
    std::size_t best = 0;
    for (std::size_t k = 1; k < 5; ++k) best = y[k].as_double() > y[best].as_double() ? k : best;
    labels.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(best);
  }
  must(write_npy(scene.path("labels.npy"), labels));
  const Json scores = json("eval net.onnx net.narrow --data data.npy --labels labels.npy --json");
  EXPECT_EQ(scores.find("samples")->as_int(), 40);
  EXPECT_EQ(scores.find("networks")->items()[0].find("top-1")->as_double(), 100);
  EXPECT_GT(scores.find("networks")->items()[1].find("top-1")->as_double(), 90);
  const Json skipped = json("eval net.onnx --data data.npy --labels labels.npy --first 30 --json");
  EXPECT_EQ(skipped.find("samples")->as_int(), 10);
  EXPECT_EQ(skipped.find("networks")->items()[0].find("top-1")->as_double(), 100);
  const Outcome table = good("eval net.onnx net.narrow --data data.npy --labels labels.npy -q --min-metric top-1=50");
  EXPECT_TRUE(table.out.starts_with("metric          float  integer  delta\ntop-1 %        100.00")) << table.out;
  const Outcome three = good("eval " + scene.path("net.onnx") + " net.narrow " + scene.path("net.qdq.onnx") + " --data data.npy --labels labels.npy -q");
  EXPECT_TRUE(three.out.starts_with("metric         net.onnx  net.narrow  net.qdq.onnx\n")) << three.out;
  const Json agreement = json("eval net.onnx net.narrow --data data.npy --json");
  EXPECT_TRUE(agreement.find("agreement")->as_bool());
  EXPECT_EQ(agreement.find("networks")->items()[0].find("top-1")->as_double(), 100);
  EXPECT_EQ(agreement.find("networks")->items()[1].find("top-1")->as_double(), scores.find("networks")->items()[1].find("top-1")->as_double()) << "the labels were the float network's answers";
  const Outcome unlabelled = scene.narrow("eval net.onnx --data data.npy -q");
  EXPECT_TRUE(unlabelled.err.starts_with("error: task 'classify' needs labels, found none\n")) << unlabelled.err;
  const Outcome gate = scene.narrow("eval net.onnx --data data.npy --labels labels.npy -q --min-metric top-1=101");
  EXPECT_EQ(gate.exit_code, 3);
  EXPECT_TRUE(gate.err.starts_with("error: top-1 is 100, wanted at least 101\n")) << gate.err;
  const Outcome unknown = scene.narrow("eval net.onnx --data data.npy --labels labels.npy -q --min-metric top1=5");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_TRUE(unknown.err.starts_with("error: unknown metric 'top1' in --min-metric, wanted one of top-1, top-5, mAP@.5, AUC, lines, characters\n")) << unknown.err;
  // What calibration never saw is said, and the formula too.
  must(write_npy(scene.path("codes.npy"), must(read_npy(scene.path("data.npy")))));
  scene.write("twice.yaml", "input: {divide: 255}\n");
  const Outcome twice = good("eval net.narrow -c twice.yaml --data codes.npy --labels labels.npy");
  EXPECT_NE(twice.err.find("x = f32 array * 0.00392156863, f32"), std::string::npos) << twice.err;
  EXPECT_NE(twice.err.find("warning: input 'x' is fed values from "), std::string::npos) << twice.err;
  EXPECT_NE(twice.err.find(", but the network was calibrated for ["), std::string::npos) << twice.err;
  EXPECT_EQ(good("eval net.narrow --data data.npy --labels labels.npy").err.find("warning"), std::string::npos);
  must(write_npy(scene.path("few.npy"), Tensor::zeros(DType::kU8, {3})));
  const Outcome few = scene.narrow("eval net.onnx --data data.npy --labels few.npy -q");
  EXPECT_EQ(few.exit_code, 1);
  EXPECT_TRUE(few.err.starts_with("error: labels 'few.npy' hold 3 entries, wanted one for each of the 40 samples\n")) << few.err;
}

}  // namespace
}  // namespace narrow
