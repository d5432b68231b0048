// NumPy's .npy files, format versions 1 to 3. Read into this machine's byte order, row-major: column-major files are
// transposed, f2 becomes f32, bytes of a bool other than 0 become 1. Data that need no conversion are views of the mapped
// file, not copies.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/file.h"
#include "tensor/tensor.h"

namespace narrow {

// What stands in the header, before any conversion.
struct NpyHeader {
  TensorType type;              // as read_npy would give it
  bool half = false;            // f2 in the file
  bool swapped = false;         // other byte order
  bool column_major = false;    // and this makes a difference: there are elements, along two axes or more
  std::size_t data_offset = 0;  // of the first element
  std::size_t element_size() const { return half ? 2 : size_of(type.dtype); }  // in the file
};

// How many of the first bytes parse_npy_header wants to see, as far as these tell.
std::size_t npy_header_end(std::span<const std::byte> bytes);
// `bytes` are the first ones of `total`. Errors name `name`, what was found and what was wanted: not a .npy file, an element
// type we do not have, truncated.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes, std::size_t total, const std::string& name);
// The result views `bytes` where possible; keep_alive owns them.
Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& name, std::shared_ptr<const void> keep_alive);
Result<Tensor> read_npy(const std::string& path);

// An array of many samples, which stays in its file: parts are converted when they are asked for, and the memory of the file's
// pages is given back. Copies share the file.
class NpyArray {
 public:
  static Result<NpyArray> open(const std::string& path);
  // `bytes` are a part of the file in .npy form.
  static Result<NpyArray> in(std::shared_ptr<const MappedFile> file, std::span<const std::byte> bytes, const std::string& name);
  const TensorType& type() const { return header_.type; }
  // This array, or, where its parts would be scattered over all of a column-major file, one in a temporary file. Error: no room.
  Result<NpyArray> row_major() const;
  // `count` elements from `first` on, of shape [count]; the array is row-major. A view where nothing needs conversion.
  Tensor part(std::int64_t first, std::int64_t count) const;
  // That part is no longer needed. Views of it stay valid: what is read again comes from the file again.
  void release(std::int64_t first, std::int64_t count) const;

 private:
  NpyArray(std::string name, NpyHeader header, std::shared_ptr<const MappedFile> file, const std::byte* data)
      : name_(std::move(name)), header_(std::move(header)), file_(std::move(file)), data_(data) {}
  std::span<const std::byte> stored(std::int64_t first, std::int64_t count) const;
  std::string name_;
  NpyHeader header_;
  std::shared_ptr<const MappedFile> file_;
  const std::byte* data_;  // of the first element, in the file
};

// Version 1 header, padded so that the data begin at a multiple of 64 bytes.
std::string npy_header(const TensorType& type);
Status write_npy(const std::string& path, const Tensor& tensor);

}  // namespace narrow
