#include "model/onnx_tensors.h"

#include <bit>
#include <charconv>
#include <cstring>

#include "model/onnx_proto.h"

namespace narrow {
namespace {

namespace fs = std::filesystem;

// Types that Debian's message classes do not name yet.
constexpr std::pair<int, std::string_view> kNewerTypes[] = {
    {17, "FLOAT8E4M3FN"}, {18, "FLOAT8E4M3FNUZ"}, {19, "FLOAT8E5M2"}, {20, "FLOAT8E5M2FNUZ"}, {21, "UINT4"}, {22, "INT4"}, {23, "FLOAT4E2M1"}};

// Bytes of one element as stored; 0 for types that cannot be read.
std::size_t stored_size(int code) {
  switch (code) {
    case onnx::TensorProto::INT8:
    case onnx::TensorProto::UINT8:
    case onnx::TensorProto::BOOL: return 1;
    case onnx::TensorProto::INT16:
    case onnx::TensorProto::UINT16:
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16: return 2;
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::INT32:
    case onnx::TensorProto::UINT32: return 4;
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::UINT64: return 8;
    default: return 0;
  }
}

float from_half(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000U) << 16;
  const std::uint32_t exponent = (h >> 10) & 0x1fU;
  const std::uint32_t mantissa = h & 0x3ffU;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
  if (exponent == 0) {  // zero and subnormals: mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

float from_bfloat(std::uint16_t b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16); }

template <typename From, typename To, typename Fn>
Tensor convert(const char* bytes, const Shape& shape, const Fn& fn) {
  Tensor out(dtype_of<To>(), shape);
  To* y = out.data<To>();
  for (std::int64_t i = 0, n = out.elements(); i < n; ++i) {
    From x;
    std::memcpy(&x, bytes + static_cast<std::size_t>(i) * sizeof(From), sizeof(From));
    y[i] = fn(x);
  }
  return out;
}

Tensor from_bytes(int code, const Shape& shape, const char* bytes) {
  switch (code) {
    case onnx::TensorProto::FLOAT16: return convert<std::uint16_t, float>(bytes, shape, from_half);
    case onnx::TensorProto::BFLOAT16: return convert<std::uint16_t, float>(bytes, shape, from_bfloat);
    case onnx::TensorProto::UINT32: return convert<std::uint32_t, std::int64_t>(bytes, shape, [](std::uint32_t x) { return static_cast<std::int64_t>(x); });
    case onnx::TensorProto::UINT64: return convert<std::uint64_t, std::int64_t>(bytes, shape, [](std::uint64_t x) { return static_cast<std::int64_t>(x); });
    case onnx::TensorProto::BOOL: return convert<std::uint8_t, bool>(bytes, shape, [](std::uint8_t x) { return x != 0; });
    default: break;
  }
  Tensor out(*dtype_of_onnx_code(code), shape);
  if (out.bytes() > 0) std::memcpy(out.raw(), bytes, out.bytes());
  return out;
}

template <typename To, typename Field, typename Fn>
Result<Tensor> from_field(const Field& field, const Shape& shape, const Fn& fn) {
  if (field.size() != element_count(shape)) return error("holds {} elements, wanted {} for shape {}", field.size(), element_count(shape), to_string(shape));
  Tensor out(dtype_of<To>(), shape);
  To* y = out.data<To>();
  for (const auto x : field) *y++ = fn(x);
  return out;
}

Result<Tensor> typed(const onnx::TensorProto& proto, const Shape& shape) {
  const auto cast = [](auto x) { return x; };
  switch (proto.data_type()) {
    case onnx::TensorProto::FLOAT: return from_field<float>(proto.float_data(), shape, cast);
    case onnx::TensorProto::DOUBLE: return from_field<double>(proto.double_data(), shape, cast);
    case onnx::TensorProto::INT64: return from_field<std::int64_t>(proto.int64_data(), shape, cast);
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::UINT64: return from_field<std::int64_t>(proto.uint64_data(), shape, [](std::uint64_t x) { return static_cast<std::int64_t>(x); });
    case onnx::TensorProto::INT32: return from_field<std::int32_t>(proto.int32_data(), shape, cast);
    case onnx::TensorProto::INT16: return from_field<std::int16_t>(proto.int32_data(), shape, [](std::int32_t x) { return static_cast<std::int16_t>(x); });
    case onnx::TensorProto::UINT16: return from_field<std::uint16_t>(proto.int32_data(), shape, [](std::int32_t x) { return static_cast<std::uint16_t>(x); });
    case onnx::TensorProto::INT8: return from_field<std::int8_t>(proto.int32_data(), shape, [](std::int32_t x) { return static_cast<std::int8_t>(x); });
    case onnx::TensorProto::UINT8: return from_field<std::uint8_t>(proto.int32_data(), shape, [](std::int32_t x) { return static_cast<std::uint8_t>(x); });
    case onnx::TensorProto::BOOL: return from_field<bool>(proto.int32_data(), shape, [](std::int32_t x) { return x != 0; });
    case onnx::TensorProto::FLOAT16: return from_field<float>(proto.int32_data(), shape, [](std::int32_t x) { return from_half(static_cast<std::uint16_t>(x)); });
    case onnx::TensorProto::BFLOAT16: return from_field<float>(proto.int32_data(), shape, [](std::int32_t x) { return from_bfloat(static_cast<std::uint16_t>(x)); });
    default: NARROW_CHECK(false, "element type {}", proto.data_type());
  }
}

}  // namespace

std::string onnx_type_name(int code) {
  for (const auto& [number, name] : kNewerTypes) {
    if (number == code) return std::string(name);
  }
  if (!onnx::TensorProto::DataType_IsValid(code)) return fmt::format("type {}", code);
  return onnx::TensorProto::DataType_Name(static_cast<onnx::TensorProto::DataType>(code));
}

Result<Tensor> TensorReader::read(const onnx::TensorProto& proto) {
  const int code = proto.data_type();
  const std::size_t size = stored_size(code);
  if (size == 0) return error("has element type {}, which is not supported", onnx_type_name(code)).with_help("supported: float, double, half precision, integers of 8 bits and more, bool");
  const Shape shape(proto.dims().begin(), proto.dims().end());
  if (!is_plausible(shape)) return error("has the impossible shape {}", to_string(shape)).with_help("the file is damaged; export the model again");
  const std::int64_t elements = element_count(shape);
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) return external(proto, shape, static_cast<std::size_t>(elements) * size);
  if (proto.has_raw_data()) {
    const std::string& raw = proto.raw_data();
    if (raw.size() != static_cast<std::size_t>(elements) * size) {
      return error("holds {} bytes, wanted {} for {}{}", raw.size(), static_cast<std::size_t>(elements) * size, onnx_type_name(code), to_string(shape)).with_help("the file is damaged; export the model again");
    }
    return from_bytes(code, shape, raw.data());
  }
  return typed(proto, shape);
}

Result<Tensor> TensorReader::external(const onnx::TensorProto& proto, const Shape& shape, std::size_t wanted) {
  std::string location;
  std::uint64_t offset = 0, length = wanted;
  for (const auto& entry : proto.external_data()) {
    const std::string& text = entry.value();
    if (entry.key() == "location") location = text;
    if (entry.key() != "offset" && entry.key() != "length") continue;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), entry.key() == "offset" ? offset : length);
    if (text.empty() || code != std::errc() || end != text.data() + text.size()) {
      return error("is stored in an external file with {} '{}', wanted a number of bytes", entry.key(), text).with_help("the file is damaged; export the model again");
    }
  }
  const fs::path relative = fs::path(location).lexically_normal();
  if (location.empty() || relative.is_absolute() || *relative.begin() == "..") {
    return error("is stored in the external file '{}', which is not inside the model's folder", location).with_help("move the data file beside the model and save the model again");
  }
  const std::string path = (folder_ / relative).string();
  auto it = files_.find(path);
  if (it == files_.end()) {
    auto file = MappedFile::open(path);
    if (!file) return error("is stored in the external file '{}', which cannot be read", path).with_help("copy the data file to that place; the model is incomplete without it");
    it = files_.emplace(path, std::move(*file)).first;
  }
  const std::uint64_t available = it->second->bytes().size();
  if (length != wanted || offset > available || wanted > available - offset) {
    return error("needs {} bytes at offset {} of the external file '{}', which has {} bytes (length given: {})", wanted, offset, path, available, length)
        .with_help("the data file is truncated or belongs to another model");
  }
  return from_bytes(proto.data_type(), shape, reinterpret_cast<const char*>(it->second->bytes().data()) + offset);
}

void write_tensor(const std::string& name, const Tensor& tensor, onnx::TensorProto* proto) {
  proto->set_name(name);
  proto->set_data_type(static_cast<int>(onnx_code_of(tensor.dtype())));
  for (const std::int64_t extent : tensor.shape()) proto->add_dims(extent);
  proto->set_raw_data(tensor.raw(), tensor.bytes());
}

std::int64_t onnx_code_of(DType dtype) {
  switch (dtype) {
    case DType::kF32: return onnx::TensorProto::FLOAT;
    case DType::kF64: return onnx::TensorProto::DOUBLE;
    case DType::kI64: return onnx::TensorProto::INT64;
    case DType::kI32: return onnx::TensorProto::INT32;
    case DType::kI16: return onnx::TensorProto::INT16;
    case DType::kU16: return onnx::TensorProto::UINT16;
    case DType::kI8: return onnx::TensorProto::INT8;
    case DType::kU8: return onnx::TensorProto::UINT8;
    case DType::kBool: return onnx::TensorProto::BOOL;
  }
  return 0;
}

std::optional<DType> dtype_of_onnx_code(std::int64_t code) {
  switch (code) {
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16: return DType::kF32;
    case onnx::TensorProto::DOUBLE: return DType::kF64;
    case onnx::TensorProto::INT64:
    case onnx::TensorProto::UINT32:
    case onnx::TensorProto::UINT64: return DType::kI64;
    case onnx::TensorProto::INT32: return DType::kI32;
    case onnx::TensorProto::INT16: return DType::kI16;
    case onnx::TensorProto::UINT16: return DType::kU16;
    case onnx::TensorProto::INT8: return DType::kI8;
    case onnx::TensorProto::UINT8: return DType::kU8;
    case onnx::TensorProto::BOOL: return DType::kBool;
    default: return std::nullopt;
  }
}

}  // namespace narrow
