#include "ops/integer_inputs.h"

#include <algorithm>

#include "kernels/requantize.h"

namespace narrow {
namespace {

struct Range {
  std::int64_t low = 0, high = 0;
};
Range codes_of(DType dtype) { return dtype == DType::kU8 ? Range{0, 255} : Range{-32768, 32767}; }
bool is_code(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI16; }

}  // namespace

const Value* IntegerInputs::find(std::size_t slot) {
  if (slot < node_.inputs.size() && node_.inputs[slot]) return &graph_.value(node_.inputs[slot]);
  fail("input {} is missing", slot);
  return nullptr;
}

IntegerInputs& IntegerInputs::codes(std::size_t slot) {
  const Value* x = find(slot);
  if (x != nullptr && !is_code(x->dtype)) fail("input {} ('{}') is {}, wanted u8 or i16", slot, x->name, name_of(x->dtype));
  return *this;
}

void IntegerInputs::check_constant(std::size_t slot, std::initializer_list<DType> types, std::int64_t elements) {
  const Value* c = find(slot);
  if (c == nullptr) return;
  if (!c->is_constant()) fail("input {} ('{}') is computed, wanted a constant", slot, c->name);
  else if (std::find(types.begin(), types.end(), c->dtype) == types.end()) fail("input {} ('{}') is {}, wanted {}", slot, c->name, name_of(c->dtype), name_of(*types.begin()));
  else if (c->constant.elements() != elements) fail("input {} ('{}') has {} elements, wanted {}", slot, c->name, c->constant.elements(), elements);
}

IntegerInputs& IntegerInputs::constant(std::size_t slot, std::initializer_list<DType> types, std::int64_t elements) {
  if (good()) check_constant(slot, types, elements);
  return *this;
}

IntegerInputs& IntegerInputs::optional_constant(std::size_t slot, std::initializer_list<DType> types, std::int64_t elements) {
  const bool there = slot < node_.inputs.size() && node_.inputs[slot];
  return there ? constant(slot, types, elements) : *this;
}

IntegerInputs& IntegerInputs::rescales(std::size_t first_slot, std::int64_t count, bool scale_is_read) {
  constant(first_slot, {DType::kI32}, count).constant(first_slot + 1, {DType::kI32}, count);
  const bool as_float = node_.attrs.get_string("rounding", "single_round") == name_of(Rounding::kFloatRne);
  if (as_float && scale_is_read) constant(first_slot + 2, {DType::kF32}, count);
  else optional_constant(first_slot + 2, {DType::kF32}, count);
  if (!good()) return *this;
  for (const std::int32_t shift : value(first_slot + 1).constant.span<std::int32_t>()) {
    if (shift < 1 || shift > 62) fail("'{}' holds the shift {}, wanted 1 to 62", value(first_slot + 1).name, shift);
  }
  if (first_slot + 2 < node_.inputs.size() && node_.inputs[first_slot + 2]) {
    for (const float scale : value(first_slot + 2).constant.span<float>()) {
      if (!(scale >= 0 && scale < 0x1p31F)) fail("'{}' holds the scale {}, wanted 0 to 2^31", value(first_slot + 2).name, scale);
    }
  }
  for (const std::int32_t multiplier : value(first_slot).constant.span<std::int32_t>()) {
    if (multiplier < 0) fail("'{}' holds the multiplier {}, wanted at least 0", value(first_slot).name, multiplier);
  }
  return *this;
}

IntegerInputs& IntegerInputs::integer(std::string_view key, std::int64_t low, std::int64_t high) {
  if (!good() || !node_.attrs.has(key)) return *this;
  const std::int64_t found = node_.attrs.get_int(key);
  if (found < low || found > high) fail("attribute '{}' is {}, wanted {} to {}", key, found, low, high);
  return *this;
}

IntegerInputs& IntegerInputs::zero_point(std::string_view key, std::size_t slot) {
  const Value* x = find(slot);
  if (!good()) return *this;
  const Range range = codes_of(x->dtype);
  return integer(key, range.low, range.high);
}

IntegerInputs& IntegerInputs::grid() {
  if (!good()) return *this;
  const Value& y = graph_.value(node_.outputs[0]);
  if (!is_code(y.dtype)) {
    fail("the output is {}, wanted u8 or i16", name_of(y.dtype));
    return *this;
  }
  const Range range = codes_of(y.dtype);
  for (const std::string_view key : {"y_zero_point", "y_min", "y_max"}) integer(key, range.low, range.high);
  if (good() && node_.attrs.get_int("y_min", 0) > node_.attrs.get_int("y_max", 255)) fail("y_min {} is above y_max {}", node_.attrs.get_int("y_min", 0), node_.attrs.get_int("y_max", 255));
  return *this;
}

Result<std::vector<TensorType>> IntegerInputs::output(Result<Shape> shape) {
  NARROW_TRY(Status(status_));
  return std::vector<TensorType>{{graph_.value(node_.outputs[0]).dtype, NARROW_TRY(std::move(shape))}};
}

}  // namespace narrow
