// What an integer operator relies on when it runs, checked by its infer: inputs are there and have the right type, constants
// have as many elements as are read, attributes are in range. An artifact with valid checksums may still hold nonsense.
#pragma once

#include <initializer_list>
#include <string_view>

#include "ops/op_def.h"

namespace narrow {

class IntegerInputs {
 public:
  IntegerInputs(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  IntegerInputs& codes(std::size_t slot);  // u8 or i16
  // A constant of one of these types with exactly so many elements.
  IntegerInputs& constant(std::size_t slot, std::initializer_list<DType> types, std::int64_t elements);
  IntegerInputs& optional_constant(std::size_t slot, std::initializer_list<DType> types, std::int64_t elements);
  // multiplier i32[count], shift i32[count] in [1, 62] and, for rounding float_rne where it is read, scale f32[count].
  IntegerInputs& rescales(std::size_t first_slot, std::int64_t count, bool scale_is_read = true);
  IntegerInputs& integer(std::string_view key, std::int64_t low, std::int64_t high);  // attribute; absent: not checked
  IntegerInputs& zero_point(std::string_view key, std::size_t slot);                  // attribute on the grid of input `slot`
  // Output 0 is declared u8 or i16; y_zero_point, y_min and y_max lie on its grid.
  IntegerInputs& grid();
  // The declared type of output 0 with `shape`, or the first thing that is wrong.
  Result<std::vector<TensorType>> output(Result<Shape> shape);
  Status status() const { return status_; }
  bool good() const { return status_.has_value(); }
  // The value in `slot`; only when it has been checked and good().
  const Value& value(std::size_t slot) const { return graph_.value(node_.inputs[slot]); }

 private:
  template <typename... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    if (good()) status_ = error(format, std::forward<Args>(args)...);
  }
  const Value* find(std::size_t slot);
  void check_constant(std::size_t slot, std::initializer_list<DType> types, std::int64_t elements);

  const Graph& graph_;
  const Node& node_;
  Status status_;
};

}  // namespace narrow
