#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace narrow {
namespace {

namespace fs = std::filesystem;

std::string why(int code) { return std::strerror(code); }

// Closes and removes the temporary file unless it was renamed into place.
struct TemporaryFile {
  int descriptor = -1;
  std::string name;
  ~TemporaryFile() {
    if (descriptor >= 0) ::close(descriptor);
    if (!name.empty()) ::unlink(name.c_str());
  }
};

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

Status open_temporary(const std::string& path, TemporaryFile* file) {
  const fs::path target(path);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::error_code code;
  if (fs::is_directory(target, code)) return error("cannot write '{}': it is a folder", path).with_help("give a file name");
  if (!fs::is_directory(folder, code)) {
    return error("cannot write '{}': the folder '{}' does not exist", path, folder.string()).with_help("create the folder first");
  }
  std::string name = (folder / ("." + target.filename().string() + ".XXXXXX")).string();
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0) {
    return error("cannot write '{}': {}", path, why(errno)).with_help("choose another output path with -o");
  }
  file->descriptor = descriptor;
  file->name = name;
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const auto mapped = NARROW_TRY(MappedFile::open(path));
  const auto bytes = mapped->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status write_file(const std::string& path, std::string_view bytes) {
  const std::string_view pieces[] = {bytes};
  return write_file(path, pieces);
}

Status write_file(const std::string& path, std::span<const std::string_view> pieces) {
  TemporaryFile file;
  NARROW_TRY(open_temporary(path, &file));
  const auto failed = [&](int code) -> Status {
    return error("cannot write '{}': {}", path, why(code))
        .with_help(code == ENOSPC ? "free some disk space or choose another output path with -o; the old file, if any, is untouched"
                                  : "the old file, if any, is untouched");
  };
  for (const std::string_view piece : pieces) {
    if (const int code = write_all(file.descriptor, piece); code != 0) return failed(code);
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(file.descriptor, 0666 & ~mask) != 0 || ::fsync(file.descriptor) != 0) return failed(errno);
  const int descriptor = std::exchange(file.descriptor, -1);
  if (::close(descriptor) != 0) return failed(errno);
  if (::rename(file.name.c_str(), path.c_str()) != 0) return failed(errno);
  file.name.clear();
  return {};
}

Status check_writable(const std::string& path) {
  TemporaryFile file;
  return open_temporary(path, &file);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
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
