// The commands end to end on a tiny network, through the binary.
#include <gtest/gtest.h>

#include "base/json.h"
#include "model/export_onnx.h"
#include "ops/op_def.h"
#include "scene.h"

namespace narrow {
namespace {

using test::must;
using test::Outcome;

class Commands : public test::SceneTest {};

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
  EXPECT_NE(outcome.err.find("the first 32 of 40 samples, "), std::string::npos) << outcome.err;
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
  EXPECT_NE(both.err.find("the first 8 of 40 samples"), std::string::npos) << "what describes the data is used: " << both.err;
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
  scene.write("target.yaml", "target: tflite\n");
  EXPECT_TRUE(good("check net.onnx -c target.yaml").out.ends_with("6/6 layers integer on tflite\n"));
  EXPECT_TRUE(good("check net.onnx -c target.yaml --target ort").out.ends_with("6/6 layers integer on ort\n"));
  const std::string ops = good("ops").out;
  EXPECT_NE(ops.find("\nConv                7-21    yes    yes "), std::string::npos) << ops;
  EXPECT_NE(ops.find("\nBatchNormalization  7-21    yes    rewritten "), std::string::npos) << ops;
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
