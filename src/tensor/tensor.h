// A dense row-major array: dtype, shape and 64-byte-aligned bytes that are shared between copies (copying a Tensor
// copies a pointer). A tensor may also view memory that something else keeps alive (an arena, a mapped file).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace narrow {

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};

class Tensor {
 public:
  Tensor() = default;                  // empty: no data, has_data() is false
  Tensor(DType dtype, Shape shape);    // contents are not initialised
  static Tensor zeros(DType dtype, Shape shape);
  // Views `data`, which must hold the elements and live as long as `keep_alive` (or, without it, as long as any use).
  static Tensor view(DType dtype, Shape shape, void* data, std::shared_ptr<const void> keep_alive = {});
  template <typename T>
  static Tensor of(Shape shape, const std::vector<T>& values) {
    Tensor t(dtype_of<T>(), std::move(shape));
    NARROW_CHECK(static_cast<std::size_t>(t.elements()) == values.size());
    std::copy(values.begin(), values.end(), t.data<T>());
    return t;
  }
  template <typename T>
  static Tensor scalar(T value) { return of<T>({}, {value}); }

  bool has_data() const { return data_ != nullptr; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t elements() const { return element_count(shape_); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype_); }
  TensorType type() const { return {dtype_, shape_}; }

  void* raw() { return data_; }
  const void* raw() const { return data_; }
  template <typename T>
  T* data() {
    NARROW_CHECK(dtype_of<T>() == dtype_, "tensor is {}", name_of(dtype_));
    return static_cast<T*>(data_);
  }
  template <typename T>
  const T* data() const {
    NARROW_CHECK(dtype_of<T>() == dtype_, "tensor is {}", name_of(dtype_));
    return static_cast<const T*>(data_);
  }
  template <typename T>
  std::span<const T> span() const { return {data<T>(), static_cast<std::size_t>(elements())}; }
  template <typename T>
  std::span<T> span() { return {data<T>(), static_cast<std::size_t>(elements())}; }

  Tensor reshaped(Shape shape) const;  // same bytes, same element count
  Tensor clone() const;                // own bytes
  Tensor cast(DType dtype) const;      // element by element; reals saturate in integers, NaN is 0; same dtype clones
  std::vector<std::int64_t> to_ints() const;  // any integer dtype or bool, flattened
  bool same_bytes(const Tensor& other) const;  // dtype, shape and contents
  std::uint64_t hash() const;

 private:
  DType dtype_ = DType::kF32;
  Shape shape_;
  std::shared_ptr<const void> storage_;
  void* data_ = nullptr;
};

}  // namespace narrow
