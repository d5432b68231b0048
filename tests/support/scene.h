// For tests of the command line: a fresh folder with a tiny network and data, and a way to run `narrow` in it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

#include "base/file.h"
#include "base/json.h"
#include "model/onnx_proto.h"
#include "support.h"
#include "tensor/npy.h"

namespace narrow::test {

struct Outcome {
  int exit_code = 0;
  std::string out, err;
};

class Scene {
 public:
  Scene() : folder_(temporary_folder()) {}
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& bytes) const { must(write_file(path(name), bytes)); }
  std::string read(const std::string& name) const { return must(read_file(path(name))); }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }

  // Runs `narrow ARGUMENTS` through a shell whose working folder is the scene; `before` may set limits.
  Outcome narrow(const std::string& arguments, const std::string& before = {}) const {
    const std::string command = "cd '" + folder_ + "' && (" + before + " exec '" + narrow_binary() + "' " + arguments + ") > '" + path(".out") + "' 2> '" + path(".err") + "'";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read(".out"), read(".err")};
  }

  // x [1,3,8,8] -> Conv 3x3 + Relu -> depthwise Conv -> GlobalAveragePool -> Flatten -> Gemm -> y [1,5]
  static OnnxModel tiny_model() {
    std::mt19937_64 rng(7);
    const auto info = [](std::string name, const Shape& shape) {
      OnnxValueInfo value{std::move(name), DType::kF32, "FLOAT", std::vector<OnnxDimension>()};
      for (const std::int64_t n : shape) value.shape->push_back({n, ""});
      return value;
    };
    const auto node = [](const std::string& name, const std::string& op, std::vector<std::string> inputs, const std::string& output, std::vector<OnnxAttribute> attributes = {}) {
      return OnnxNode{name, op, "", std::move(inputs), {output}, std::move(attributes)};
    };
    const std::vector<std::int64_t> pads{1, 1, 1, 1};
    OnnxModel model;
    model.graph_name = "tiny";
    model.opsets = {{"", 13}};
    model.inputs = {info("x", {1, 3, 8, 8})};
    model.outputs = {info("y", {1, 5})};
    model.initializers = {{"w1", random_tensor({8, 3, 3, 3}, rng, -0.5F, 0.5F)}, {"b1", random_tensor({8}, rng)}, {"w2", random_tensor({8, 1, 3, 3}, rng, -0.5F, 0.5F)},
                          {"w3", random_tensor({5, 8}, rng)},                   {"b3", random_tensor({5}, rng)}};
    model.nodes = {node("conv", "Conv", {"x", "w1", "b1"}, "c", {{"pads", pads}}),
                   node("relu", "Relu", {"c"}, "r"),
                   node("depthwise", "Conv", {"r", "w2"}, "d", {{"pads", pads}, {"group", std::int64_t{8}}}),
                   node("pool", "GlobalAveragePool", {"d"}, "p"),
                   node("flatten", "Flatten", {"p"}, "f"),
                   node("gemm", "Gemm", {"f", "w3", "b3"}, "y", {{"transB", std::int64_t{1}}})};
    return model;
  }
  void write_model(const std::string& name, const OnnxModel& model) const { write(name, must(write_onnx(model, "test"))); }
  // [samples,3,8,8] in [-1, 1) and one label per sample.
  void write_data(const std::string& name, std::int64_t samples) const {
    std::mt19937_64 rng(11);
    must(write_npy(path(name), random_tensor({samples, 3, 8, 8}, rng)));
  }
  // Model net.onnx, data.npy with 40 samples.
  static Scene ready() {
    Scene scene;
    scene.write_model("net.onnx", tiny_model());
    scene.write_data("data.npy", 40);
    return scene;
  }

 private:
  std::string folder_;
};

// A test whose fixture is such a folder.
class SceneTest : public ::testing::Test {
 protected:
  Scene scene = Scene::ready();
  // `narrow ARGUMENTS`, which must succeed.
  Outcome good(const std::string& arguments) {
    Outcome outcome = scene.narrow(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << outcome.err;
    return outcome;
  }
  // The JSON that it prints.
  Json json(const std::string& arguments) { return must(parse_json(good(arguments).out, arguments)); }
  // net.narrow and what else a compilation writes.
  void compile() { good("compile net.onnx --data data.npy --samples 32 -q -o net"); }
};

}  // namespace narrow::test
