// Samples that cannot be read: every command names them, leaves them out and goes on with the others.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/json.h"
#include "data/npz.h"
#include "scene.h"

namespace narrow {
namespace {

using test::must;
using test::Outcome;

// An 8 x 8 picture whose bytes count up from `first`.
std::string picture(int first) {
  std::string bmp("BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x08\0\0\0\x08\0\0\0\x01\0\x18\0\0\0\0\0\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 54);
  for (int i = 0; i < 192; ++i) bmp += static_cast<char>(first + i);
  return bmp;
}

// Folder "pictures": six files, of which 0 and 3 are no pictures and 4 is a link to nothing.
class Unreadable : public test::SceneTest {
 protected:
  const std::vector<std::string> good_ones{"1.bmp", "2.bmp", "5.bmp"};

  void SetUp() override {
    std::filesystem::create_directory(scene.path("pictures"));
    std::filesystem::create_directory(scene.path("clean"));
    for (const std::string& name : good_ones) {
      scene.write("pictures/" + name, picture(name[0]));
      scene.write("clean/" + name, picture(name[0]));
    }
    scene.write("pictures/0.bmp", "not a picture");
    scene.write("pictures/3.bmp", picture(7).substr(0, 90));
    std::filesystem::create_symlink("nowhere.bmp", scene.path("pictures/4.bmp"));
    ASSERT_EQ(::mkfifo(scene.path("pictures/6.bmp").c_str(), 0666), 0);
    scene.write("divide.yaml", "input:\n  divide: 255\n");
  }
  // Each of the three is named, once.
  static void expect_named(const Outcome& outcome) {
    for (const std::string warning : {"warning: sample '0.bmp' is left out: cannot decode 'pictures/0.bmp': unknown image type\n",
                                      "warning: sample '3.bmp' is left out: cannot decode 'pictures/3.bmp': the file is truncated\n",
                                      "warning: sample '4.bmp' is left out: cannot open 'pictures/4.bmp': it is a link to a file that does not exist\n"}) {
      const std::size_t at = outcome.err.find(warning);
      ASSERT_NE(at, std::string::npos) << warning << outcome.err;
      EXPECT_EQ(outcome.err.find(warning, at + 1), std::string::npos) << outcome.err;
    }
    EXPECT_EQ(outcome.err.find("6.bmp"), std::string::npos) << outcome.err;
  }
};

TEST_F(Unreadable, RunGivesARowForEachSampleThatWasRead) {
  const std::string with = "run net.onnx -c divide.yaml -q --data ";
  const Outcome stacked = good(with + "pictures -o out.npz");
  expect_named(stacked);
  EXPECT_EQ(stacked.out, "wrote out.npz: 3 samples, 3 left out\n");
  EXPECT_EQ(good(with + "clean -o clean.npz").out, "wrote clean.npz: 3 samples\n");
  const Tensor rows = must(read_npz(scene.path("out.npz")))[0].second;
  EXPECT_EQ(rows.shape(), (Shape{3, 5}));
  EXPECT_TRUE(rows.same_bytes(must(read_npz(scene.path("clean.npz")))[0].second));
  const Json listed = json(with + "pictures --json");
  ASSERT_EQ(listed.items().size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(listed.items()[i].find("sample")->as_string(), good_ones[i]);
  expect_named(good(with + "pictures"));
}

TEST_F(Unreadable, CompileAndCompareNameThemOnce) {
  expect_named(good("compile net.onnx -c divide.yaml --data pictures -q -o out"));
  // Those that calibration never came to, too.
  const Outcome fresh = good("compile net.onnx -c divide.yaml --data clean pictures --samples 3 --compare-samples 5 -o out2");
  expect_named(fresh);
  EXPECT_NE(fresh.err.find("3 samples that calibration did not see"), std::string::npos) << fresh.err;
  const Outcome compared = good("compare net.onnx out.narrow --data pictures -q --json");
  expect_named(compared);
  EXPECT_EQ(must(parse_json(compared.out, "compare")).find("samples")->as_int(), 3);
  const Outcome exact = good("compare out.narrow out.narrow --exact --data pictures -q");
  expect_named(exact);
  EXPECT_EQ(exact.out, "equal: 1 output on 3 samples, bit for bit\n");
}

TEST_F(Unreadable, WhenNoFreshOneCanBeReadTheOldOnesAreCompared) {
  std::filesystem::create_directory(scene.path("junk"));
  for (const char* name : {"junk/a.bmp", "junk/b.bmp"}) scene.write(name, "not a picture");
  const Outcome outcome = good("compile net.onnx -c divide.yaml --data clean junk --samples 3 --try -o out");
  EXPECT_NE(outcome.err.find("2 samples that calibration saw as well"), std::string::npos) << outcome.err;
}

TEST_F(Unreadable, EvalKeepsLabelsWithTheirSamples) {
  must(write_npy(scene.path("labels.npy"), Tensor::zeros(DType::kU8, {6})));
  const std::string with = "eval net.onnx -c divide.yaml --data pictures -q --labels ";
  const Json answers = json("run net.onnx -c divide.yaml --data clean -q --json");
  std::vector<std::uint8_t> right(6, 9);  // the three that are not read have a class that does not exist
  for (std::size_t i = 0; i < 3; ++i) {
    const Json::Array& y = answers.items()[i].find("outputs")->find("y")->items();
    std::size_t best = 0;
    for (std::size_t k = 1; k < y.size(); ++k) best = y[k].as_double() > y[best].as_double() ? k : best;
    right[static_cast<std::size_t>(good_ones[i][0] - '0')] = static_cast<std::uint8_t>(best);
  }
  must(write_npy(scene.path("labels.npy"), Tensor::of<std::uint8_t>({6}, right)));
  const Outcome outcome = good(with + "labels.npy --json");
  expect_named(outcome);
  const Json scores = must(parse_json(outcome.out, "eval"));
  EXPECT_EQ(scores.find("samples")->as_int(), 3);
  EXPECT_EQ(scores.find("skipped")->as_int(), 3);
  EXPECT_EQ(scores.find("networks")->items()[0].find("top-1")->as_double(), 100);
}

TEST_F(Unreadable, NoneAtAllIsAnError) {
  std::filesystem::create_directory(scene.path("junk"));
  for (int i = 0; i < 6; ++i) scene.write(fmt::format("junk/{}.bmp", i), "not a picture");
  for (const char* command : {"run net.onnx", "compare net.onnx net.onnx", "eval net.onnx net.onnx", "compile net.onnx"}) {
    const Outcome outcome = scene.narrow(std::string(command) + " -c divide.yaml -q --data junk");
    EXPECT_EQ(outcome.exit_code, 1) << command;
    EXPECT_EQ(outcome.out, "") << command;
    EXPECT_NE(outcome.err.find("error: cannot decode 'junk/0.bmp': unknown image type\n"), std::string::npos) << command << outcome.err;
  }
  // One pipe that is named is no data, and is not waited for.
  const Outcome pipe = scene.narrow("run net.onnx -q --data pictures/6.bmp");
  EXPECT_EQ(pipe.exit_code, 1);
  EXPECT_TRUE(pipe.err.starts_with("error: cannot read 'pictures/6.bmp': not a regular file\n")) << pipe.err;
}

}  // namespace
}  // namespace narrow
