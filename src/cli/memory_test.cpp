// Peak memory does not grow with the number of samples.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scene.h"

namespace narrow {
namespace {

using test::must;

// Of one run of `narrow`, in kilobytes.
long peak_memory(const test::Scene& scene, std::vector<std::string> arguments) {
  const pid_t child = fork();
  if (child == 0) {
    arguments.insert(arguments.begin(), test::narrow_binary());
    std::vector<char*> words;
    for (std::string& word : arguments) words.push_back(word.data());
    words.push_back(nullptr);
    if (chdir(scene.path("").c_str()) == 0) execv(words[0], words.data());
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  EXPECT_EQ(wait4(child, &status, 0, &usage), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << arguments[0];
  return usage.ru_maxrss;
}

TEST(Memory, SameFor64And512Samples) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "skipped: the address sanitizer keeps freed memory";
#endif
  const test::Scene scene;
  OnnxModel model = test::Scene::tiny_model();
  model.inputs[0].shape = std::vector<OnnxDimension>{{1, ""}, {3, ""}, {64, ""}, {64, ""}};
  scene.write_model("net.onnx", model);
  std::mt19937_64 rng(5);
  must(write_npy(scene.path("data.npy"), test::random_tensor({512, 3, 64, 64}, rng)));  // 25 MB
  const auto compile = [&](const char* samples) { return peak_memory(scene, {"compile", "net.onnx", "--data", "data.npy", "--samples", samples, "-q", "-o", "net", "--threads", "2"}); };
  const auto run = [&](const char* samples) { return peak_memory(scene, {"compare", "net.onnx", "net.narrow", "--data", "data.npy", "--samples", samples, "-q", "--threads", "2"}); };
  // The process is small, so that pages that the system maps ahead of a reader show: 2 MB of the 22 that 448 more samples have.
  constexpr long kAhead = 2048;
  const long small = compile("64"), large = compile("512");
  EXPECT_LE(large, small + small / 20 + kAhead) << "compile, kilobytes";
  const long few = run("64"), many = run("512");
  EXPECT_LE(many, few + few / 20 + kAhead) << "compare, kilobytes";
}

}  // namespace
}  // namespace narrow
