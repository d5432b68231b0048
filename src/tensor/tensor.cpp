#include "tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <type_traits>

#include "base/hash.h"

namespace narrow {
std::optional<DType> dtype_from_name(std::string_view name) {
  static constexpr std::pair<std::string_view, DType> kLong[] = {
      {"float32", DType::kF32}, {"float", DType::kF32},   {"float64", DType::kF64}, {"int64", DType::kI64}, {"int32", DType::kI32},
      {"int16", DType::kI16},   {"uint16", DType::kU16}, {"int8", DType::kI8},     {"uint8", DType::kU8},  {"bool", DType::kBool}};
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    if (name == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  for (const auto& [text, dtype] : kLong) {
    if (name == text) return dtype;
  }
  return std::nullopt;
}

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
  const std::size_t size = std::max<std::size_t>(64, (bytes() + 63) / 64 * 64);
  data_ = std::aligned_alloc(64, size);
  if (data_ == nullptr) throw std::bad_alloc();  // told as such to the user: networks may ask for any amount
  storage_ = std::shared_ptr<void>(data_, std::free);
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor t(dtype, std::move(shape));
  std::memset(t.raw(), 0, t.bytes());
  return t;
}

Tensor Tensor::view(DType dtype, Shape shape, void* data, std::shared_ptr<const void> keep_alive) {
  Tensor t;
  t.dtype_ = dtype;
  t.shape_ = std::move(shape);
  t.data_ = data;
  t.storage_ = std::move(keep_alive);
  return t;
}

Tensor Tensor::reshaped(Shape shape) const {
  NARROW_CHECK(element_count(shape) == elements(), "{} to {}", to_string(shape_), to_string(shape));
  Tensor t = *this;
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::clone() const {
  Tensor t(dtype_, shape_);
  if (bytes() > 0) std::memcpy(t.raw(), raw(), bytes());
  return t;
}

namespace {

// Reals outside the integers' range, which C++ leaves open: to the nearest end; NaN to 0.
template <typename To, typename From>
To convert(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool>) {
    constexpr auto kLow = static_cast<From>(std::numeric_limits<To>::min());                        // exact: 0 or a power of 2
    constexpr auto kEnd = static_cast<From>(std::uint64_t{1} << std::numeric_limits<To>::digits);  // one beyond the largest
    if (!(x > kLow)) return std::isnan(x) ? To{0} : std::numeric_limits<To>::min();
    if (x >= kEnd) return std::numeric_limits<To>::max();
  }
  return static_cast<To>(x);
}

}  // namespace

Tensor Tensor::cast(DType dtype) const {
  if (dtype == dtype_) return clone();
  Tensor out(dtype, shape_);
  const std::int64_t n = elements();
  with_dtype(dtype_, [&](auto from) {
    using From = decltype(from);
    with_dtype(dtype, [&](auto to) {
      using To = decltype(to);
      const From* x = data<From>();
      To* y = out.data<To>();
      for (std::int64_t i = 0; i < n; ++i) y[i] = convert<To>(x[i]);
    });
  });
  return out;
}

std::vector<std::int64_t> Tensor::to_ints() const {
  const Tensor wide = cast(DType::kI64);
  const auto values = wide.span<std::int64_t>();
  return {values.begin(), values.end()};
}

bool Tensor::same_bytes(const Tensor& other) const {
  return type() == other.type() && (bytes() == 0 || std::memcmp(raw(), other.raw(), bytes()) == 0);
}

std::uint64_t Tensor::hash() const {
  return hash_text(std::string(name_of(dtype_)) + to_string(shape_), hash_bytes(raw(), bytes()));
}

}  // namespace narrow
