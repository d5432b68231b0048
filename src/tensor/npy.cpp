#include "tensor/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/file.h"

namespace narrow {
namespace {

static_assert(std::endian::native == std::endian::little, "element order of .npy files");

constexpr std::string_view kMagic = "\x93NUMPY";

struct ElementType {
  std::string_view code;  // without the byte-order mark
  DType dtype;
  bool half = false;
};
constexpr ElementType kElementTypes[] = {{"f4", DType::kF32}, {"f8", DType::kF64}, {"f2", DType::kF32, true}, {"i8", DType::kI64},
                                         {"i4", DType::kI32}, {"i2", DType::kI16}, {"u2", DType::kU16},       {"i1", DType::kI8},
                                         {"u1", DType::kU8},  {"b1", DType::kBool}};

std::string_view code_of(DType dtype) {
  for (const ElementType& type : kElementTypes) {
    if (type.dtype == dtype && !type.half) return type.code;
  }
  return {};
}

// The header is the text of a Python dict with three keys; this reads just that.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : text_(text) {}
  bool eat(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::string> quoted() {
    skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }
  bool word(std::string_view wanted) {
    skip();
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }
  std::optional<std::int64_t> integer() {
    skip();
    std::int64_t value = 0;
    const auto result = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (result.ec != std::errc()) return std::nullopt;
    at_ = static_cast<std::size_t>(result.ptr - text_.data());
    (void)word("L");  // written by Python 2
    return value;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

std::optional<Shape> read_shape(HeaderText& text) {
  Shape shape;
  if (!text.eat('(')) return std::nullopt;
  while (!text.eat(')')) {
    const auto extent = text.integer();
    if (!extent || *extent < 0 || shape.size() == 32) return std::nullopt;
    shape.push_back(*extent);
    if (!text.eat(',')) return text.eat(')') ? std::optional(shape) : std::nullopt;
  }
  return shape;
}

float half_to_float(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000U) << 16;
  const std::uint32_t exponent = (h >> 10) & 0x1fU;
  const std::uint32_t fraction = h & 0x3ffU;
  if (exponent == 0) {  // zero or denormal: fraction * 2^-24 is exact
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t wide = exponent == 0x1fU ? 0x7f800000U : (exponent + 112U) << 23;
  return std::bit_cast<float>(sign | wide | fraction << 13);
}

// Column-major -> row-major, elements of `size` bytes.
Tensor row_major(const Tensor& stored) {
  Tensor out(stored.dtype(), stored.shape());
  const Shape& shape = stored.shape();
  const std::size_t size = size_of(stored.dtype());
  std::vector<std::int64_t> strides(shape.size(), 1);  // of the stored order
  for (std::size_t i = 1; i < shape.size(); ++i) strides[i] = strides[i - 1] * shape[i - 1];
  std::vector<std::int64_t> index(shape.size(), 0);
  const auto* from = static_cast<const std::byte*>(stored.raw());
  auto* to = static_cast<std::byte*>(out.raw());
  for (std::int64_t i = 0; i < out.elements(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t a = 0; a < shape.size(); ++a) offset += index[a] * strides[a];
    std::memcpy(to + static_cast<std::size_t>(i) * size, from + static_cast<std::size_t>(offset) * size, size);
    for (std::size_t a = shape.size(); a-- > 0;) {
      if (++index[a] < shape[a]) break;
      index[a] = 0;
    }
  }
  return out;
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.substr(0, kMagic.size()) != kMagic) {
    return error("'{}' is not a .npy file: it does not begin with \\x93NUMPY", name).with_help("write it with numpy.save");
  }
  const auto byte_at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(text[i])); };
  if (text.size() < 12) return error("'{}' is truncated: {} bytes, not even a header", name, text.size());
  const std::size_t version = byte_at(6);
  if (version < 1 || version > 3) return error("'{}' has .npy format version {}, wanted 1, 2 or 3", name, version);
  const std::size_t begin = version == 1 ? 10 : 12;
  const std::size_t length = version == 1 ? byte_at(8) | byte_at(9) << 8 : byte_at(8) | byte_at(9) << 8 | byte_at(10) << 16 | byte_at(11) << 24;
  if (length > text.size() - begin) return error("'{}' is truncated: its header has {} bytes, the file {}", name, length, text.size());

  NpyHeader header;
  header.data_offset = begin + length;
  HeaderText reader(text.substr(begin, length));
  std::optional<std::string> descr;
  std::optional<Shape> shape;
  bool has_order = false;
  const auto malformed = [&] { return error("'{}' has a malformed .npy header", name).with_help("write it again with numpy.save"); };
  if (!reader.eat('{')) return malformed();
  while (!reader.eat('}')) {
    const auto key = reader.quoted();
    if (!key || !reader.eat(':')) return malformed();
    if (*key == "descr") {
      descr = reader.quoted();
      if (!descr) return error("'{}' holds records with fields, wanted plain numbers", name).with_help("save one array per file, or several in a .npz");
    } else if (*key == "fortran_order") {
      header.column_major = reader.word("True");
      has_order = header.column_major || reader.word("False");
    } else if (*key == "shape") {
      shape = read_shape(reader);
      if (!shape) return malformed();
    } else {
      return malformed();
    }
    (void)reader.eat(',');
  }
  if (!descr || !shape || !has_order || descr->empty()) return malformed();

  const std::string_view code = std::string_view(*descr).substr(1);
  const auto* type = std::find_if(std::begin(kElementTypes), std::end(kElementTypes), [&](const ElementType& t) { return t.code == code; });
  const bool known_order = (*descr)[0] == '<' || (*descr)[0] == '>' || (*descr)[0] == '|' || (*descr)[0] == '=';
  if (type == std::end(kElementTypes) || !known_order) {
    return error("'{}' holds elements of type '{}', wanted f2, f4, f8, i1, i2, i4, i8, u1, u2 or b1", name, *descr)
        .with_help("convert it first, e.g. array.astype(numpy.float32)");
  }
  header.type = {type->dtype, std::move(*shape)};
  header.half = type->half;
  header.swapped = (*descr)[0] == '>' && (type->half || size_of(type->dtype) > 1);

  // The element count may overflow in a forged header, so it is compared by division.
  const std::size_t element = header.half ? 2 : size_of(type->dtype);
  const std::size_t room = (text.size() - header.data_offset) / element;
  std::size_t count = 1;
  const bool empty = std::find(header.type.shape.begin(), header.type.shape.end(), 0) != header.type.shape.end();
  if (empty && !is_plausible(header.type.shape)) return error("'{}' has the impossible shape {}", name, to_string(header.type.shape));
  for (const std::int64_t extent : header.type.shape) {
    if (empty) break;
    if (count > room / static_cast<std::size_t>(extent)) {
      return error("'{}' is truncated: shape {} of {} needs more than the {} bytes of data that are there", name, to_string(header.type.shape), *descr,
                   text.size() - header.data_offset)
          .with_help("copy or write the file again");
    }
    count *= static_cast<std::size_t>(extent);
  }
  if (header.type.shape.empty() && room < 1) return error("'{}' is truncated: it has no data", name).with_help("copy or write the file again");
  return header;
}

Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& name, std::shared_ptr<const void> keep_alive) {
  const NpyHeader header = NARROW_TRY(parse_npy_header(bytes, name));
  const std::byte* data = bytes.data() + header.data_offset;
  const DType stored_type = header.half ? DType::kU16 : header.type.dtype;
  const std::size_t size = size_of(stored_type);
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % size == 0;
  const bool is_bool = stored_type == DType::kBool;  // other bytes than 0 and 1 would be no bool of C++
  Tensor tensor;
  if (aligned && !header.swapped && !is_bool) {
    tensor = Tensor::view(stored_type, header.type.shape, const_cast<std::byte*>(data), std::move(keep_alive));
  } else {
    tensor = Tensor(stored_type, header.type.shape);
    auto* out = static_cast<std::byte*>(tensor.raw());
    std::memcpy(out, data, tensor.bytes());
    for (std::size_t i = 0; header.swapped && i < tensor.bytes(); i += size) std::reverse(out + i, out + i + size);
    for (std::size_t i = 0; is_bool && i < tensor.bytes(); ++i) out[i] = out[i] != std::byte{0} ? std::byte{1} : std::byte{0};
  }
  if (header.half) {
    Tensor wide(DType::kF32, header.type.shape);
    std::transform(tensor.span<std::uint16_t>().begin(), tensor.span<std::uint16_t>().end(), wide.data<float>(), half_to_float);
    tensor = std::move(wide);
  }
  return header.column_major && header.type.shape.size() > 1 ? row_major(tensor) : tensor;
}

Result<Tensor> read_npy(const std::string& path) {
  const auto file = NARROW_TRY(MappedFile::open(path));
  return parse_npy(file->bytes(), path, file);
}

std::string npy_header(const TensorType& type) {
  std::string shape;
  for (const std::int64_t extent : type.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", extent);
  if (type.shape.size() == 1) shape += ',';
  std::string dict = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", size_of(type.dtype) > 1 ? '<' : '|', code_of(type.dtype), shape);
  constexpr std::size_t kPrefix = 10, kAlign = 64;
  dict.append(kAlign - (kPrefix + dict.size() + 1) % kAlign, ' ');
  dict += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(dict.size() & 0xffU);
  out += static_cast<char>(dict.size() >> 8);
  return out + dict;
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  const std::string header = npy_header(tensor.type());
  const std::string_view pieces[] = {header, {static_cast<const char*>(tensor.raw()), tensor.bytes()}};
  return write_file(path, pieces);
}

}  // namespace narrow
