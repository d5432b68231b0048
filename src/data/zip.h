// Zip archives, as far as .npz files need them: members stored or deflated, with 64-bit sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"

namespace narrow {

struct ZipMember {
  std::string name;
  std::uint16_t method = 0;  // 0 stored, 8 deflated
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, unpacked = 0, offset = 0;  // bytes
  bool stored() const { return method == 0; }
};

// How records begin, little-endian (the "application note" of the format), and the size from which on 64 bits are used.
constexpr std::uint32_t kLocalRecord = 0x04034b50;
constexpr std::uint32_t kCentralRecord = 0x02014b50;
constexpr std::uint32_t kEndRecord = 0x06054b50;
constexpr std::uint32_t kMax32 = 0xffffffff;
// Deflate shrinks at most about 1032 to 1: a larger claim is forged, and must not cost memory or disk space.
constexpr std::uint64_t kMostShrunk = 1100;

class ZipFile {
 public:
  // Reads the directory. Error: not a zip archive, damaged.
  static Result<ZipFile> open(const std::string& path);
  const std::vector<ZipMember>& members() const { return members_; }
  const std::shared_ptr<const MappedFile>& file() const { return file_; }
  // As they lie in the file. Errors name the file and the member: damaged, truncated.
  Result<std::span<const std::byte>> packed(const ZipMember& member) const;
  // Gives the contents to `take`, piece by piece, as long as it returns true; the memory of the file's pages is given back. Errors besides those
  // of packed(): unknown compression, a checksum that differs (known after the last piece), what `take` returns.
  using Take = std::function<Result<bool>(std::span<const std::byte>)>;
  Status unpack(const ZipMember& member, const Take& take) const;
  std::string name_of(const ZipMember& member) const { return fmt::format("'{}' in '{}'", member.name, path_); }

 private:
  ZipFile(std::string path, std::shared_ptr<const MappedFile> file, std::vector<ZipMember> members) : path_(std::move(path)), file_(std::move(file)), members_(std::move(members)) {}
  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  std::vector<ZipMember> members_;
};

}  // namespace narrow
