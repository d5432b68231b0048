// NumPy's .npy files, format versions 1 to 3. Read into this machine's byte order, row-major: column-major files are
// transposed, f2 becomes f32. Data that need no conversion are views of the mapped file, not copies.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "tensor/tensor.h"

namespace narrow {

// What stands in the header, before any conversion.
struct NpyHeader {
  TensorType type;              // as read_npy would give it
  bool half = false;            // f2 in the file
  bool swapped = false;         // other byte order
  bool column_major = false;
  std::size_t data_offset = 0;  // of the first element
};

// Errors name `name`, what was found and what was wanted: not a .npy file, an element type we do not have, truncated.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes, const std::string& name);
// The result views `bytes` where possible; keep_alive owns them.
Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& name, std::shared_ptr<const void> keep_alive);
Result<Tensor> read_npy(const std::string& path);
// Version 1 header, padded so that the data begin at a multiple of 64 bytes.
std::string npy_header(const TensorType& type);
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace narrow
