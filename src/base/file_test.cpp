#include "base/file.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "support.h"

namespace narrow {
namespace {

namespace fs = std::filesystem;

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(File, WritesReadsAndReplaces) {
  const std::string folder = test::temporary_folder(), path = folder + "/a.bin";
  test::must(write_file(path, std::string_view("first\0x", 7)));
  EXPECT_EQ(test::must(read_file(path)), std::string("first\0x", 7));
  const std::string_view pieces[] = {"one", "", " two"};
  test::must(write_file(path, pieces));
  EXPECT_EQ(test::must(read_file(path)), "one two");
  EXPECT_EQ(files_in(folder), 1U);  // no temporary file stays
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(status.st_mode & 0777U, 0666U & ~mask);
}

TEST(File, EmptyFilesMapToNothing) {
  const std::string path = test::temporary_folder() + "/empty";
  test::must(write_file(path, ""));
  EXPECT_EQ(test::must(MappedFile::open(path))->bytes().size(), 0U);
  EXPECT_EQ(test::must(read_file(path)), "");
}

TEST(File, ReleasedPartsReadTheSameAgain) {
  const std::string path = test::temporary_folder() + "/pages";
  std::string bytes;
  for (int i = 0; i < 50'000; ++i) bytes += static_cast<char>(i * 7 % 251);
  test::must(write_file(path, bytes));
  const auto file = test::must(MappedFile::open(path));
  for (const auto& [begin, size] : {std::pair{0UL, 50'000UL}, {1UL, 20'000UL}, {4095UL, 2UL}, {10'000UL, 0UL}}) {
    file->release(file->bytes().subspan(begin, size));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()), bytes);
  }
}

TEST(File, WhatLiesElsewhereIsNotReleased) {
  // Memory of our own that lost its pages would read as zeros.
  const std::string path = test::temporary_folder() + "/pages";
  test::must(write_file(path, std::string(40'000, 'x')));
  const auto file = test::must(MappedFile::open(path));
  constexpr std::size_t kSize = 1 << 20;
  void* address = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(address, MAP_FAILED);
  auto* own = static_cast<std::byte*>(address);
  std::memset(own, 'y', kSize);
  file->release({own, kSize});
  // A span over both and all that lies between them.
  const std::byte* other = file->bytes().data();
  const std::byte *begin = std::min<const std::byte*>(own, other), *end = std::max<const std::byte*>(own + kSize, other + 40'000);
  file->release({begin, end});
  EXPECT_EQ(std::count(own, own + kSize, std::byte{'y'}), static_cast<std::ptrdiff_t>(kSize));
  EXPECT_EQ(std::count(other, other + 40'000, std::byte{'x'}), 40'000);
  ::munmap(address, kSize);
}

// Sets a variable of the environment for as long as it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name), had_(::getenv(name) != nullptr), old_(had_ ? ::getenv(name) : "") { ::setenv(name, value.c_str(), 1); }
  ~Environment() {
    if (had_) ::setenv(name_, old_.c_str(), 1);
    else ::unsetenv(name_);
  }

 private:
  const char* name_;
  bool had_;
  std::string old_;
};

TEST(File, ScratchFilesHaveNoName) {
  const std::string folder = test::temporary_folder();
  const Environment environment("TMPDIR", folder);
  std::shared_ptr<const MappedFile> mapped;
  {
    ScratchFile scratch = test::must(ScratchFile::create("test"));
    EXPECT_EQ(test::must(scratch.map())->bytes().size(), 0U);
    for (const std::string_view piece : {"one", "", " two"}) test::must(scratch.write(std::as_bytes(std::span(piece))));
    mapped = test::must(scratch.map());
    EXPECT_EQ(files_in(folder), 0U);
  }
  mapped->release(mapped->bytes());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size()), "one two");
}

TEST(File, ScratchFilesWithoutRoom) {
  const std::string folder = test::temporary_folder();
  {
    const Environment environment("TMPDIR", folder + "/none");
    EXPECT_EQ(ScratchFile::create("unpack 'x'").error().to_string(),
              "error: cannot unpack 'x': no temporary file can be made in '" + folder + "/none': No such file or directory\n  help: set TMPDIR to a folder that can be written to");
  }
  const Environment environment("TMPDIR", folder);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{8192, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  ScratchFile scratch = test::must(ScratchFile::create("unpack 'x'"));
  const std::vector<std::byte> bytes(10'000);
  const Status status = scratch.write(bytes);
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.error().to_string(),
            "error: cannot unpack 'x': writing a temporary file in '" + folder + "' failed: File too large\n  help: free some space there, or set TMPDIR to a folder that has more");
}

TEST(File, AMappedFileOutlivesItsReplacement) {
  const std::string path = test::temporary_folder() + "/a";
  test::must(write_file(path, "old"));
  const auto mapped = test::must(MappedFile::open(path));
  test::must(write_file(path, "new"));
  EXPECT_EQ(static_cast<char>(mapped->bytes()[0]), 'o');
  EXPECT_EQ(test::must(read_file(path)), "new");
}

TEST(File, ErrorsSayWhatIsWrong) {
  const std::string folder = test::temporary_folder();
  EXPECT_EQ(write_file(folder + "/none/a", "x").error().message, "cannot write '" + folder + "/none/a': the folder '" + folder + "/none' does not exist");
  EXPECT_EQ(check_writable(folder + "/none/a").error().help, "create the folder first");
  EXPECT_EQ(write_file(folder, "x").error().message, "cannot write '" + folder + "': it is a folder");
  EXPECT_EQ(read_file(folder + "/a").error().message, "cannot open '" + folder + "/a': No such file or directory");
  EXPECT_EQ(read_file(folder).error().message, "cannot read '" + folder + "': not a regular file");
  test::must(check_writable(folder + "/a"));
  EXPECT_EQ(files_in(folder), 0U);  // asking leaves nothing behind
  EXPECT_FALSE(check_writable("/proc/narrow.out").has_value());  // nobody may write there
}

TEST(File, ReadOnlyFoldersKeepTheOldFile) {
  if (::geteuid() == 0) GTEST_SKIP() << "skipped: permissions do not bind root";
  const std::string folder = test::temporary_folder(), path = folder + "/a";
  test::must(write_file(path, "old"));
  ::chmod(folder.c_str(), 0555);
  EXPECT_EQ(write_file(path, "new").error().message, "cannot write '" + path + "': Permission denied");
  EXPECT_FALSE(check_writable(path).has_value());
  ::chmod(folder.c_str(), 0755);
  EXPECT_EQ(test::must(read_file(path)), "old");
}

TEST(File, LinksAreFollowedToWhatTheyPointTo) {
  const std::string folder = test::temporary_folder();
  fs::create_directory(folder + "/inner");
  test::must(write_file(folder + "/inner/real", "old"));
  fs::create_symlink("inner/real", folder + "/link");  // relative to the link's folder
  fs::create_symlink(folder + "/link", folder + "/chain");
  fs::create_symlink("inner/fresh", folder + "/dangling");
  fs::create_symlink("loop", folder + "/loop");
  fs::create_symlink("nowhere/fresh", folder + "/astray");
  for (const auto& [link, target] : {std::pair{"link", "inner/real"}, {"chain", "inner/real"}, {"dangling", "inner/fresh"}}) {
    test::must(check_writable(folder + "/" + link));
    test::must(write_file(folder + "/" + link, link));
    EXPECT_TRUE(fs::is_symlink(folder + "/" + link)) << link;
    EXPECT_FALSE(fs::is_symlink(folder + "/" + target)) << link;
    EXPECT_EQ(test::must(read_file(folder + "/" + target)), link);
  }
  for (const char* link : {"loop", "astray"}) {
    EXPECT_TRUE(write_file(folder + "/" + link, "x").error().message.starts_with("cannot write '" + folder + "/" + link + "': ")) << link;
    EXPECT_FALSE(check_writable(folder + "/" + link).has_value()) << link;
    EXPECT_TRUE(fs::is_symlink(folder + "/" + link)) << link;
  }
  EXPECT_EQ(files_in(folder), 6U);
  EXPECT_EQ(files_in(folder + "/inner"), 2U);
}

TEST(File, WhatIsNoRegularFileIsNeitherReplacedNorWaitedFor) {
  const std::string folder = test::temporary_folder();
  std::vector<std::string> paths{folder + "/pipe", folder + "/link"};
  ASSERT_EQ(::mkfifo(paths[0].c_str(), 0666), 0);
  fs::create_symlink("pipe", paths[1]);
  if (const std::string device = folder + "/device"; ::mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0) paths.push_back(device);  // only root may
  for (const std::string& path : paths) {
    struct stat before {}, after {};
    ASSERT_EQ(::stat(path.c_str(), &before), 0);
    for (const Status& refused : {write_file(path, "x"), check_writable(path)}) {
      EXPECT_EQ(refused.error().message, "cannot write '" + path + "': it exists and is no regular file");
      EXPECT_EQ(refused.error().help, "give the name of a file");
    }
    EXPECT_EQ(read_file(path).error().message, "cannot read '" + path + "': not a regular file");
    ASSERT_EQ(::stat(path.c_str(), &after), 0);
    EXPECT_EQ(after.st_ino, before.st_ino) << path;
    EXPECT_EQ(after.st_mode, before.st_mode) << path;
  }
  EXPECT_EQ(files_in(folder), paths.size());
}

TEST(File, AnOutputThatIsAnInputIsRefusedUnderAnyName) {
  const std::string folder = test::temporary_folder(), model = folder + "/net.onnx";
  test::must(write_file(model, "model"));
  test::must(write_file(folder + "/other", "model"));
  fs::create_symlink("net.onnx", folder + "/link");
  fs::create_hard_link(model, folder + "/twin");
  const std::vector<std::string> inputs{"", "x=1", folder + "/none", model};
  for (const std::string& output : {model, folder + "/./net.onnx", folder + "/link", folder + "/twin"}) {
    const Status refused = check_not_input(output, inputs);
    ASSERT_FALSE(refused.has_value()) << output;
    EXPECT_EQ(refused.error().message, "output '" + output + "' would replace the input '" + model + "'");
    EXPECT_EQ(refused.error().exit_code, ExitCode::kUsage);
  }
  for (const std::string& output : {folder + "/other", folder + "/none", std::string()}) test::must(check_not_input(output, inputs));
}

TEST(File, StagedFilesAppearTogetherOrNotAtAll) {
  const std::string folder = test::temporary_folder(), a = folder + "/a", b = folder + "/b";
  test::must(write_file(a, "old"));
  {
    StagedFiles files;
    EXPECT_FALSE(has_temporary_files());
    test::must(files.write(a, "new"));
    test::must(files.write(b, "new"));
    EXPECT_TRUE(has_temporary_files());
    EXPECT_EQ(files_in(folder), 3U);
    EXPECT_FALSE(files.write(folder + "/none/c", "new").has_value());
  }
  EXPECT_FALSE(has_temporary_files());
  EXPECT_EQ(files_in(folder), 1U);
  EXPECT_EQ(test::must(read_file(a)), "old");
  // Two at once are not in each other's way.
  StagedFiles first, second;
  for (StagedFiles* files : {&first, &second}) {
    test::must(files->write(a, files == &first ? "first" : "second"));
    test::must(files->write(b, files == &first ? "first" : "second"));
  }
  test::must(first.commit());
  EXPECT_EQ(test::must(read_file(b)), "first");
  test::must(second.commit());
  EXPECT_EQ(test::must(read_file(a)), "second");
  EXPECT_EQ(files_in(folder), 2U);
  EXPECT_FALSE(has_temporary_files());
}

}  // namespace
}  // namespace narrow
