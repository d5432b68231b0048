#include "tensor/shape.h"

#include <algorithm>

namespace narrow {

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

bool is_plausible(const Shape& shape) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 33;
  std::int64_t total = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && total > kMostElements / extent)) return false;
    if (extent > 0) total *= extent;  // an extent of 0 must not hide the others
  }
  return true;
}

std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ',';
    out += std::to_string(shape[i]);
  }
  return out + "]";
}

std::vector<std::int64_t> strides_of(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape out(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i < rank - a.size() ? 1 : a[i - (rank - a.size())];
    const std::int64_t y = i < rank - b.size() ? 1 : b[i - (rank - b.size())];
    if (x != y && x != 1 && y != 1) return error("shapes {} and {} do not broadcast: {} against {}", to_string(a), to_string(b), x, y);
    out[i] = x == 1 ? y : x;
  }
  return out;
}

std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  const std::vector<std::int64_t> own = strides_of(from);
  std::vector<std::int64_t> out(to.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1) out[to.size() - from.size() + i] = own[i];
  }
  return out;
}

Result<int> normalize_axis(std::int64_t axis, std::size_t rank) {
  const auto r = static_cast<std::int64_t>(rank);
  if (axis < -r || axis >= r) return error("axis {} is outside [{}, {})", axis, -r, r);
  return static_cast<int>(axis < 0 ? axis + r : axis);
}

}  // namespace narrow
