// Input that must be rejected: one clear error, exit code 1, and products of an earlier run stay as they were.
#include <gtest/gtest.h>

#include <cmath>

#include "array_files.h"
#include "base/text.h"
#include "scene.h"

namespace narrow {
namespace {

using test::Outcome;
using test::Scene;

constexpr const char* kProducts[] = {"out.narrow", "out.qdq.onnx", "out.plan", "out.report.json", "out.html"};

// Everything but progress lines.
std::string findings(const Outcome& outcome) {
  std::string text;
  for (const std::string& line : split(outcome.err, '\n')) {
    if (!line.starts_with("[") && !line.empty()) text += line + "\n";
  }
  return text;
}

class BadInput : public ::testing::Test {
 protected:
  Scene scene = Scene::ready();

  // `compile` with these arguments and -o out, over products that exist already.
  Outcome rejected(const std::string& arguments, const std::string& before = {}) {
    for (const char* product : kProducts) scene.write(product, "old");
    const Outcome outcome = scene.narrow("compile " + arguments + " -o out", before);
    EXPECT_EQ(outcome.out, "");
    for (const char* product : kProducts) EXPECT_EQ(scene.read(product), "old") << product;
    for (const auto& entry : std::filesystem::directory_iterator(scene.path(""))) {
      EXPECT_FALSE(entry.path().filename().string().starts_with(".out.")) << "left behind: " << entry.path();
    }
    return outcome;
  }
  void expect(const std::string& arguments, const std::string& message) {
    const Outcome outcome = rejected(arguments);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_EQ(findings(outcome), message);
  }
};

TEST_F(BadInput, NotAProtobuf) {
  scene.write("text.onnx", "hello\n");
  expect("text.onnx --data data.npy", "error: 'text.onnx' is not an ONNX model: it is not a protobuf message of that kind\n  help: give a file written by an ONNX exporter (.onnx)\n");
}

TEST_F(BadInput, TruncatedFile) {
  const std::string whole = scene.read("net.onnx");
  scene.write("half.onnx", whole.substr(0, whole.size() / 2));
  const Outcome outcome = rejected("half.onnx --data data.npy");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(findings(outcome).starts_with("error: 'half.onnx' is truncated: it ends after ")) << outcome.err;
}

TEST_F(BadInput, UnknownOperators) {
  OnnxModel model = Scene::tiny_model();
  model.nodes[1].op = "Frobnicate";
  scene.write_model("unknown.onnx", model);
  expect("unknown.onnx --data data.npy",
         "error: model 'unknown.onnx': node 'relu' (Frobnicate): the operator is not supported\n  help: `narrow ops` lists the supported operators\n");
}

TEST_F(BadInput, CyclicGraph) {
  OnnxModel model = Scene::tiny_model();
  model.nodes[0].inputs[0] = "d";
  scene.write_model("cycle.onnx", model);
  const Outcome outcome = rejected("cycle.onnx --data data.npy");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("cycle"), std::string::npos) << outcome.err;
}

TEST_F(BadInput, WrongInputShape) {
  std::mt19937_64 rng(1);
  test::must(write_npy(scene.path("small.npy"), test::random_tensor({10, 3, 7, 7}, rng)));
  expect("net.onnx --data small.npy",
         "error: 'small.npy' has shape [10,3,7,7], input 'x' wants [N,3,8,8]\n  help: give arrays of the input's shape, the first axis counting samples\n");
}

TEST_F(BadInput, EmptyDataFolder) {
  std::filesystem::create_directory(scene.path("nothing"));
  expect("net.onnx --data nothing", "error: the folder 'nothing' holds no data that can be read\n  help: wanted files jpg, jpeg, png, bmp, npy, npz, raw or bin\n");
}

TEST_F(BadInput, PicturesThatCannotBeDecoded) {
  std::filesystem::create_directory(scene.path("pictures"));
  scene.write("pictures/broken.jpg", "not a picture");
  const Outcome none = rejected("net.onnx --data pictures");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_NE(none.err.find("broken.jpg"), std::string::npos) << none.err;
  // An 8 x 8 grey BMP beside it: the run goes on, and the broken one is named.
  std::string bmp("BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x08\0\0\0\x08\0\0\0\x01\0\x18\0\0\0\0\0\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 54);
  for (int i = 0; i < 192; ++i) bmp += static_cast<char>(i);
  scene.write("pictures/good.bmp", bmp);
  scene.write("divide.yaml", "input:\n  divide: 255\n");
  const Outcome some = scene.narrow("compile net.onnx --data pictures -c divide.yaml -o fresh");
  EXPECT_EQ(some.exit_code, 0) << some.err;
  EXPECT_NE(some.err.find("warning"), std::string::npos) << some.err;
  EXPECT_NE(some.err.find("broken.jpg"), std::string::npos) << some.err;
  EXPECT_TRUE(scene.exists("fresh.narrow"));
}

TEST_F(BadInput, NaNInWeights) {
  OnnxModel model = Scene::tiny_model();
  model.initializers[0].tensor.data<float>()[3] = NAN;
  scene.write_model("nan.onnx", model);
  const Outcome outcome = rejected("nan.onnx --data data.npy");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(findings(outcome).starts_with("error: model 'nan.onnx': initializer 'w1' [8,3,3,3] holds nan at element 3\n")) << outcome.err;
}

TEST_F(BadInput, NaNInActivations) {
  Tensor data = Tensor::zeros(DType::kF32, {4, 3, 8, 8});
  data.data<float>()[200] = NAN;
  test::must(write_npy(scene.path("nan.npy"), data));
  const Outcome outcome = rejected("net.onnx --data nan.npy");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("NaN"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("nan.npy[1]"), std::string::npos) << outcome.err;
}

TEST_F(BadInput, PlanOfAnotherGraph) {
  ASSERT_EQ(scene.narrow("compile net.onnx --data data.npy -q -o net").exit_code, 0);
  OnnxModel model = Scene::tiny_model();
  model.initializers[1].tensor.data<float>()[0] += 1;
  scene.write_model("other.onnx", model);
  const Outcome outcome = rejected("other.onnx --data data.npy --plan net.plan");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(findings(outcome).starts_with("error: the plan was made for graph ")) << outcome.err;
}

TEST_F(BadInput, OutputThatCannotBeWritten) {
  const Outcome folder = scene.narrow("compile net.onnx --data data.npy -o nowhere/out");
  EXPECT_EQ(folder.exit_code, 1);
  EXPECT_EQ(folder.err, "error: cannot write 'nowhere/out.narrow': the folder 'nowhere' does not exist\n  help: create the folder first\n") << "asked before any work";
  std::filesystem::create_directory(scene.path("there.narrow"));
  const Outcome taken = scene.narrow("compile net.onnx --data data.npy -o there");
  EXPECT_EQ(taken.exit_code, 1);
  EXPECT_EQ(taken.err, "error: cannot write 'there.narrow': it is a folder\n  help: give a file name\n");
  for (const char* nameless : {"there.narrow/", ".", "..", "there.narrow/.."}) {
    const Outcome outcome = scene.narrow(std::string("compile net.onnx --data data.npy -o ") + nameless);
    EXPECT_EQ(outcome.exit_code, 1) << nameless;
    EXPECT_NE(outcome.err.find("has no file name"), std::string::npos) << nameless << outcome.err;
  }
}

TEST_F(BadInput, FileSizeLimit) {
  // As on a full disk, writing fails half-way: files may have eight blocks only (one is too few for clang's OpenMP).
  const Outcome outcome = rejected("net.onnx --data data.npy -q", "trap '' XFSZ; ulimit -f 8;");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("File too large"), std::string::npos) << outcome.err;
}

TEST_F(BadInput, NoRoomToUnpackData) {
  const std::string array = test::npy_bytes({"f4", DType::kF32}, {40, 3, 8, 8}, std::vector<std::int64_t>(40 * 3 * 8 * 8, 7));  // 30 KB
  scene.write("data.npz", test::npz_bytes({{"x.npy", array}}, true));
  const std::string folder = scene.path("");
  const Outcome full = rejected("net.onnx --data data.npz -q", "export TMPDIR='" + folder + "'; trap '' XFSZ; ulimit -f 8;");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_EQ(findings(full), "error: cannot unpack 'x.npy' in 'data.npz': writing a temporary file in '" + folder + "' failed: File too large\n  help: free some space there, or set TMPDIR to a folder that has more\n");
  const Outcome none = rejected("net.onnx --data data.npz -q", "export TMPDIR=/none;");
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(findings(none), "error: cannot unpack 'x.npy' in 'data.npz': no temporary file can be made in '/none': No such file or directory\n  help: set TMPDIR to a folder that can be written to\n");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) EXPECT_FALSE(entry.path().filename().string().starts_with("narrow.")) << entry.path();
}

TEST_F(BadInput, DiskFull) {
  const std::string mounted = "mkdir -p full && mount -t tmpfs -o size=16k none full && for f in out.narrow out.plan; do echo old > full/$f; done";
  if (std::system(("cd '" + scene.path("") + "' && unshare -rm sh -c '" + mounted + "' 2> /dev/null").c_str()) != 0) GTEST_SKIP() << "skipped: no private mounts here";
  const std::string script = mounted + "; " + test::narrow_binary() + " compile net.onnx --data data.npy -q -o full/out; code=$?; ls -A full; cat full/*; exit $code";
  scene.write("full.sh", script);
  const int status = std::system(("cd '" + scene.path("") + "' && unshare -rm sh full.sh > out.txt 2> err.txt").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_EQ(scene.read("out.txt"), "out.narrow\nout.plan\nold\nold\n");
  EXPECT_NE(scene.read("err.txt").find("No space left on device"), std::string::npos) << scene.read("err.txt");
}

// An external tensor of an ONNX file: graph { initializer { dims: 5 type: FLOAT name: "b3" external ... } } as a further piece of the message.
std::string with_external_data(const std::vector<std::pair<std::string, std::string>>& entries) {
  const auto field = [](int number, const std::string& bytes) { return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) + bytes; };
  const auto varint = [](int number, int value) { return std::string(1, static_cast<char>(number << 3)) + static_cast<char>(value); };
  OnnxModel model = Scene::tiny_model();
  model.initializers.pop_back();
  std::string tensor = varint(1, 5) + varint(2, 1) + field(8, "b3");
  for (const auto& [key, value] : entries) tensor += field(13, field(1, key) + field(2, value));
  return test::must(write_onnx(model, "test")) + field(7, field(5, tensor + varint(14, 1)));
}

TEST_F(BadInput, MissingExternalData) {
  scene.write("outside.onnx", with_external_data({{"location", "weights.bin"}}));
  const Outcome outcome = rejected("outside.onnx --data data.npy");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("weights.bin"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("b3"), std::string::npos) << outcome.err;
}

TEST_F(BadInput, PlacesInExternalDataAreNumbers) {
  scene.write("weights.bin", std::string(40, '\0'));
  scene.write("good.onnx", with_external_data({{"location", "weights.bin"}, {"offset", "16"}, {"length", "20"}}));
  EXPECT_EQ(scene.narrow("check good.onnx").exit_code, 0);
  for (const char* key : {"offset", "length"}) {
    for (const char* value : {"abc", "", "-4", "+4", " 4", "4 ", "0x4", "4.0", "99999999999999999999"}) {
      scene.write("bad.onnx", with_external_data({{"location", "weights.bin"}, {key, value}}));
      const Outcome outcome = rejected("bad.onnx --data data.npy");
      EXPECT_EQ(outcome.exit_code, 1) << key << value;
      EXPECT_NE(findings(outcome).find(fmt::format("'b3' of 'bad.onnx': is stored in an external file with {} '{}', wanted a number of bytes\n", key, value)), std::string::npos) << outcome.err;
    }
  }
}

TEST_F(BadInput, DamagedArtifact) {
  ASSERT_EQ(scene.narrow("compile net.onnx --data data.npy -q -o net").exit_code, 0);
  std::string bytes = scene.read("net.narrow");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  scene.write("damaged.narrow", bytes);
  const Outcome outcome = scene.narrow("run damaged.narrow --input data.npy -q");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("damaged.narrow"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace narrow
