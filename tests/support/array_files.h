// Array files as NumPy and others write them, in every form of storage that ours does not write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace narrow::test {

struct NpyForm {
  std::string_view code;      // "f4"
  DType dtype;                // as read
  char order = '<';           // or '>', other byte order
  bool column_major = false;
  std::string name() const { return std::string(1, order) + std::string(code) + (column_major ? " column-major" : ""); }
};
// Every element type in both byte orders and both orders of axes.
std::vector<NpyForm> npy_forms();
// A .npy file. `values` stand in row-major order, 0 to 100 (a bool is true where one is odd).
std::string npy_bytes(const NpyForm& form, const Shape& shape, const std::vector<std::int64_t>& values);
// What a reader gives for them.
Tensor npy_values(const NpyForm& form, const Shape& shape, const std::vector<std::int64_t>& values);

// A .npz file of members "NAME" (with ".npy") and their contents.
std::string npz_bytes(const std::vector<std::pair<std::string, std::string>>& members, bool deflated);

}  // namespace narrow::test
