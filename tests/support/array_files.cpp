#include "array_files.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <bit>

namespace narrow::test {
namespace {

void put(std::string* out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

// Little-endian.
std::string element(const NpyForm& form, std::int64_t value) {
  std::string out;
  const auto bits = static_cast<std::uint64_t>(value);
  if (form.code == "f2") put(&out, bits == 0 ? 0 : (std::bit_width(bits) + 14) << 10 | (bits << 10 >> (std::bit_width(bits) - 1) & 0x3ff), 2);
  else if (form.code == "f4") put(&out, std::bit_cast<std::uint32_t>(static_cast<float>(value)), 4);
  else if (form.code == "f8") put(&out, std::bit_cast<std::uint64_t>(static_cast<double>(value)), 8);
  else if (form.code == "b1") put(&out, value % 2 == 0 ? 0 : bits, 1);  // any byte but 0 is true
  else put(&out, bits, static_cast<int>(size_of(form.dtype)));
  return out;
}

std::string deflate_all(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  NARROW_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

std::vector<NpyForm> npy_forms() {
  static constexpr std::pair<std::string_view, DType> kTypes[] = {{"f4", DType::kF32}, {"f8", DType::kF64}, {"f2", DType::kF32}, {"i8", DType::kI64}, {"i4", DType::kI32},
                                                                  {"i2", DType::kI16}, {"u2", DType::kU16}, {"i1", DType::kI8},  {"u1", DType::kU8},  {"b1", DType::kBool}};
  std::vector<NpyForm> forms;
  for (const auto& [code, dtype] : kTypes) {
    for (const char order : {'<', '>'}) {
      for (const bool column_major : {false, true}) forms.push_back({code, dtype, order, column_major});
    }
  }
  return forms;
}

std::string npy_bytes(const NpyForm& form, const Shape& shape, const std::vector<std::int64_t>& values) {
  std::string extents;
  for (const std::int64_t extent : shape) extents += fmt::format("{},", extent);
  std::string dict = fmt::format("{{'descr': '{}{}', 'fortran_order': {}, 'shape': ({}), }}", form.order, form.code, form.column_major ? "True" : "False", extents);
  dict.append(64 - (10 + dict.size() + 1) % 64, ' ');
  std::string out("\x93NUMPY\x01\0", 8);
  put(&out, dict.size() + 1, 2);
  out += dict + "\n";
  const std::size_t count = values.size();
  std::vector<std::int64_t> index(shape.size(), 0);  // column-major files count their first axis fastest
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t at = 0;
    for (std::size_t a = 0; a < shape.size(); ++a) at = at * shape[a] + index[a];
    std::string bytes = element(form, values[form.column_major ? static_cast<std::size_t>(at) : i]);
    if (form.order == '>') std::reverse(bytes.begin(), bytes.end());
    out += bytes;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      if (++index[a] < shape[a]) break;
      index[a] = 0;
    }
  }
  return out;
}

Tensor npy_values(const NpyForm& form, const Shape& shape, const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> read = values;
  for (std::int64_t& value : read) value = form.dtype == DType::kBool ? value % 2 : value;
  return Tensor::of<std::int64_t>(shape, read).cast(form.dtype);
}

std::string npz_bytes(const std::vector<std::pair<std::string, std::string>>& members, bool deflated) {
  std::string out, directory;
  for (const auto& [name, contents] : members) {
    const std::string packed = deflated ? deflate_all(contents) : contents;
    std::string common;  // version, flags, method, time, date, checksum, sizes, length of the name, no extra field
    put(&common, 20, 2);
    put(&common, 0, 2);
    put(&common, deflated ? 8 : 0, 2);
    put(&common, 0, 4);
    put(&common, crc32_z(0, reinterpret_cast<const Bytef*>(contents.data()), contents.size()), 4);
    put(&common, packed.size(), 4);
    put(&common, contents.size(), 4);
    put(&common, name.size(), 2);
    put(&common, 0, 2);
    put(&directory, 0x02014b50, 4);
    put(&directory, 20, 2);
    directory += common;
    put(&directory, 0, 6);  // no comment, first disk
    put(&directory, 0, 4);
    put(&directory, out.size(), 4);
    directory += name;
    put(&out, 0x04034b50, 4);
    out += common + name + packed;
  }
  const std::size_t begin = out.size();
  out += directory;
  put(&out, 0x06054b50, 4);
  put(&out, 0, 4);
  put(&out, members.size(), 2);
  put(&out, members.size(), 2);
  put(&out, directory.size(), 4);
  put(&out, begin, 4);
  put(&out, 0, 2);
  return out;
}

}  // namespace narrow::test
