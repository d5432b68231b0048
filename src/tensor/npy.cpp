#include "tensor/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

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

// The extents that decide the order of the elements.
Shape long_axes(const Shape& shape) {
  Shape out;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(out), [](std::int64_t extent) { return extent != 1; });
  return out;
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

// `count` elements as stored, one after the other -> as a tensor of shape [count]. A view where nothing needs conversion.
Tensor convert(const NpyHeader& header, const std::byte* data, std::int64_t count, std::shared_ptr<const void> keep_alive) {
  const DType stored_type = header.half ? DType::kU16 : header.type.dtype;
  const std::size_t size = header.element_size();
  const bool aligned = reinterpret_cast<std::uintptr_t>(data) % size == 0;
  const bool is_bool = stored_type == DType::kBool;  // other bytes than 0 and 1 would be no bool of C++
  Tensor tensor;
  if (aligned && !header.swapped && !is_bool) {
    tensor = Tensor::view(stored_type, {count}, const_cast<std::byte*>(data), std::move(keep_alive));
  } else {
    tensor = Tensor(stored_type, {count});
    auto* out = static_cast<std::byte*>(tensor.raw());
    if (count > 0) std::memcpy(out, data, tensor.bytes());
    for (std::size_t i = 0; header.swapped && i < tensor.bytes(); i += size) std::reverse(out + i, out + i + size);
    for (std::size_t i = 0; is_bool && i < tensor.bytes(); ++i) out[i] = out[i] != std::byte{0} ? std::byte{1} : std::byte{0};
  }
  if (!header.half) return tensor;
  Tensor wide(DType::kF32, {count});
  std::transform(tensor.span<std::uint16_t>().begin(), tensor.span<std::uint16_t>().end(), wide.data<float>(), half_to_float);
  return wide;
}

// Rows [first, last) of a column-major array, where a row is an index of the first axis longer than 1. The file is read in its
// own order: its pages are released behind, if it is one.
void gather_rows(const Shape& whole, std::size_t size, const std::byte* from, std::int64_t first, std::int64_t last, std::byte* to, const MappedFile* file) {
  constexpr std::ptrdiff_t kBehind = 1 << 20;
  const Shape shape = long_axes(whole);
  const std::int64_t rows = shape[0], row = element_count(shape) / rows;
  std::vector<std::int64_t> strides(shape.size(), 1), index(shape.size(), 0);
  for (std::size_t a = shape.size() - 1; a > 0; --a) strides[a - 1] = strides[a] * shape[a];
  std::int64_t within = 0;  // the row
  const std::byte* released = from;
  for (std::int64_t k = 0; k < row; ++k) {
    const std::byte* column = from + static_cast<std::size_t>(k * rows + first) * size;
    for (std::int64_t n = 0; n < last - first; ++n) std::memcpy(to + static_cast<std::size_t>(n * row + within) * size, column + static_cast<std::size_t>(n) * size, size);
    for (std::size_t a = 1; a < shape.size(); ++a) {
      within += strides[a];
      if (++index[a] < shape[a]) break;
      within -= strides[a] * shape[a];
      index[a] = 0;
    }
    if (file == nullptr || (column - released < kBehind && k + 1 < row)) continue;
    file->release({released, column});
    released = column;
  }
}

Tensor row_major(const Tensor& stored) {
  Tensor out(stored.dtype(), stored.shape());
  gather_rows(stored.shape(), size_of(stored.dtype()), static_cast<const std::byte*>(stored.raw()), 0, long_axes(stored.shape())[0], static_cast<std::byte*>(out.raw()), nullptr);
  return out;
}

constexpr std::size_t kMostHeader = 1 << 20;  // bytes; numpy itself reads no more than 10000

}  // namespace

std::size_t npy_header_end(std::span<const std::byte> bytes) {
  const auto byte_at = [&](std::size_t i) { return static_cast<std::size_t>(bytes[i]); };
  if (bytes.size() < 12) return 12;
  const std::size_t length = byte_at(8) | byte_at(9) << 8;
  return byte_at(6) == 1 ? 10 + length : 12 + std::min(length | byte_at(10) << 16 | byte_at(11) << 24, kMostHeader + 1);
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes, std::size_t total, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.substr(0, kMagic.size()) != kMagic) {
    return error("'{}' is not a .npy file: it does not begin with \\x93NUMPY", name).with_help("write it with numpy.save");
  }
  if (text.size() < 12) return error("'{}' is truncated: {} bytes, not even a header", name, text.size());
  const auto version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3) return error("'{}' has .npy format version {}, wanted 1, 2 or 3", name, version);
  NpyHeader header;
  header.data_offset = npy_header_end(bytes);
  if (header.data_offset > 12 + kMostHeader) return error("'{}' has a .npy header of more than {} bytes", name, kMostHeader).with_help("write it again with numpy.save");
  if (header.data_offset > std::min(text.size(), total)) return error("'{}' is truncated: its header ends at byte {}, the file at {}", name, header.data_offset, total);
  const std::size_t begin = version == 1 ? 10 : 12;
  HeaderText reader(text.substr(begin, header.data_offset - begin));
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
  const std::size_t room = (total - header.data_offset) / header.element_size();
  std::size_t count = 1;
  const bool empty = std::find(header.type.shape.begin(), header.type.shape.end(), 0) != header.type.shape.end();
  if (empty && !is_plausible(header.type.shape)) return error("'{}' has the impossible shape {}", name, to_string(header.type.shape));
  for (const std::int64_t extent : header.type.shape) {
    if (empty) break;
    if (count > room / static_cast<std::size_t>(extent)) {
      return error("'{}' is truncated: shape {} of {} needs more than the {} bytes of data that are there", name, to_string(header.type.shape), *descr,
                   total - header.data_offset)
          .with_help("copy or write the file again");
    }
    count *= static_cast<std::size_t>(extent);
  }
  if (header.type.shape.empty() && room < 1) return error("'{}' is truncated: it has no data", name).with_help("copy or write the file again");
  header.column_major = header.column_major && !empty && long_axes(header.type.shape).size() > 1;
  return header;
}

Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& name, std::shared_ptr<const void> keep_alive) {
  const NpyHeader header = NARROW_TRY(parse_npy_header(bytes, bytes.size(), name));
  const Tensor tensor = convert(header, bytes.data() + header.data_offset, element_count(header.type.shape), std::move(keep_alive)).reshaped(header.type.shape);
  return header.column_major ? row_major(tensor) : tensor;
}

Result<Tensor> read_npy(const std::string& path) {
  const auto file = NARROW_TRY(MappedFile::open(path));
  return parse_npy(file->bytes(), path, file);
}

Result<NpyArray> NpyArray::open(const std::string& path) {
  const auto file = NARROW_TRY(MappedFile::open(path));
  return in(file, file->bytes(), path);
}

Result<NpyArray> NpyArray::in(std::shared_ptr<const MappedFile> file, std::span<const std::byte> bytes, const std::string& name) {
  NpyHeader header = NARROW_TRY(parse_npy_header(bytes, bytes.size(), name));
  const std::byte* data = bytes.data() + header.data_offset;
  return NpyArray(name, std::move(header), std::move(file), data);
}

Result<NpyArray> NpyArray::row_major() const {
  if (!header_.column_major) return *this;
  constexpr std::size_t kAtOnce = std::size_t{8} << 20;  // bytes in memory; every time the whole file is read
  ScratchFile scratch = NARROW_TRY(ScratchFile::create(fmt::format("transpose '{}', which is stored column by column,", name_)));
  const std::size_t size = header_.element_size();
  const std::int64_t rows = long_axes(type().shape)[0], row = element_count(type().shape) / rows;
  const std::int64_t step = std::clamp<std::int64_t>(static_cast<std::int64_t>(kAtOnce / size) / row, 1, rows);
  std::vector<std::byte> block(static_cast<std::size_t>(step * row) * size);
  for (std::int64_t first = 0; first < rows; first += step) {
    const std::int64_t last = std::min(first + step, rows);
    gather_rows(type().shape, size, data_, first, last, block.data(), file_.get());
    NARROW_TRY(scratch.write(std::span(block).first(static_cast<std::size_t>((last - first) * row) * size)));
  }
  NpyHeader header = header_;
  header.column_major = false;
  const auto file = NARROW_TRY(scratch.map());
  return NpyArray(name_, std::move(header), file, file->bytes().data());
}

std::span<const std::byte> NpyArray::stored(std::int64_t first, std::int64_t count) const {
  NARROW_CHECK(first >= 0 && count >= 0 && first + count <= element_count(type().shape));
  return {data_ + static_cast<std::size_t>(first) * header_.element_size(), static_cast<std::size_t>(count) * header_.element_size()};
}

Tensor NpyArray::part(std::int64_t first, std::int64_t count) const {
  NARROW_CHECK(!header_.column_major);
  return convert(header_, stored(first, count).data(), count, file_);
}

void NpyArray::release(std::int64_t first, std::int64_t count) const {
  // What was read mapped its neighbours with it (64 KB at a time), so those in front go, too.
  const auto part = stored(first, count);
  const std::ptrdiff_t neighbours = std::min<std::ptrdiff_t>(part.data() - file_->bytes().data(), 1 << 20);
  file_->release({part.data() - neighbours, part.data() + part.size()});
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
