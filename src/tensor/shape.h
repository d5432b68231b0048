// Shapes: extents from the outermost axis to the innermost; row-major storage. An empty shape is a scalar.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace narrow {

using Shape = std::vector<std::int64_t>;

std::int64_t element_count(const Shape& shape);  // 1 for a scalar
// No extent is negative and the product of those that are not 0 is at most 2^33, so that element counts, strides and offsets in
// bytes fit 64 bits. Shapes that come from outside are asked this before anything is computed from them.
bool is_plausible(const Shape& shape);
std::string to_string(const Shape& shape);               // "[1,3,224,224]"
std::vector<std::int64_t> strides_of(const Shape& shape);  // in elements
// ONNX multidirectional broadcast. Error: the first pair of extents that differ and are not 1.
Result<Shape> broadcast(const Shape& a, const Shape& b);
// Strides (in elements) that read an operand of shape `from` as if it had shape `to`; 0 where it is repeated.
std::vector<std::int64_t> broadcast_strides(const Shape& from, const Shape& to);
// axis in [-rank, rank) -> [0, rank).
Result<int> normalize_axis(std::int64_t axis, std::size_t rank);

}  // namespace narrow
