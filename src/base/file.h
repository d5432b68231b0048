// Files. Every product is written to a temporary name beside its place and renamed: a killed or failed run leaves the
// old file or the new one, never half a file. Links are followed to the file they point to, which is what gets replaced. What is no
// regular file (a device, a pipe) is never written to: root could destroy it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace narrow {

// The whole file. Errors: not there, a folder, not readable.
Result<std::string> read_file(const std::string& path);
Result<std::string> read_file(const std::string& path, std::string_view help);  // help: what an error advises instead
// Errors: the folder does not exist, not writable, no regular file, disk full; the old file is then untouched.
Status write_file(const std::string& path, std::string_view bytes);
// For products written piece by piece: `pieces` are written in order.
Status write_file(const std::string& path, std::span<const std::string_view> pieces);
// Says at once whether `path` could be written, before minutes of work are spent. Creates nothing that stays.
Status check_writable(const std::string& path);
// Error when `output` is one of `inputs`, by whatever name: writing it would destroy what was read. Names that are no files are passed over.
Status check_not_input(const std::string& output, std::span<const std::string> inputs);

// Several files that appear together. Temporary names are unique, so that several processes may write the same files.
class StagedFiles {
 public:
  StagedFiles() = default;
  ~StagedFiles();  // removes what was not committed
  StagedFiles(const StagedFiles&) = delete;
  StagedFiles& operator=(const StagedFiles&) = delete;
  // Writes a file under a temporary name. Errors as those of write_file.
  Status write(const std::string& path, std::span<const std::string_view> pieces);
  Status write(const std::string& path, std::string_view bytes);
  Status commit();  // renames all of them

 private:
  struct File { std::string temporary, place, path; };
  std::vector<File> files_;
};
// Does this process have temporary files on disk? For signal handlers: ending at once would leave them behind.
bool has_temporary_files();

// A read-only memory-mapped file. Empty files give an empty span.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Gives the memory of a part back, so that a pass over a large file does not keep all of it; bytes that are read again come
  // from the file again. What of `part` does not lie in this file stays as it is.
  void release(std::span<const std::byte> part) const;

 private:
  friend class ScratchFile;
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  static Result<std::shared_ptr<const MappedFile>> map(int descriptor, const std::string& path);
  const std::byte* data_;
  std::size_t size_;
};

// A file without a name, for data that are too large for memory: written in order, then mapped. It lies in $TMPDIR, else in
// /var/tmp (which is on a disk, unlike /tmp on some systems), and is gone with its last mapping, however the program ends.
class ScratchFile {
 public:
  // `purpose` for messages: "cannot PURPOSE: writing a temporary file in '/var/tmp' failed: No space left on device".
  static Result<ScratchFile> create(std::string purpose);
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;
  ~ScratchFile();
  Status write(std::span<const std::byte> bytes);
  Result<std::shared_ptr<const MappedFile>> map() const;

 private:
  ScratchFile(std::string purpose, std::string folder, int descriptor) : purpose_(std::move(purpose)), folder_(std::move(folder)), descriptor_(descriptor) {}
  std::string purpose_, folder_;
  int descriptor_;
};

}  // namespace narrow
