#include "graph/text.h"

namespace narrow {
namespace {

std::uint64_t splitmix64(std::uint64_t state) {
  std::uint64_t z = state + 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Tensor random_constant(DType dtype, const Shape& shape, std::uint64_t seed, double lo, double hi) {
  Tensor out(dtype, shape);
  with_dtype(dtype, [&](auto tag) {
    using T = decltype(tag);
    T* x = out.data<T>();
    for (std::int64_t i = 0, n = out.elements(); i < n; ++i) {
      const std::uint64_t bits = splitmix64((seed << 32) + static_cast<std::uint64_t>(i));
      if constexpr (std::is_floating_point_v<T>) {
        x[i] = static_cast<T>(lo + (hi - lo) * (static_cast<double>(bits >> 40) * 0x1p-24));
      } else {
        const auto first = static_cast<std::int64_t>(lo);
        const auto span = static_cast<std::uint64_t>(static_cast<std::int64_t>(hi) - first) + 1;
        x[i] = static_cast<T>(first + static_cast<std::int64_t>(bits % span));
      }
    }
  });
  return out;
}

Tensor random_constant(DType dtype, const Shape& shape, std::uint64_t seed) {
  double lo = -100, hi = 100;
  switch (dtype) {
    case DType::kF32:
    case DType::kF64: lo = -1, hi = 1; break;
    case DType::kI8: lo = -128, hi = 127; break;
    case DType::kU8: lo = 0, hi = 255; break;
    case DType::kI16: lo = -32768, hi = 32767; break;
    case DType::kU16: lo = 0, hi = 65535; break;
    case DType::kBool: lo = 0, hi = 1; break;
    case DType::kI32:
    case DType::kI64: break;
  }
  return random_constant(dtype, shape, seed, lo, hi);
}

}  // namespace narrow
