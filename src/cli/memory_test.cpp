// Peak memory does not grow with the number of samples.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "array_files.h"
#include "scene.h"

namespace narrow {
namespace {

using test::must;

// Kilobytes of this process, which its children begin with.
long own_memory() {
  long pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE) / 1024;
}

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
  EXPECT_GT(usage.ru_maxrss, own_memory()) << "this process is the larger one: what was measured is its memory";
  return usage.ru_maxrss;
}

std::string contents(const Tensor& tensor) {
  std::string out = npy_header(tensor.type());
  return out.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
}

enum class Storage { kNpy, kColumnMajor, kStored, kDeflated, kFolder };

// 64 or 512 samples of 48 KB.
void write_samples_here(const test::Scene& scene, const std::string& name, Storage storage, std::int64_t samples) {
  std::mt19937_64 rng(5);
  const Tensor all = test::random_tensor({samples, 3, 64, 64}, rng);
  switch (storage) {
    case Storage::kNpy: return scene.write(name, contents(all));
    case Storage::kStored: return scene.write(name, test::npz_bytes({{"x.npy", contents(all)}}, false));
    case Storage::kDeflated: return scene.write(name, test::npz_bytes({{"x.npy", contents(all)}}, true));
    case Storage::kColumnMajor: {
      // The bytes of another array in the same range, under a header of the same length.
      std::string bytes = contents(all);
      const std::size_t at = bytes.find("False");
      return scene.write(name, bytes.replace(at, 5, "True "));
    }
    case Storage::kFolder:
      std::filesystem::create_directory(scene.path(name));
      for (std::int64_t i = 0; i < samples; ++i) {
        const std::int64_t elements = 3 * 64 * 64;
        const Tensor one = Tensor::view(DType::kF32, {1, 3, 64, 64}, const_cast<float*>(all.data<float>() + i * elements));
        std::ofstream(scene.path(fmt::format("{}/{}.npz", name, i)), std::ios::binary) << test::npz_bytes({{"x.npy", contents(one)}}, true);
      }
  }
}

// As the file or folder of this name, by a process of its own.
void write_samples(const test::Scene& scene, const std::string& name, Storage storage, std::int64_t samples) {
  const pid_t child = fork();
  if (child == 0) {
    write_samples_here(scene, name, storage, samples);
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

struct Form {
  const char* name;
  const char* extension;
  Storage storage;
};

class Memory : public testing::TestWithParam<Form> {};

TEST_P(Memory, SameFor64And512Samples) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "skipped: the address sanitizer keeps freed memory";
#endif
  const test::Scene scene;
  OnnxModel model = test::Scene::tiny_model();
  model.inputs[0].shape = std::vector<OnnxDimension>{{1, ""}, {3, ""}, {64, ""}, {64, ""}};
  scene.write_model("net.onnx", model);
  const std::string extension = GetParam().extension;
  const Storage storage = GetParam().storage;
  write_samples(scene, "64" + extension, storage, 64);    // 3 MB
  write_samples(scene, "512" + extension, storage, 512);  // 25 MB
  const auto compile = [&](const std::string& samples) { return peak_memory(scene, {"compile", "net.onnx", "--data", samples + extension, "--samples", samples, "-q", "-o", "net", "--threads", "2"}); };
  const auto run = [&](const std::string& samples) { return peak_memory(scene, {"compare", "net.onnx", "net.narrow", "--data", samples + extension, "--samples", samples, "-q", "--threads", "2"}); };
  // The process is small, so that pages that the system maps ahead of a reader show: 2 MB of the 22 that 448 more samples have. A
  // block that transposes is as large as the file, but at most 8 MB.
  const long ahead = storage == Storage::kColumnMajor ? 2048 + 5 * 1024 : 2048;
  const long small = compile("64"), large = compile("512");
  EXPECT_LE(large, small + small / 20 + ahead) << "compile, kilobytes";
  const long few = run("64"), many = run("512");
  EXPECT_LE(many, few + few / 20 + ahead) << "compare, kilobytes";
}

constexpr Form kForms[] = {{"npy", ".npy", Storage::kNpy}, {"npyColumnMajor", ".npy", Storage::kColumnMajor}, {"npzStored", ".npz", Storage::kStored}, {"npzDeflated", ".npz", Storage::kDeflated}, {"folderOfNpz", "", Storage::kFolder}};
INSTANTIATE_TEST_SUITE_P(Samples, Memory, testing::ValuesIn(kForms), [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace narrow
