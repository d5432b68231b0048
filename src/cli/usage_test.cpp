// What the command line says to somebody who mistypes, and what its exit codes are.
#include <gtest/gtest.h>

#include "scene.h"

namespace narrow {
namespace {

using test::Outcome;
using test::Scene;

TEST(Usage, NothingAndUnknownCommands) {
  const Scene scene;
  const Outcome nothing = scene.narrow("");
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_EQ(nothing.out, "");
  EXPECT_EQ(nothing.err, "error: no command given\n  help: one of: compile, check, run, eval, compare, inspect, explain, report, ops, targets; `narrow --help` says more\n");
  const Outcome near = scene.narrow("compil net.onnx");
  EXPECT_EQ(near.exit_code, 2);
  EXPECT_EQ(near.err, "error: unknown command 'compil'\n  help: did you mean 'compile'?\n");
  EXPECT_EQ(scene.narrow("zzzzzzzzzz").err, "error: unknown command 'zzzzzzzzzz'\n  help: one of: compile, check, run, eval, compare, inspect, explain, report, ops, targets\n");
}

TEST(Usage, UnknownOptionsGetASuggestion) {
  const Scene scene = Scene::ready();
  const Outcome option = scene.narrow("compile net.onnx --taget ort");
  EXPECT_EQ(option.exit_code, 2);
  EXPECT_EQ(option.out, "");
  EXPECT_EQ(option.err, "error: unknown option '--taget' of `narrow compile`\n  help: did you mean '--target'?\n");
  EXPECT_EQ(scene.narrow("check net.onnx other.onnx").err, "error: unexpected argument 'other.onnx' of `narrow check`\n  help: `narrow check --help` shows what it takes\n");
}

TEST(Usage, MissingAndIllFormedOptions) {
  const Scene scene = Scene::ready();
  const auto expect = [&](const std::string& arguments, const std::string& message) {
    const Outcome outcome = scene.narrow(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_EQ(outcome.err, message) << arguments;
  };
  expect("compile", "error: model is required\n  help: `narrow compile --help` shows options and examples\n");
  expect("compile net.onnx", "error: no calibration data given\n  help: --data FOLDER of images, .npy, .npz or raw files; some 64 typical samples without labels are enough\n");
  expect("compile net.onnx --data data.npy --stop-after simplyfy",
         "error: unknown phase 'simplyfy' to stop after, wanted one of import, simplify, calibrate, plan, lower, compare, pack\n  help: did you mean 'simplify'?\n");
  expect("compile net.onnx --data data.npy --min-metric sqnr", "error: --min-metric 'sqnr' is not of the form NAME=NUMBER\n  help: for example --min-metric sqnr=30\n");
  expect("compile missing.onnx --data data.npy --min-metric sqn=20", "error: unknown metric 'sqn' in --min-metric, wanted one of sqnr, cosine, agreement\n  help: did you mean 'sqnr'?\n");
  expect("compile net.onnx --data data.npy --min-metric top-1=20",
         "error: unknown metric 'top-1' in --min-metric, wanted one of sqnr, cosine, agreement\n  help: scores on labelled data are for `narrow eval --min-metric`\n");
  expect("eval net.onnx --data data.npy --min-metric sqnr=20",
         "error: unknown metric 'sqnr' in --min-metric, wanted one of top-1, top-5, mAP@.5, AUC, lines, characters\n"
         "  help: differences of the outputs are for `narrow compile` and `narrow compare --min-metric`\n");
  expect("check net.onnx --input-shape x=1xq", "error: --input-shape 'x=1xq' is not of the form NAME=1x3x224x224\n");
  expect("eval net.onnx -q --data data.npy --labels data.npy --task clasify", "error: unknown task 'clasify', wanted classify, detect, anomaly, read\n  help: did you mean 'classify'?\n");
  expect("eval net.onnx -q --data data.npy --labels data.npy --task detect",
         "error: task 'detect' needs the layout of the network's outputs, and no decoder is given\n  help: --decoder, or eval: {decoder: ...} in the recipe; one of: fastestdet, ssd, yolox\n");
  expect("eval net.onnx -q --data data.npy --labels data.npy --task detect --decoder yolo", "error: unknown detection decoder 'yolo'\n  help: did you mean 'yolox'?\n");
  expect("run net.onnx -q --data data.npy -o out.png", "error: output 'out.png' ends in '.png', wanted .npy or .npz\n");
  expect("run net.onnx -q --data data.npy --mode int", "error: mode 'int' of a model needs a plan\n  help: --plan OUT.plan, as `narrow compile` writes it\n");
}

TEST(Usage, NumbersOutOfRangeAndEmptyValues) {
  const Scene scene = Scene::ready();
  const auto expect = [&](const std::string& arguments, const std::string& message) {
    const Outcome outcome = scene.narrow(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_TRUE(outcome.err.starts_with(message + "\n")) << arguments << "\n" << outcome.err;
  };
  expect("compile net.onnx --data data.npy --samples 0", "error: --samples: found '0', wanted a whole number of at least 1");
  expect("compile net.onnx --data data.npy --samples 1e3", "error: --samples: found '1e3', wanted a whole number of at least 1");
  expect("run net.onnx --data data.npy --first -1", "error: --first: found '-1', wanted a whole number of at least 0");
  expect("check net.onnx --threads 100000", "error: --threads: found '100000', wanted a whole number from 1 to 256");
  expect("compile net.onnx --data data.npy -o ''", "error: --output: the value is empty");
  expect("compile net.onnx --data data.npy --plan ''", "error: --plan: the value is empty");
  expect("compile ''", "error: model: the value is empty");
  expect("-q", "error: no command given");
  expect("--json", "error: no command given");
}

TEST(Usage, GatesAreReadBeforeAnythingIsRun) {
  const Scene scene = Scene::ready();
  for (const char* command : {"compile net.onnx --data data.npy -o out", "compare net.onnx net.onnx --data data.npy"}) {
    for (const char* gate : {"=3", "sqnr=nan", "sqnr=", "sqnr", "speed=3"}) {
      const Outcome outcome = scene.narrow(std::string(command) + " -q --min-metric " + gate);
      EXPECT_EQ(outcome.exit_code, 2) << command << " " << gate;
      EXPECT_EQ(outcome.out, "") << command << " " << gate;
    }
  }
  EXPECT_EQ(scene.narrow("compile net.onnx --data data.npy -o out --compare-samples 0 --min-metric sqnr=3").exit_code, 2);
  EXPECT_FALSE(scene.exists("out.narrow"));
  EXPECT_EQ(scene.narrow("eval net.onnx -q --data data.npy --labels data.npy --min-metric top-7=3").err,
            "error: unknown metric 'top-7' in --min-metric, wanted one of top-1, top-5, mAP@.5, AUC, lines, characters\n  help: did you mean 'top-1' or 'top-5'?\n");
}

TEST(Usage, GatesThatTheTaskDoesNotGiveAreRefusedBeforeTheRun) {
  const Scene scene = Scene::ready();  // five classes: no top-5
  scene.write("anomaly.yaml", "eval: {task: anomaly}\n");
  const auto refused = [&](const std::string& arguments, const std::string& message) {
    const Outcome outcome = scene.narrow("eval net.onnx --data data.npy --labels missing.npy " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_TRUE(outcome.err.starts_with(message)) << outcome.err;
  };
  refused("--min-metric mAP@.5=0.5", "error: unknown metric 'mAP@.5' of task 'classify' in --min-metric, wanted top-1\n");
  refused("--min-metric top-5=0.5", "error: unknown metric 'top-5' of task 'classify' in --min-metric, wanted top-1\n");
  refused("--task detect --decoder yolox --min-metric top-1=50", "error: unknown metric 'top-1' of task 'detect' in --min-metric, wanted mAP@.5\n");
  refused("-c anomaly.yaml --min-metric mAP@.5=0.5", "error: unknown metric 'mAP@.5' of task 'anomaly' in --min-metric, wanted AUC\n");
  for (const char* phase : {"import", "calibrate", "lower"}) {
    const Outcome early = scene.narrow(std::string("compile net.onnx --data data.npy --min-metric sqnr=10 --stop-after ") + phase);
    EXPECT_EQ(early.exit_code, 2) << phase;
    EXPECT_EQ(early.err, "error: --min-metric needs a comparison, and nothing would be compared\n  help: leave --stop-after " + std::string(phase) + " out\n");
  }
  EXPECT_EQ(scene.narrow("compile net.onnx --data data.npy -q --min-metric sqnr=99 --stop-after compare").exit_code, 3);
}

TEST(Usage, WhatIsMeasuredInAComparisonNeedsOne) {
  const Scene scene = Scene::ready();
  for (const std::string option : {"--try", "--sensitivity 2", "--min-metric sqnr=10"}) {
    const std::string message = "error: " + option.substr(0, option.find(' ')) + " needs a comparison, and nothing would be compared\n";
    const Outcome none = scene.narrow("compile net.onnx --data data.npy --compare-samples 0 -o out " + option), early = scene.narrow("compile net.onnx --data data.npy --stop-after plan " + option);
    EXPECT_EQ(none.exit_code, 2) << option;
    EXPECT_EQ(none.err, message + "  help: give --data, and --compare-samples of at least 1\n");
    EXPECT_EQ(early.exit_code, 2) << option;
    EXPECT_EQ(early.err, message + "  help: leave --stop-after plan out\n");
  }
  EXPECT_FALSE(scene.exists("out.narrow"));
}

TEST(Usage, HelpHasExamplesAndGoesToStdout) {
  const Scene scene;
  const Outcome all = scene.narrow("--help");
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_EQ(all.err, "");
  for (const char* command : {"compile", "check", "run", "eval", "compare", "inspect", "explain", "report", "ops", "targets"}) {
    EXPECT_NE(all.out.find(std::string("  ") + command), std::string::npos) << command;
    const Outcome one = scene.narrow(std::string(command) + " --help");
    EXPECT_EQ(one.exit_code, 0);
    EXPECT_NE(one.out.find("--json"), std::string::npos) << command;
  }
  EXPECT_NE(scene.narrow("compile --help").out.find("narrow compile net.onnx --data images/ -c net.yaml -o net"), std::string::npos);
  EXPECT_EQ(scene.narrow("--version").out, "narrow 0.1.0\n");
}

}  // namespace
}  // namespace narrow
