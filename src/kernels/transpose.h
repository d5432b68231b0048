// Transposition of arrays of any element size and rank.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/shape.h"

namespace narrow {

// y = Transpose(x, perm): axis i of y is axis perm[i] of x. Elements of `element` bytes; x and y do not overlap.
void transpose(const void* x, const Shape& shape, std::span<const int> perm, std::size_t element, void* y);

}  // namespace narrow
