// NumPy's .npz files: zip archives of .npy members, stored or deflated. Members are named by their key (without ".npy"),
// in the archive's order.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace narrow {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Stored members are views of the mapped file; deflated ones are unpacked. Errors name the file and the member:
// not a zip archive, truncated, checksum differs, unknown compression, not a .npy member.
Result<NamedTensors> read_npz(const std::string& path);
// Stored, not compressed.
Status write_npz(const std::string& path, const NamedTensors& tensors);

}  // namespace narrow
