// Calls a generic function with a value of the C++ type that a dtype names.
#pragma once

#include "tensor/tensor.h"

namespace narrow {

template <typename Fn>
void with_number(DType dtype, const Fn& fn) {
  switch (dtype) {
    case DType::kF32: return fn(float{});
    case DType::kF64: return fn(double{});
    case DType::kI64: return fn(std::int64_t{});
    case DType::kI32: return fn(std::int32_t{});
    case DType::kI16: return fn(std::int16_t{});
    case DType::kU16: return fn(std::uint16_t{});
    case DType::kI8: return fn(std::int8_t{});
    case DType::kU8: return fn(std::uint8_t{});
    case DType::kBool: return fn(bool{});
  }
}

}  // namespace narrow
