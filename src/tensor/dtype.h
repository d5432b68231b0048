// Element types. Names in text forms: f32 f64 i64 i32 i16 u16 i8 u8 bool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace narrow {

enum class DType : std::uint8_t { kF32, kF64, kI64, kI32, kI16, kU16, kI8, kU8, kBool };

constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64: return 8;
    case DType::kF32:
    case DType::kI32: return 4;
    case DType::kI16:
    case DType::kU16: return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool: return 1;
  }
  return 0;
}

constexpr std::string_view name_of(DType dtype) {
  constexpr std::string_view kNames[] = {"f32", "f64", "i64", "i32", "i16", "u16", "i8", "u8", "bool"};
  const auto index = static_cast<std::size_t>(dtype);
  return index < sizeof kNames / sizeof kNames[0] ? kNames[index] : std::string_view("?");
}

// Also accepts the long names of configuration files: float32 int8 uint8 int16 uint16 int32 int64 float64.
std::optional<DType> dtype_from_name(std::string_view name);

constexpr bool is_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

template <typename T>
constexpr DType dtype_of();
template <> constexpr DType dtype_of<float>() { return DType::kF32; }
template <> constexpr DType dtype_of<double>() { return DType::kF64; }
template <> constexpr DType dtype_of<std::int64_t>() { return DType::kI64; }
template <> constexpr DType dtype_of<std::int32_t>() { return DType::kI32; }
template <> constexpr DType dtype_of<std::int16_t>() { return DType::kI16; }
template <> constexpr DType dtype_of<std::uint16_t>() { return DType::kU16; }
template <> constexpr DType dtype_of<std::int8_t>() { return DType::kI8; }
template <> constexpr DType dtype_of<std::uint8_t>() { return DType::kU8; }
template <> constexpr DType dtype_of<bool>() { return DType::kBool; }

// fn(a value of the C++ type that `dtype` names); fn is generic, and only the argument's type matters.
template <typename Fn>
auto with_dtype(DType dtype, const Fn& fn) {
  switch (dtype) {
    case DType::kF32: return fn(float{});
    case DType::kF64: return fn(double{});
    case DType::kI64: return fn(std::int64_t{});
    case DType::kI32: return fn(std::int32_t{});
    case DType::kI16: return fn(std::int16_t{});
    case DType::kU16: return fn(std::uint16_t{});
    case DType::kI8: return fn(std::int8_t{});
    case DType::kU8: return fn(std::uint8_t{});
    case DType::kBool: break;
  }
  return fn(bool{});
}

}  // namespace narrow
