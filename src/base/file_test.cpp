#include "base/file.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
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

}  // namespace
}  // namespace narrow
