#include "data/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace narrow {
namespace {

// Sizes of the records, whose offsets below are into them.
constexpr std::uint32_t kEndRecord64 = 0x06064b50;
constexpr std::uint32_t kEndLocator64 = 0x07064b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kLocator64Size = 20, kEnd64Size = 56;

class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> data) : data_(data) {}
  std::size_t size() const { return data_.size(); }
  bool holds(std::uint64_t offset, std::uint64_t count) const { return offset <= size() && count <= size() - offset; }
  // The caller has asked holds().
  template <typename T>
  T get(std::uint64_t offset) const {
    T value;
    std::memcpy(&value, data_.data() + offset, sizeof value);
    return value;
  }
  std::span<const std::byte> slice(std::uint64_t offset, std::uint64_t count) const { return data_.subspan(offset, count); }
  std::string text(std::uint64_t offset, std::uint64_t count) const { return {reinterpret_cast<const char*>(data_.data()) + offset, count}; }

 private:
  std::span<const std::byte> data_;
};

// The sizes and the offset of a member too large for 32 bits stand in its extra field 1.
bool read_zip64(const Bytes& bytes, std::uint64_t extra, std::uint64_t length, ZipMember* member) {
  const std::uint64_t end = extra + length;
  while (extra + 4 <= end) {
    const auto id = bytes.get<std::uint16_t>(extra);
    const auto size = bytes.get<std::uint16_t>(extra + 2);
    extra += 4;
    if (extra + size > end) return false;
    if (id == 1) {
      std::uint64_t at = extra;
      for (std::uint64_t* field : {&member->unpacked, &member->packed, &member->offset}) {
        if (*field != kMax32) continue;
        if (at + 8 > extra + size) return false;
        *field = bytes.get<std::uint64_t>(at);
        at += 8;
      }
      return true;
    }
    extra += size;
  }
  return true;
}

Result<std::vector<ZipMember>> read_directory(const Bytes& bytes, const std::string& path) {
  const auto broken = [&] { return error("'{}' is not a .npz file: it has no readable zip directory", path).with_help("write it again with numpy.savez"); };
  if (bytes.size() < kEndSize) return broken();
  // The end record stands last, before a comment of at most 65535 bytes.
  std::uint64_t end = bytes.size() - kEndSize;
  const std::uint64_t stop = end > 0xffff ? end - 0xffff : 0;
  while (bytes.get<std::uint32_t>(end) != kEndRecord) {
    if (end == stop) return broken();
    --end;
  }
  std::uint64_t count = bytes.get<std::uint16_t>(end + 10);
  std::uint64_t at = bytes.get<std::uint32_t>(end + 16);
  if (end >= kLocator64Size && bytes.get<std::uint32_t>(end - kLocator64Size) == kEndLocator64) {
    const auto end64 = bytes.get<std::uint64_t>(end - kLocator64Size + 8);
    if (!bytes.holds(end64, kEnd64Size) || bytes.get<std::uint32_t>(end64) != kEndRecord64) return broken();
    count = bytes.get<std::uint64_t>(end64 + 32);
    at = bytes.get<std::uint64_t>(end64 + 48);
  }
  std::vector<ZipMember> members;
  std::uint64_t packed = 0;  // of all members: they do not share bytes, or a small file could unpack to any amount
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!bytes.holds(at, kCentralSize) || bytes.get<std::uint32_t>(at) != kCentralRecord) return broken();
    ZipMember member;
    member.method = bytes.get<std::uint16_t>(at + 10);
    member.crc = bytes.get<std::uint32_t>(at + 16);
    member.packed = bytes.get<std::uint32_t>(at + 20);
    member.unpacked = bytes.get<std::uint32_t>(at + 24);
    member.offset = bytes.get<std::uint32_t>(at + 42);
    const std::uint64_t name = bytes.get<std::uint16_t>(at + 28), extra = bytes.get<std::uint16_t>(at + 30), comment = bytes.get<std::uint16_t>(at + 32);
    if (!bytes.holds(at + kCentralSize, name + extra + comment)) return broken();
    member.name = bytes.text(at + kCentralSize, name);
    if (!read_zip64(bytes, at + kCentralSize + name, extra, &member)) return broken();
    if (!bytes.holds(packed, member.packed)) return broken();
    packed += member.packed;
    at += kCentralSize + name + extra + comment;
    members.push_back(std::move(member));
  }
  return members;
}

constexpr std::size_t kPiece = std::size_t{256} << 10;  // bytes handed on at a time

// The pieces of a deflated member. zlib counts in 32 bits, so its input comes in pieces, too.
Status inflate_pieces(const MappedFile& file, std::span<const std::byte> packed, std::uint64_t size, const std::string& name, const ZipFile::Take& take) {
  if (size / kMostShrunk > packed.size()) return error("{} is damaged: {} bytes cannot unpack to {}", name, packed.size(), size);
  struct Stream : z_stream {
    Stream() : z_stream{} {}
    ~Stream() { inflateEnd(this); }
  } stream;
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return error("{} cannot be unpacked: out of memory", name);
  std::vector<std::byte> buffer(kPiece);
  std::uint64_t given = 0;
  for (int code = Z_OK; code != Z_STREAM_END;) {
    if (stream.avail_in == 0 && !packed.empty()) {
      const auto next = packed.first(std::min(packed.size(), kPiece));
      file.release({next.data() - std::min<std::ptrdiff_t>(next.data() - file.bytes().data(), kPiece), next.data()});
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(next.data()));
      stream.avail_in = static_cast<uInt>(next.size());
      packed = packed.subspan(next.size());
    }
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    code = ::inflate(&stream, Z_NO_FLUSH);
    const std::size_t count = buffer.size() - stream.avail_out;
    given += count;
    if ((code != Z_OK && code != Z_STREAM_END) || given > size || (code == Z_STREAM_END && given < size)) {
      return error("{} is damaged: it does not unpack to {} bytes", name, size).with_help("copy or write the file again");
    }
    if (count > 0 && !NARROW_TRY(take(std::span(buffer).first(count)))) break;
  }
  return {};
}

}  // namespace

Result<ZipFile> ZipFile::open(const std::string& path) {
  auto file = NARROW_TRY(MappedFile::open(path));
  auto members = NARROW_TRY(read_directory(Bytes(file->bytes()), path));
  return ZipFile(path, std::move(file), std::move(members));
}

Result<std::span<const std::byte>> ZipFile::packed(const ZipMember& member) const {
  const Bytes bytes(file_->bytes());
  if (!bytes.holds(member.offset, kLocalSize) || bytes.get<std::uint32_t>(member.offset) != kLocalRecord) return error("{} is damaged: no record at its place", name_of(member));
  const std::uint64_t begin = member.offset + kLocalSize + bytes.get<std::uint16_t>(member.offset + 26) + bytes.get<std::uint16_t>(member.offset + 28);
  if (!bytes.holds(begin, member.packed)) return error("{} is truncated", name_of(member)).with_help("copy or write the file again");
  return bytes.slice(begin, member.packed);
}

Status ZipFile::unpack(const ZipMember& member, const Take& take) const {
  const std::string name = name_of(member);
  auto rest = NARROW_TRY(packed(member));
  uLong crc = 0;
  bool more = true;
  const Take check = [&](std::span<const std::byte> piece) -> Result<bool> {
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
    more = NARROW_TRY(take(piece));
    return more;
  };
  if (member.method == 8) {
    NARROW_TRY(inflate_pieces(*file_, rest, member.unpacked, name, check));
  } else if (!member.stored()) {
    return error("{} is packed by method {}, wanted stored or deflated", name, member.method).with_help("write it with numpy.savez or numpy.savez_compressed");
  }
  for (; member.stored() && more && !rest.empty(); rest = rest.subspan(std::min(rest.size(), kPiece))) {
    const auto piece = rest.first(std::min(rest.size(), kPiece));
    NARROW_TRY(check(piece));
    file_->release(piece);
  }
  if (more && crc != member.crc) return error("{} is damaged: its checksum differs", name).with_help("copy or write the file again");
  return {};
}

}  // namespace narrow
