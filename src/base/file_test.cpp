#include "base/file.h"

#include <sys/stat.h>
#include <unistd.h>

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
    MappedFile::release(file->bytes().subspan(begin, size));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()), bytes);
  }
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
