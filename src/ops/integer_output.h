// The last step that integer operators share: the attributes y_zero_point, y_min, y_max, and storing u8 or i16 codes.
#pragma once

#include "ops/lower_context.h"

namespace narrow {

// What the codes of an output may be, and how an accumulator becomes one.
struct CodeGrid {
  std::int32_t zero_point = 0, low = 0, high = 255;
  Rounding rounding = Rounding::kSingleRound;
  std::int32_t code(std::int64_t acc, const Rescale& r) const { return requantize(acc, r, rounding, zero_point, low, high); }
};
inline CodeGrid read_code_grid(const Node& node) {
  return {.zero_point = static_cast<std::int32_t>(node.attrs.get_int("y_zero_point")),
          .low = static_cast<std::int32_t>(node.attrs.get_int("y_min", 0)),
          .high = static_cast<std::int32_t>(node.attrs.get_int("y_max", 255)),
          .rounding = rounding_of(node)};
}
inline void set_code_grid(Attrs& attrs, const QuantParams& y) {
  attrs.set("y_zero_point", y.zero_point[0]);
  attrs.set("y_min", Attr(y.qmin()));
  attrs.set("y_max", Attr(y.qmax()));
}

// y is u8 or i16; `code` is on its grid.
inline void store_code(Tensor& y, std::int64_t index, std::int32_t code) {
  if (y.dtype() == DType::kU8) {
    static_cast<std::uint8_t*>(y.raw())[index] = static_cast<std::uint8_t>(code);
  } else {
    static_cast<std::int16_t*>(y.raw())[index] = static_cast<std::int16_t>(code);
  }
}

// Calls fn(pointer to the codes) with the type of a u8 or i16 tensor; T is Tensor or const Tensor.
template <typename T, typename Fn>
void with_codes(T& tensor, const Fn& fn) {
  if (tensor.dtype() == DType::kU8) {
    fn(tensor.template data<std::uint8_t>());
  } else {
    fn(tensor.template data<std::int16_t>());
  }
}

// Factor of a mean of `count` terms: ratio / count. With ratio 1 it is raised by a third of a unit or more of its fixed-point
// form, so that a mean exactly half-way between codes is rounded away from zero, as in TFLite and TOSA (sums of up to 2^28). Powers of
// two are exact without, and their halves follow the rounding mode.
inline double reciprocal_factor(double ratio, std::int64_t count) {
  const bool power_of_two = (count & (count - 1)) == 0;
  return ratio / static_cast<double>(count) * (ratio == 1 && !power_of_two ? 1 + 0x1p-31 : 1.0);
}

}  // namespace narrow
