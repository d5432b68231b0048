// What a program on a device does: map an artifact, feed numbers, read numbers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "artifact/artifact.h"
#include "graph/text.h"
#include "run/executor.h"

namespace narrow {
namespace {

TEST(Runtime, RunsAnArtifact) {
  const std::string path = (std::filesystem::temp_directory_path() / ("narrow_runtime_" + std::to_string(::getpid()) + ".narrow")).string();
  ArtifactContents contents;
  contents.model = "tiny";
  auto graph = parse_graph("graph \"tiny\" in %x: f32[1,4] %a: f32[1,4] = Relu(%x) %y: f32[1,4] = Relu(%a) out %y");
  ASSERT_TRUE(graph.has_value()) << graph.error().to_string();
  contents.graph = std::move(*graph);
  ASSERT_TRUE(write_artifact(path, contents).has_value());
  const auto artifact = read_artifact(path);
  std::filesystem::remove(path);  // the mapping keeps the bytes
  ASSERT_TRUE(artifact.has_value()) << artifact.error().to_string();
  Executor executor(artifact->contents.graph);
  const auto outputs = run_real(executor, std::vector<Tensor>{Tensor::of<float>({1, 4}, {-1, 2, -3, 4})});
  ASSERT_TRUE(outputs.has_value()) << outputs.error().to_string();
  EXPECT_TRUE((*outputs)[0].same_bytes(Tensor::of<float>({1, 4}, {0, 2, 0, 4})));
}

}  // namespace
}  // namespace narrow
