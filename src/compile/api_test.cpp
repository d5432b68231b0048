#include <gtest/gtest.h>

#include "narrow/narrow.h"
#include "scene.h"

namespace narrow {
namespace {

using test::Scene;

TEST(Api, CompilesAndRuns) {
  const Scene scene = Scene::ready();
  std::string message;
  const auto report = api::compile({.model = scene.path("net.onnx"), .data = {scene.path("data.npy")}, .recipe = "", .target = "", .output = scene.path("net")}, &message);
  ASSERT_TRUE(report.has_value()) << message;
  EXPECT_NE(report->find("\"narrow_report\": 1"), std::string::npos);
  const auto network = api::Network::open(scene.path("net.narrow"), &message);
  ASSERT_NE(network, nullptr) << message;
  ASSERT_EQ(network->inputs().size(), 1U);
  EXPECT_EQ(network->inputs()[0].shape, (std::vector<std::int64_t>{1, 3, 8, 8}));
  EXPECT_EQ(network->outputs()[0].name, "y");
  const Tensor data = test::must(read_npy(scene.path("data.npy")));
  const std::vector<float> first(data.span<float>().begin(), data.span<float>().begin() + 192);
  const auto outputs = network->run({first}, &message);
  ASSERT_TRUE(outputs.has_value()) << message;
  ASSERT_EQ(outputs->size(), 1U);
  EXPECT_EQ((*outputs)[0].size(), 5U);
  EXPECT_EQ(*network->run({first}), *outputs);
}

TEST(Api, ErrorsAreTexts) {
  const Scene scene = Scene::ready();
  std::string message;
  EXPECT_EQ(api::Network::open(scene.path("net.onnx"), &message), nullptr);
  EXPECT_TRUE(message.starts_with("error: ")) << message;
  EXPECT_FALSE(api::compile({.model = scene.path("none.onnx"), .data = {"x"}, .recipe = "", .target = "", .output = ""}, &message).has_value());
  EXPECT_NE(message.find("none.onnx"), std::string::npos);
  ASSERT_TRUE(api::compile({.model = scene.path("net.onnx"), .data = {scene.path("data.npy")}, .recipe = "", .target = "", .output = scene.path("net")}).has_value());
  const auto network = api::Network::open(scene.path("net.narrow"));
  EXPECT_FALSE(network->run({{1, 2, 3}}, &message).has_value());
  EXPECT_EQ(message, "error: input 'x' was given 3 numbers, wanted 192 for [1,3,8,8]");
}

}  // namespace
}  // namespace narrow
