#include "data/npz.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace narrow {
namespace {

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

Result<NpzFile> NpzFile::open(const std::string& path) { return NpzFile(path, NARROW_TRY(ZipFile::open(path))); }

std::string NpzFile::key(std::size_t i) const {
  const std::string& name = zip_.members()[i].name;
  return name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
}

std::optional<std::size_t> NpzFile::find(std::string_view wanted) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (key(i) == wanted) return i;
  }
  return std::nullopt;
}

Result<TensorType> NpzFile::type(std::size_t i) const {
  const ZipMember& member = zip_.members()[i];
  std::vector<std::byte> begin;
  NARROW_TRY(zip_.unpack(member, [&](std::span<const std::byte> piece) -> Result<bool> {
    begin.insert(begin.end(), piece.begin(), piece.end());
    return begin.size() < npy_header_end(begin);
  }));
  return NARROW_TRY(parse_npy_header(begin, member.unpacked, name_of(i))).type;
}

Result<Tensor> NpzFile::read(std::size_t i) const {
  const ZipMember& member = zip_.members()[i];
  auto unpacked = std::make_shared<std::vector<std::byte>>();
  if (!member.stored()) unpacked->reserve(std::min(member.unpacked, kMostShrunk * member.packed));
  NARROW_TRY(zip_.unpack(member, [&](std::span<const std::byte> piece) -> Result<bool> {
    if (!member.stored()) unpacked->insert(unpacked->end(), piece.begin(), piece.end());
    return true;
  }));
  if (member.stored()) return parse_npy(NARROW_TRY(zip_.packed(member)), name_of(i), zip_.file());
  return parse_npy(*unpacked, name_of(i), unpacked);
}

Result<NpyArray> NpzFile::array(std::size_t i) const {
  const ZipMember& member = zip_.members()[i];
  if (member.stored()) {
    NARROW_TRY(zip_.unpack(member, [](std::span<const std::byte>) -> Result<bool> { return true; }));  // its checksum
    return NpyArray::in(zip_.file(), NARROW_TRY(zip_.packed(member)), name_of(i));
  }
  ScratchFile scratch = NARROW_TRY(ScratchFile::create(fmt::format("unpack {}", zip_.name_of(member))));
  NARROW_TRY(zip_.unpack(member, [&](std::span<const std::byte> piece) -> Result<bool> {
    NARROW_TRY(scratch.write(piece));
    return true;
  }));
  const auto file = NARROW_TRY(scratch.map());
  return NpyArray::in(file, file->bytes(), name_of(i));
}

Result<NamedTensors> read_npz(const std::string& path) {
  const NpzFile file = NARROW_TRY(NpzFile::open(path));
  NamedTensors tensors;
  for (std::size_t i = 0; i < file.size(); ++i) tensors.emplace_back(file.key(i), NARROW_TRY(file.read(i)));
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
