#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace narrow {
namespace {

namespace fs = std::filesystem;

std::string why(int code) { return std::strerror(code); }

std::atomic<int> g_temporary_files{0};

// Closes and removes the temporary file unless it was taken.
struct TemporaryFile {
  int descriptor = -1;
  std::string name;
  ~TemporaryFile() {
    if (descriptor >= 0) ::close(descriptor);
    if (!name.empty()) remove(name);
  }
  static void remove(const std::string& name) {
    ::unlink(name.c_str());
    --g_temporary_files;
  }
};

// The file that `path` names, behind links. It need not exist.
Result<fs::path> place_of(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (fs::is_directory(status)) return error("cannot write '{}': it is a folder", path).with_help("give a file name");
  if (fs::exists(status) && !fs::is_regular_file(status)) return error("cannot write '{}': it exists and is no regular file", path).with_help("give the name of a file");
  fs::path place(path);
  for (int links = 0; fs::is_symlink(place, code); ++links) {
    if (links == kMostLinks) return error("cannot write '{}': {}", path, why(ELOOP)).with_help("choose another output path with -o");
    place = place.parent_path() / fs::read_symlink(place, code);
  }
  return place;
}

Status open_temporary(const std::string& path, const fs::path& place, TemporaryFile* file) {
  const fs::path folder = place.has_parent_path() ? place.parent_path() : fs::path(".");
  std::error_code code;
  if (!fs::is_directory(folder, code)) {
    return error("cannot write '{}': the folder '{}' does not exist", path, folder.string()).with_help("create the folder first");
  }
  std::string name = (folder / ("." + place.filename().string() + ".XXXXXX")).string();
  ++g_temporary_files;
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0) {
    const int reason = errno;
    --g_temporary_files;
    return error("cannot write '{}': {}", path, why(reason)).with_help("choose another output path with -o");
  }
  file->descriptor = descriptor;
  file->name = name;
  return {};
}

// 0, or what went wrong.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

Status write_failed(const std::string& path, int code) {
  return error("cannot write '{}': {}", path, why(code))
      .with_help(code == ENOSPC ? "free some disk space or choose another output path with -o; the old file, if any, is untouched"
                                : "the old file, if any, is untouched");
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const auto mapped = NARROW_TRY(MappedFile::open(path));
  const auto bytes = mapped->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::string> read_file(const std::string& path, std::string_view help) {
  Result<std::string> text = read_file(path);
  if (!text) text.error().help = help;
  return text;
}

Status write_file(const std::string& path, std::string_view bytes) {
  const std::string_view pieces[] = {bytes};
  return write_file(path, pieces);
}

Status write_file(const std::string& path, std::span<const std::string_view> pieces) {
  StagedFiles file;
  NARROW_TRY(file.write(path, pieces));
  return file.commit();
}

StagedFiles::~StagedFiles() {
  for (const File& file : files_) TemporaryFile::remove(file.temporary);
}

Status StagedFiles::write(const std::string& path, std::string_view bytes) {
  const std::string_view pieces[] = {bytes};
  return write(path, pieces);
}

Status StagedFiles::write(const std::string& path, std::span<const std::string_view> pieces) {
  const fs::path place = NARROW_TRY(place_of(path));
  TemporaryFile file;
  NARROW_TRY(open_temporary(path, place, &file));
  for (const std::string_view piece : pieces) {
    if (const int code = write_all(file.descriptor, piece); code != 0) return write_failed(path, code);
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(file.descriptor, 0666 & ~mask) != 0 || ::fsync(file.descriptor) != 0) return write_failed(path, errno);
  const int descriptor = std::exchange(file.descriptor, -1);
  if (::close(descriptor) != 0) return write_failed(path, errno);
  files_.push_back({std::exchange(file.name, {}), place.string(), path});
  return {};
}

Status StagedFiles::commit() {
  while (!files_.empty()) {
    const File& file = files_.front();
    if (::rename(file.temporary.c_str(), file.place.c_str()) != 0) return write_failed(file.path, errno);
    --g_temporary_files;
    files_.erase(files_.begin());
  }
  return {};
}

bool has_temporary_files() { return g_temporary_files.load(std::memory_order_relaxed) > 0; }

Status check_writable(const std::string& path) {
  TemporaryFile file;
  return open_temporary(path, NARROW_TRY(place_of(path)), &file);
}

Status check_not_input(const std::string& output, std::span<const std::string> inputs) {
  struct stat target {};
  if (::stat(output.c_str(), &target) != 0) return {};
  for (const std::string& input : inputs) {
    struct stat source {};
    if (::stat(input.c_str(), &source) != 0 || source.st_dev != target.st_dev || source.st_ino != target.st_ino) continue;
    return error("output '{}' would replace the input '{}'", output, input).with_help("choose another output path with -o").with_exit_code(ExitCode::kUsage);
  }
  return {};
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not be waited for
  if (descriptor < 0) return error("cannot open '{}': {}", path, why(errno)).with_help("check the path");
  auto file = map(descriptor, path);
  ::close(descriptor);
  return file;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::map(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return error("cannot read '{}': not a regular file", path).with_help("check the path");
  const auto size = static_cast<std::size_t>(status.st_size);
  const std::byte* data = nullptr;
  if (size > 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) return error("cannot map '{}': {}", path, why(errno));
    data = static_cast<const std::byte*>(address);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(data, size));
}

void MappedFile::release(std::span<const std::byte> part) const {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto own = reinterpret_cast<std::uintptr_t>(data_), first = reinterpret_cast<std::uintptr_t>(part.data());
  // From the page of its first byte to that of its last, which the next part begins with.
  const std::uintptr_t begin = std::max(own, first) / page * page;
  const std::uintptr_t end = std::min(own + size_, first + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<ScratchFile> ScratchFile::create(std::string purpose) {
  const char* wish = std::getenv("TMPDIR");
  std::error_code code;
  std::string folder = wish != nullptr && *wish != '\0' ? wish : fs::is_directory("/var/tmp", code) ? "/var/tmp" : "/tmp";
  std::string name = folder + "/narrow.XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return error("cannot {}: no temporary file can be made in '{}': {}", purpose, folder, why(errno)).with_help("set TMPDIR to a folder that can be written to");
  ::unlink(name.c_str());
  return ScratchFile(std::move(purpose), std::move(folder), descriptor);
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : purpose_(std::move(other.purpose_)), folder_(std::move(other.folder_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

ScratchFile::~ScratchFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status ScratchFile::write(std::span<const std::byte> bytes) {
  const int code = write_all(descriptor_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (code == 0) return {};
  return error("cannot {}: writing a temporary file in '{}' failed: {}", purpose_, folder_, why(code)).with_help("free some space there, or set TMPDIR to a folder that has more");
}

Result<std::shared_ptr<const MappedFile>> ScratchFile::map() const { return MappedFile::map(descriptor_, fmt::format("a temporary file in {}", folder_)); }

}  // namespace narrow
