// What becomes of the files that are written: none is an input, none stays half-written, whoever else writes and whatever interrupts.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/text.h"
#include "scene.h"

namespace narrow {
namespace {

using test::Outcome;

constexpr const char* kProducts[] = {"out.narrow", "out.qdq.onnx", "out.plan", "out.report.json", "out.html"};

class Outputs : public test::SceneTest {
 protected:
  // Exit code of a shell script that stands in the scene.
  int script(const std::string& text) {
    scene.write("script.sh", text);
    return WEXITSTATUS(std::system(("cd '" + scene.path("") + "' && sh script.sh").c_str()));
  }
  // Names that begin with a dot, but for those of the scene itself.
  std::vector<std::string> left_behind() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scene.path(""))) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(".") && name != ".out" && name != ".err") names.push_back(name);
    }
    return names;
  }
};

TEST_F(Outputs, NoneReplacesAnInput) {
  good("compile net.onnx --data data.npy -q -o out");
  scene.write_data("a.npy", 4);
  std::filesystem::create_symlink("data.npy", scene.path("link.npy"));
  std::filesystem::create_symlink("data.npy", scene.path("taken.plan"));
  std::filesystem::create_directory(scene.path("folder"));
  std::filesystem::copy(scene.path("data.npy"), scene.path("folder/in.npy"));
  scene.write("recipe.html", "calibration: {samples: 8}\n");
  const auto refused = [&](const std::string& arguments, const std::string& output, const std::string& input) {
    const std::string before = scene.read(input);
    const Outcome outcome = scene.narrow(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_TRUE(outcome.err.ends_with("error: output '" + output + "' would replace the input '" + input + "'\n  help: choose another output path with -o\n")) << outcome.err;
    EXPECT_TRUE(scene.read(input) == before) << arguments;
  };
  refused("compile out.qdq.onnx --data data.npy -q -o out", "out.qdq.onnx", "out.qdq.onnx");
  refused("compile out.qdq.onnx --data data.npy -o ./out.narrow", "./out.qdq.onnx", "out.qdq.onnx");
  refused("compile net.onnx --data data.npy --plan out.plan -o out", "out.plan", "out.plan");
  refused("compile net.onnx --data data.npy -c recipe.html -o recipe", "recipe.html", "recipe.html");
  refused("compile net.onnx --data data.npy -q -o taken", "taken.plan", "data.npy");
  refused("run net.onnx --data data.npy -q -o data.npy", "data.npy", "data.npy");
  refused("run net.onnx --data x=data.npy -q -o data.npy", "data.npy", "data.npy");
  refused("run net.onnx --data a.npy data.npy --samples 1 -q -o data.npy", "data.npy", "data.npy");
  refused("run net.onnx --data data.npy -q -o link.npy", "link.npy", "data.npy");
  refused("run net.onnx --data folder -q -o folder/in.npy", "folder/in.npy", "folder/in.npy");
  refused("report out.narrow -o out.narrow", "out.narrow", "out.narrow");
  refused("report out.report.json -o out.report.json", "out.report.json", "out.report.json");
  refused("report out -o out.plan", "out.plan", "out.plan");
  for (const char* product : kProducts) EXPECT_TRUE(scene.exists(product)) << product;
  good("compile net.onnx --data data.npy --plan out.plan -q -o out2");
  good("report out.report.json -o out.html");  // an older output is replaced
}

TEST_F(Outputs, ADeviceOrAPipeStaysWhatItIs) {
  good("compile net.onnx --data data.npy -q -o out");
  ASSERT_EQ(::mkfifo(scene.path("pipe").c_str(), 0666), 0);
  std::filesystem::create_symlink("pipe", scene.path("pipe.npz"));
  std::filesystem::create_symlink("pipe", scene.path("net2.plan"));
  for (const auto& [arguments, output] : {std::pair{"report out -o pipe", "pipe"}, {"run net.onnx --data data.npy -q -o pipe.npz", "pipe.npz"}, {"compile net.onnx --data data.npy -q -o net2", "net2.plan"}}) {
    const Outcome outcome = scene.narrow(arguments);
    EXPECT_EQ(outcome.exit_code, 1) << arguments;
    EXPECT_EQ(outcome.err, "error: cannot write '" + std::string(output) + "': it exists and is no regular file\n  help: give the name of a file\n");
    EXPECT_TRUE(std::filesystem::is_fifo(scene.path("pipe"))) << arguments;
  }
  EXPECT_TRUE(left_behind().empty());
}

TEST_F(Outputs, LinksAreFollowed) {
  std::filesystem::create_directory(scene.path("store"));
  scene.write("store/page", "old");
  std::filesystem::create_symlink("store/page", scene.path("out.html"));
  std::filesystem::create_symlink("store/artifact", scene.path("out.narrow"));
  good("compile net.onnx --data data.npy -q -o out");
  for (const char* link : {"out.html", "out.narrow"}) EXPECT_TRUE(std::filesystem::is_symlink(scene.path(link))) << link;
  EXPECT_NE(scene.read("store/page").find("</html>"), std::string::npos);
  EXPECT_EQ(split(good("inspect store/artifact").out, '\n')[0], "store/artifact: artifact");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scene.path("store")), {}), 2);
}

TEST_F(Outputs, SeveralProcessesMayWriteTheSameFiles) {
  const std::string one = "'" + test::narrow_binary() + "' compile net.onnx --data data.npy -q --threads 1 -o out > out$i.txt 2> err$i.txt";
  EXPECT_EQ(script("pids=\nfor i in 1 2 3 4; do " + one + " & pids=\"$pids $!\"; done\nfor p in $pids; do wait $p || exit 1; done\n"), 0) << scene.read("err1.txt") << scene.read("err4.txt");
  good("compile net.onnx --data data.npy -q -o alone");
  EXPECT_TRUE(scene.read("out.narrow") == scene.read("alone.narrow"));
  EXPECT_EQ(scene.read("out.plan"), scene.read("alone.plan"));
  EXPECT_TRUE(left_behind().empty()) << left_behind()[0];
}

TEST_F(Outputs, SignalsLeaveTheOldOnes) {
  scene.write_data("long.npy", 60000);
  for (const char* product : kProducts) scene.write(product, "old");
  for (const auto& [signal, code] : {std::pair{"INT", 130}, {"TERM", 143}, {"HUP", 129}}) {
    const int found = script("rm -f err.txt\n'" + test::narrow_binary() + "' compile net.onnx --data long.npy --samples 60000 -o out > out.txt 2> err.txt &\npid=$!\n"
                             "for i in $(seq 3000); do grep -q simplify err.txt 2> /dev/null && break; sleep 0.01; done\nsleep 0.05\nkill -" + signal + " $pid\nwait $pid\nexit $?\n");
    EXPECT_EQ(found, code) << signal << scene.read("err.txt");
    EXPECT_NE(scene.read("err.txt").find("error: interrupted\n  help: nothing was written; existing outputs are untouched\n"), std::string::npos) << scene.read("err.txt");
    for (const char* product : kProducts) EXPECT_EQ(scene.read(product), "old") << product;
    EXPECT_TRUE(left_behind().empty()) << signal << left_behind()[0];
  }
}

TEST_F(Outputs, AProcessThatIgnoresTheEndOfItsTerminalGoesOn) {
  scene.write_data("long.npy", 20000);
  EXPECT_EQ(script("trap '' HUP\n'" + test::narrow_binary() + "' compile net.onnx --data long.npy --samples 20000 -o out > out.txt 2> err.txt &\npid=$!\n"
                   "for i in $(seq 3000); do grep -q simplify err.txt 2> /dev/null && break; sleep 0.01; done\nkill -HUP $pid\nwait $pid\nexit $?\n"), 0) << scene.read("err.txt");
  for (const char* product : kProducts) EXPECT_TRUE(scene.exists(product)) << product;
}

}  // namespace
}  // namespace narrow
