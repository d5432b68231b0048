#include "data/npz.h"

#include <zlib.h>

#include <cstring>
#include <memory>
#include <span>

#include "base/file.h"
#include "tensor/npy.h"

namespace narrow {
namespace {

// Zip records, little-endian (the "application note" of the format). All offsets below are into such a record.
constexpr std::uint32_t kLocalRecord = 0x04034b50;
constexpr std::uint32_t kCentralRecord = 0x02014b50;
constexpr std::uint32_t kEndRecord = 0x06054b50;
constexpr std::uint32_t kEndRecord64 = 0x06064b50;
constexpr std::uint32_t kEndLocator64 = 0x07064b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kLocator64Size = 20, kEnd64Size = 56;
constexpr std::uint32_t kMax32 = 0xffffffff;

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

struct Member {
  std::string name;
  std::uint16_t method = 0;  // 0 stored, 8 deflated
  std::uint32_t crc = 0;
  std::uint64_t packed = 0, unpacked = 0, offset = 0;
};

// The sizes and the offset of a member too large for 32 bits stand in its extra field 1.
bool read_zip64(const Bytes& bytes, std::uint64_t extra, std::uint64_t length, Member* member) {
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

Result<std::vector<Member>> read_directory(const Bytes& bytes, const std::string& path) {
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
  std::vector<Member> members;
  std::uint64_t packed = 0;  // of all members: they do not share bytes, or a small file could unpack to any amount
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!bytes.holds(at, kCentralSize) || bytes.get<std::uint32_t>(at) != kCentralRecord) return broken();
    Member member;
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

Result<std::span<const std::byte>> packed_bytes(const Bytes& bytes, const Member& member, const std::string& name) {
  if (!bytes.holds(member.offset, kLocalSize) || bytes.get<std::uint32_t>(member.offset) != kLocalRecord) return error("{} is damaged: no record at its place", name);
  const std::uint64_t begin = member.offset + kLocalSize + bytes.get<std::uint16_t>(member.offset + 26) + bytes.get<std::uint16_t>(member.offset + 28);
  if (!bytes.holds(begin, member.packed)) return error("{} is truncated", name).with_help("copy or write the file again");
  return bytes.slice(begin, member.packed);
}

Result<std::shared_ptr<std::vector<std::byte>>> inflate_all(std::span<const std::byte> packed, std::uint64_t size, const std::string& name) {
  // Deflate shrinks at most about 1032 to 1: a larger claim is forged, and must not cost memory.
  if (size / 1100 > packed.size()) return error("{} is damaged: {} bytes cannot unpack to {}", name, packed.size(), size);
  auto out = std::make_shared<std::vector<std::byte>>(size);
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return error("{} cannot be unpacked: out of memory", name);
  std::size_t taken = 0, given = 0;
  int code = Z_OK;
  constexpr std::size_t kPiece = std::size_t{1} << 30;  // zlib counts in 32 bits
  while (code == Z_OK) {
    const std::size_t in = std::min(packed.size() - taken, kPiece), room = std::min(out->size() - given, kPiece);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + taken));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(out->data() + given);
    stream.avail_out = static_cast<uInt>(room);
    code = ::inflate(&stream, Z_NO_FLUSH);
    taken += in - stream.avail_in;
    given += room - stream.avail_out;
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END || given != size) return error("{} is damaged: it does not unpack to {} bytes", name, size).with_help("copy or write the file again");
  return out;
}

std::uint32_t checksum(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

template <typename T>
void put(std::string* out, T value) {
  char buffer[sizeof value];
  std::memcpy(buffer, &value, sizeof value);
  out->append(buffer, sizeof value);
}

bool is_utf8(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    if (first >= 0x80 && (first < 0xc2 || first > 0xf4)) return false;
    for (int more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3; more > 0; --more, ++i) {
      if (i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return false;
    }
  }
  return true;
}

// The fields that the local and the central record share: version 20, stored, 1980-01-01. Bit 11
// of the flags says that the name is UTF-8; without it readers take code page 437.
void put_common(std::string* out, std::uint32_t crc, std::uint32_t size, const std::string& name) {
  put<std::uint16_t>(out, 20);
  put<std::uint16_t>(out, is_utf8(name) ? 0x800 : 0);
  put<std::uint16_t>(out, 0);
  put<std::uint16_t>(out, 0);
  put<std::uint16_t>(out, 0x21);
  put(out, crc);
  put(out, size);
  put(out, size);
  put(out, static_cast<std::uint16_t>(name.size()));
  put<std::uint16_t>(out, 0);
}

}  // namespace

Result<NamedTensors> read_npz(const std::string& path) {
  const auto file = NARROW_TRY(MappedFile::open(path));
  const Bytes bytes(file->bytes());
  NamedTensors tensors;
  for (const Member& member : NARROW_TRY(read_directory(bytes, path))) {
    const std::string name = fmt::format("'{}' in '{}'", member.name, path);
    auto contents = NARROW_TRY(packed_bytes(bytes, member, name));
    std::shared_ptr<const void> owner = file;
    if (member.method == 8) {
      auto unpacked = NARROW_TRY(inflate_all(contents, member.unpacked, name));
      contents = {unpacked->data(), unpacked->size()};
      owner = std::move(unpacked);
    } else if (member.method != 0) {
      return error("{} is packed by method {}, wanted stored or deflated", name, member.method).with_help("write it with numpy.savez or numpy.savez_compressed");
    }
    if (checksum(contents) != member.crc) return error("{} is damaged: its checksum differs", name).with_help("copy or write the file again");
    std::string key = member.name;
    if (key.ends_with(".npy")) key.resize(key.size() - 4);
    tensors.emplace_back(std::move(key), NARROW_TRY(parse_npy(contents, fmt::format("{}:{}", path, member.name), owner)));
  }
  return tensors;
}

Status write_npz(const std::string& path, const NamedTensors& tensors) {
  std::vector<std::string> heads;  // local record, name and .npy header of each member
  std::string directory;
  std::vector<std::string_view> pieces;
  std::uint64_t offset = 0;
  for (const auto& [key, tensor] : tensors) {
    const std::string name = key + ".npy";
    const std::string header = npy_header(tensor.type());
    const std::uint64_t size = header.size() + tensor.bytes();
    if (offset + size > kMax32 || name.size() > 0xffff) return error("cannot write '{}': more than 4 GB in one .npz file", path).with_help("write several .npy files");
    const auto seed = crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
    const auto crc = static_cast<std::uint32_t>(crc32_z(seed, static_cast<const Bytef*>(tensor.raw()), tensor.bytes()));
    std::string& local = heads.emplace_back();
    put(&local, kLocalRecord);
    put_common(&local, crc, static_cast<std::uint32_t>(size), name);
    local += name + header;
    put(&directory, kCentralRecord);
    put<std::uint16_t>(&directory, 20);
    put_common(&directory, crc, static_cast<std::uint32_t>(size), name);
    for (int i = 0; i < 3; ++i) put<std::uint16_t>(&directory, 0);  // comment, disk, internal attributes
    put<std::uint32_t>(&directory, 0);
    put(&directory, static_cast<std::uint32_t>(offset));
    directory += name;
    offset += local.size() + tensor.bytes();
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    pieces.push_back(heads[i]);
    pieces.emplace_back(static_cast<const char*>(tensors[i].second.raw()), tensors[i].second.bytes());
  }
  const std::size_t directory_size = directory.size();
  put(&directory, kEndRecord);
  put<std::uint32_t>(&directory, 0);
  put(&directory, static_cast<std::uint16_t>(tensors.size()));
  put(&directory, static_cast<std::uint16_t>(tensors.size()));
  put(&directory, static_cast<std::uint32_t>(directory_size));
  put(&directory, static_cast<std::uint32_t>(offset));
  put<std::uint16_t>(&directory, 0);
  pieces.push_back(directory);
  return write_file(path, pieces);
}

}  // namespace narrow
