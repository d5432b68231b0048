// Files. Every product is written to a temporary name beside its place and renamed: a killed or failed run leaves the
// old file or the new one, never half a file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace narrow {

Result<std::string> read_file(const std::string& path);
// Errors: the folder does not exist, not writable, disk full; the old file is then untouched.
Status write_file(const std::string& path, std::string_view bytes);
// For products written piece by piece: `pieces` are written in order.
Status write_file(const std::string& path, std::span<const std::string_view> pieces);
// Says at once whether `path` could be written, before minutes of work are spent. Creates nothing that stays.
Status check_writable(const std::string& path);

// A read-only memory-mapped file. Empty files give an empty span.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Gives the memory of a part that lies in a mapped file back, so that a pass over a large file does not keep all of it. Bytes that are
  // read again come from the file again.
  static void release(std::span<const std::byte> part);

 private:
  MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}
  const std::byte* data_;
  std::size_t size_;
};

}  // namespace narrow
