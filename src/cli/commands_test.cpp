// The commands end to end on a tiny network, through the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "model/export_onnx.h"
#include "ops/op_def.h"
#include "scene.h"

namespace narrow {
namespace {

using test::must;
using test::Outcome;
using test::Scene;

class Commands : public ::testing::Test {
 protected:
  Scene scene = Scene::ready();
  Outcome good(const std::string& arguments) {
    Outcome outcome = scene.narrow(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
    return outcome;
  }
  Json json(const std::string& arguments) { return must(parse_json(good(arguments).out, arguments)); }
  void compile() { good("compile net.onnx --data data.npy --samples 32 -q -o net"); }
};

TEST_F(Commands, CompileWritesEveryProductAndTheSameLastLines) {
  const Outcome outcome = good("compile net.onnx --data data.npy --samples 32 -o net");
  for (const char* product : {"net.narrow", "net.qdq.onnx", "net.plan", "net.report.json", "net.html"}) EXPECT_GT(scene.read(product).size(), 100U) << product;
  const std::string last = outcome.out.substr(outcome.out.find("model     "));
  EXPECT_TRUE(last.starts_with("model     net.onnx  6 layers, 341 parameters\ntarget    generic-int8, calibrated on 32 samples\ncoverage  6/6 layers integer\naccuracy  output 'y' ")) << outcome.out;
  EXPECT_TRUE(last.ends_with("\nwrote     net.narrow, net.qdq.onnx, net.plan, net.report.json, net.html\n")) << outcome.out;
  for (const char* phase : {"[1/7] import", "[2/7] simplify", "[3/7] calibrate", "[4/7] plan", "[5/7] lower", "[6/7] compare", "[7/7] pack"}) {
    EXPECT_NE(outcome.err.find(phase), std::string::npos) << outcome.err;
  }
  EXPECT_NE(outcome.err.find("2 samples that calibration did not see"), std::string::npos) << outcome.err;
}

TEST_F(Commands, WaitingPoliciesChangeNothing) {
  const std::string expected = good("check net.onnx").out;
  // Without either variable the program starts itself again; arguments and exit codes must come through.
  for (const char* policy : {"unset OMP_WAIT_POLICY GOMP_SPINCOUNT;", "unset OMP_WAIT_POLICY; export GOMP_SPINCOUNT=5;", "export OMP_WAIT_POLICY=active;"}) {
    const Outcome outcome = scene.narrow("check net.onnx", policy);
    EXPECT_EQ(outcome.exit_code, 0) << policy;
    EXPECT_EQ(outcome.out, expected) << policy;
    EXPECT_EQ(scene.narrow("check 'no such file.onnx'", policy).exit_code, 1) << policy;
    EXPECT_EQ(scene.narrow("chekc", policy).exit_code, 2) << policy;
  }
}

TEST_F(Commands, SameInputsGiveTheSameBytes) {
  compile();
  good("compile net.onnx --data data.npy --samples 32 -q --threads 1 -o again");
  EXPECT_TRUE(scene.read("net.narrow") == scene.read("again.narrow"));
  EXPECT_EQ(scene.read("net.plan"), scene.read("again.plan"));
  EXPECT_TRUE(scene.read("net.qdq.onnx") == scene.read("again.qdq.onnx"));
}

TEST_F(Commands, PlanAndStatisticsCanBeGivenBack) {
  good("compile net.onnx --data data.npy --samples 32 -q -o net --dump-dir dump");
  for (const char* dump : {"1-import.graph", "2-simplify.graph", "3-calibrate.stats", "4-plan.plan", "5-lower.graph", "6-compare.json"}) EXPECT_TRUE(scene.exists(std::string("dump/") + dump)) << dump;
  good("compile net.onnx --stats dump/3-calibrate.stats -q -o from_stats");
  EXPECT_EQ(scene.read("net.plan"), scene.read("from_stats.plan"));
  good("compile net.onnx --plan net.plan -q -o from_plan");
  EXPECT_EQ(scene.read("net.plan"), scene.read("from_plan.plan"));
  EXPECT_EQ(json("run net.narrow --input data.npy --samples 3 --json").dump(), json("run from_plan.narrow --input data.npy --samples 3 --json").dump());
}

TEST_F(Commands, AnEditedPlanDecides) {
  good("compile net.onnx --data data.npy --target ort -q -o net");
  std::string plan = scene.read("net.plan");
  // One edit: the class and the biases that follow from it need none.
  const std::size_t at = plan.find(" u8 scale=");
  ASSERT_NE(at, std::string::npos) << plan;
  plan.replace(at, plan.find(" zp=", at) - at, " u8 scale=0.5");
  scene.write("mine.plan", plan);
  const Outcome edited = good("compile net.onnx --plan mine.plan -v -o edited");
  EXPECT_NE(edited.err.find("note: the bias scale of 1 layer in the plan was made again from those of activation and weight: 'conv'\n"), std::string::npos) << edited.err;
  const std::string settled = scene.read("edited.plan");
  EXPECT_NE(settled.find("target \"ort\"\n"), std::string::npos) << "the plan's own target";
  EXPECT_NE(settled, plan) << "the biases";
  good("compile net.onnx --plan edited.plan -q -o again");
  EXPECT_EQ(scene.read("again.plan"), settled);
  EXPECT_TRUE(scene.read("again.narrow") == scene.read("edited.narrow"));
  EXPECT_EQ(json("run net.onnx --mode int --plan mine.plan --input data.npy --samples 2 --json").dump(), json("run edited.narrow --input data.npy --samples 2 --json").dump());

  const Outcome other = scene.narrow("compile net.onnx --plan edited.plan --target tflite -q -o other");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_TRUE(other.err.starts_with("error: the plan was made for target 'ort', not for 'tflite'\n")) << other.err;
  scene.write("far.plan", "narrow plan 1\ntarget \"far\"\n");
  for (const char* command : {"compile net.onnx -q --plan far.plan", "run net.onnx -q --mode int --plan far.plan --input data.npy"}) {
    const Outcome far = scene.narrow(command);
    EXPECT_EQ(far.exit_code, 1);
    EXPECT_TRUE(far.err.starts_with("error: the plan's target: no target is called 'far'\n")) << far.err;
  }
}

TEST_F(Commands, ThePlanTakesTheRecipesSay) {
  compile();
  scene.write("r.yaml", "target: generic-int8\ninput: {scale: 2}\ncalibration: {method: kl, samples: 8}\nlayers: [{match: conv, activations: int16}]\n");
  const Outcome both = good("compile net.onnx --plan net.plan -c r.yaml --data data.npy -o both");
  EXPECT_NE(both.err.find("warning: the plan 'net.plan' decides, so that 'calibration.method', 'layers' of the recipe 'r.yaml' have no effect\n  help: edit the plan, or leave --plan out\n"), std::string::npos) << both.err;
  EXPECT_EQ(scene.read("net.plan"), scene.read("both.plan"));
  EXPECT_NE(both.err.find("8 samples"), std::string::npos) << "what describes the data is used: " << both.err;
  scene.write("r.yaml", "target: generic-int8\ninput: {scale: 2}\ncalibration: {samples: 8}\n");
  EXPECT_EQ(good("compile net.onnx --plan net.plan -c r.yaml --data data.npy -o both").err.find("no effect"), std::string::npos);
}

TEST_F(Commands, TheOrderOfSamplesChangesNoNetwork) {
  compile();
  Tensor data = must(read_npy(scene.path("data.npy"))).clone();
  const std::int64_t row = data.elements() / 40;
  std::span<float> all = data.span<float>();
  for (std::int64_t i = 0; i < 16; ++i) std::swap_ranges(all.begin() + i * row, all.begin() + (i + 1) * row, all.begin() + (31 - i) * row);  // the 32 that calibrate
  must(write_npy(scene.path("turned.npy"), data));
  good("compile net.onnx --data turned.npy --samples 32 -q -o turned");
  EXPECT_EQ(scene.read("net.plan"), scene.read("turned.plan"));
  EXPECT_TRUE(scene.read("net.qdq.onnx") == scene.read("turned.qdq.onnx"));
  EXPECT_EQ(json("inspect net.narrow --json").find("network_hash")->as_string(), json("inspect turned.narrow --json").find("network_hash")->as_string());
}

TEST_F(Commands, StopAfterWritesNothing) {
  const Outcome outcome = good("compile net.onnx --data data.npy --stop-after plan -o net");
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("plan"), std::string::npos);
  EXPECT_EQ(outcome.err.find("lower"), std::string::npos);
  EXPECT_FALSE(scene.exists("net.narrow"));
  good("compile net.onnx --stop-after simplify -q");  // needs no data
}

TEST_F(Commands, StopAfterTellsWhatIsKnown) {
  const auto keys = [&](const std::string& phase) {
    std::string names;
    const Json known = json("compile net.onnx --data data.npy --samples 8 -q --json --stop-after " + phase);
    EXPECT_EQ(known.find("stopped_after")->as_string(), phase);
    EXPECT_EQ(known.find("model")->find("parameters")->as_int(), 341);
    for (const auto& [key, value] : known.members()) names += key + " ";
    return names;
  };
  EXPECT_EQ(keys("import"), "stopped_after model target recipe warnings times ");
  EXPECT_EQ(keys("simplify"), "stopped_after model target recipe initiative warnings times ");
  EXPECT_EQ(keys("calibrate"), "stopped_after model target recipe initiative calibrated_on data warnings times ");
  EXPECT_EQ(keys("plan"), "stopped_after model target recipe initiative calibrated_on data coverage warnings times ");
  EXPECT_EQ(keys("lower"), keys("plan"));
  EXPECT_EQ(keys("compare"), "stopped_after model target recipe initiative calibrated_on data coverage accuracy layers worst histograms findings warnings times ");
  const Json planned = json("compile net.onnx --data data.npy --samples 8 -q --json --stop-after plan");
  EXPECT_EQ(planned.find("calibrated_on")->as_int(), 8);
  EXPECT_EQ(planned.find("coverage")->find("integer")->as_int(), 6);
  EXPECT_EQ(planned.find("times")->items().size(), 4U);
  EXPECT_EQ(json("compile net.onnx --data data.npy --samples 8 -q --json --stop-after pack").find("stopped_after"), nullptr);
}

TEST_F(Commands, RunInEveryArithmetic) {
  compile();
  const Json real = json("run net.onnx --input data.npy --samples 2 --json");
  const Json fake = json("run net.onnx --mode fake --plan net.plan --input data.npy --samples 2 --json");
  const Json integer = json("run net.narrow --input data.npy --samples 2 --json");
  const Json lowered = json("run net.onnx --mode int --plan net.plan --input data.npy --samples 2 --json");
  EXPECT_EQ(integer.dump(), lowered.dump());
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(real.items()[i].find("sample")->as_string(), "data.npy[" + std::to_string(i) + "]");
    for (std::size_t k = 0; k < 5; ++k) {
      const double y = real.items()[i].find("outputs")->find("y")->items()[k].as_double();
      EXPECT_NEAR(fake.items()[i].find("outputs")->find("y")->items()[k].as_double(), y, 0.1);
      EXPECT_NEAR(integer.items()[i].find("outputs")->find("y")->items()[k].as_double(), y, 0.1);
    }
  }
  good("run net.narrow --input data.npy --samples 7 -q -o out.npy");
  EXPECT_EQ(must(read_npy(scene.path("out.npy"))).shape(), (Shape{7, 5}));
  good("run net.narrow --input data.npy --samples 7 -q -o out.npz");
  EXPECT_NE(good("inspect out.npz").out.find("f32[7,5]"), std::string::npos);
  EXPECT_EQ(scene.narrow("run net.narrow --mode float --input data.npy -q").exit_code, 2);
}

// A divisor that is small but never zero becomes zero on its grid.
TEST_F(Commands, DivisionByWhatRoundingMadeZeroIsSaid) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, {1, 64});
  const ValueId root = must(append_inferred(graph, {.name = "root", .op = "Sqrt", .inputs = {x}}));
  const ValueId y = must(append_inferred(graph, {.name = "y", .op = "Div", .inputs = {x, root}}));
  graph.add_output(y);
  graph.add_output(must(append_inferred(graph, {.name = "z", .op = "Relu", .inputs = {y}})));
  must(export_onnx(graph, scene.path("norm.onnx")));
  Tensor data(DType::kF32, {8, 64});
  for (std::int64_t i = 0; i < data.elements(); ++i) data.data<float>()[i] = i % 2 == 0 ? 1e-4F : static_cast<float>(i);
  must(write_npy(scene.path("positive.npy"), data));
  for (const std::string command : {"compile norm.onnx --data positive.npy -o norm", "compare norm.onnx norm.narrow --data positive.npy", "compile norm.onnx --data positive.npy --sensitivity 2 -o norm"}) {
    const Outcome outcome = scene.narrow(command + " --min-metric sqnr=5");
    EXPECT_EQ(outcome.exit_code, 3) << command << outcome.err;
    EXPECT_NE(outcome.err.find("warning: layer 'y' (Div) gives NaN or infinities in "), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("layers: [{match: \"root\", keep: float}]"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.out.find("none"), std::string::npos) << outcome.out;
  }
  const Json report = json("compare norm.onnx norm.narrow --data positive.npy -q --json");
  EXPECT_EQ(report.find("outputs")->items()[0].find("sqnr_db")->as_double(), -999);
  EXPECT_GT(report.find("outputs")->items()[0].find("lost")->as_int(), 0);
}

TEST_F(Commands, EvalFindsAnomalies) {
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

TEST_F(Commands, EvalScoresAndGates) {
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

TEST_F(Commands, CompareTellsDamageAndGates) {
  compile();
  const Json json_text = json("compare net.onnx net.narrow --data data.npy --samples 4 --json");
  EXPECT_EQ(json_text.find("samples")->as_int(), 4);
  const Json::Array& layers = json_text.find("layers")->items();
  ASSERT_GE(layers.size(), 4U);
  for (const Json& layer : layers) {
    const Json* alone = layer.find("isolated")->find("sqnr_db");
    EXPECT_TRUE(alone->is_null() || alone->as_double() > 20) << layer.dump();
  }
  EXPECT_EQ(scene.narrow("compare net.onnx net.narrow --data data.npy --samples 4 -q --min-metric sqnr=10 --min-metric cosine=0.9").exit_code, 0);
  const Outcome gate = scene.narrow("compare net.onnx net.narrow --data data.npy --samples 4 -q --min-metric sqnr=99");
  EXPECT_EQ(gate.exit_code, 3);
  EXPECT_NE(gate.err.find("wanted at least 99"), std::string::npos) << gate.err;
  // A model against itself is exact everywhere.
  const Json itself = json("compare net.onnx net.onnx --data data.npy --samples 2 --json");
  for (const Json& output : itself.find("outputs")->items()) EXPECT_TRUE(output.find("sqnr_db")->is_null());
}

TEST_F(Commands, CompareExactly) {
  compile();
  EXPECT_EQ(good("compare net.narrow net.narrow --exact --data data.npy --samples 5 -q").out, "equal: 1 output on 5 samples, bit for bit\n");
  EXPECT_TRUE(json("compare net.narrow net.narrow --exact --data data.npy --samples 5 --json").find("equal")->as_bool());
  const Outcome different = scene.narrow("compare net.onnx net.narrow --exact --data data.npy --samples 5 -q");
  EXPECT_EQ(different.exit_code, 3);
  EXPECT_TRUE(different.err.starts_with("error: output 'y' differs on sample 'data.npy[0]'\n")) << different.err;
  const Outcome told = scene.narrow("compare net.onnx net.narrow --exact --data data.npy --samples 5 -q --json");
  EXPECT_EQ(told.exit_code, 3);
  const Json answer = must(parse_json(told.out, "compare"));
  EXPECT_FALSE(answer.find("equal")->as_bool());
  EXPECT_EQ(answer.find("samples")->as_int(), 1);
}

TEST_F(Commands, InspectKnowsEveryFile) {
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

TEST_F(Commands, OutStandsForItsArtifactElseItsPlan) {
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

TEST_F(Commands, InspectNamesWhatItKnowsWhenAFileIsNone) {
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

TEST_F(Commands, ExplainAndReport) {
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

TEST_F(Commands, CheckAndCompileCountTheSameLayersOfAModelThatIsQuantizedAlready) {
  const OnnxValueInfo x{"x", DType::kF32, "FLOAT", std::vector<OnnxDimension>{{1, ""}, {8, ""}}}, y{"y", DType::kF32, "FLOAT", std::vector<OnnxDimension>{{1, ""}, {8, ""}}};
  const auto node = [](const char* op, std::vector<std::string> inputs, const char* output) { return OnnxNode{output, op, "", std::move(inputs), {output}, {}}; };
  scene.write_model("quantized.onnx", {.graph_name = "g",
                                       .opsets = {{"", 13}},
                                       .nodes = {node("QuantizeLinear", {"x", "scale"}, "codes"), node("DequantizeLinear", {"codes", "scale"}, "real"), node("Relu", {"real"}, "y")},
                                       .initializers = {{"scale", Tensor::scalar<float>(0.1F)}},
                                       .inputs = {x},
                                       .outputs = {y}});
  std::mt19937_64 rng(5);
  must(write_npy(scene.path("rows.npy"), test::random_tensor({4, 8}, rng)));
  const std::string warning = "warning: the model is quantized already";
  const Outcome check = good("check quantized.onnx");
  EXPECT_TRUE(check.out.ends_with("1/2 layers integer on generic-int8\n")) << check.out;
  EXPECT_NE(check.err.find(warning), std::string::npos) << check.err;
  const Outcome compiled = good("compile quantized.onnx --data rows.npy -o again");
  EXPECT_NE(compiled.out.find("coverage  1/2 layers integer"), std::string::npos) << compiled.out;
  EXPECT_NE(compiled.err.find(warning), std::string::npos) << compiled.err;
  EXPECT_EQ(good("run quantized.onnx --data rows.npy -q -o y.npy").err.find(warning), std::string::npos) << "nothing is decided there";
}

TEST_F(Commands, CheckOpsAndTargets) {
  const Outcome check = good("check net.onnx");
  EXPECT_TRUE(check.out.ends_with("6/6 layers integer on generic-int8\n")) << check.out;
  EXPECT_EQ(json("check net.onnx --json").find("integer")->as_int(), 6);
  scene.write("keep.yaml", "layers:\n  - match: depthwise\n    keep: float\n");
  const Outcome kept = good("check net.onnx -c keep.yaml");
  EXPECT_TRUE(kept.out.ends_with("5/6 layers integer on generic-int8\n")) << kept.out;
  EXPECT_NE(kept.out.find("float: recipe"), std::string::npos) << kept.out;
  const std::string ops = good("ops").out;
  EXPECT_NE(ops.find("\nConv                1-21    yes    yes "), std::string::npos) << ops;
  EXPECT_NE(ops.find("\nBatchNormalization  1-21    yes    rewritten "), std::string::npos) << ops;
  EXPECT_NE(ops.find("\nSiLU                none    yes    yes "), std::string::npos) << "what Mul and Sigmoid become, and a target may name";
  EXPECT_EQ(ops.find("\nqconv "), std::string::npos);
  EXPECT_NE(ops.find("\nLayerNormalization  17-21   yes    no "), std::string::npos) << ops;
  EXPECT_NE(good("targets").out.find("generic-int8"), std::string::npos);
  EXPECT_GE(json("targets --json").items().size(), 3U);
  const Outcome unknown = scene.narrow("check net.onnx --target generic-int9");
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_NE(unknown.err.find("generic-int8"), std::string::npos) << unknown.err;
}

}  // namespace
}  // namespace narrow
