// ConstantOfShape and Range: tensors made from numbers. Their inputs are constants by the time they are imported, so they
// fold away. ConstantOfShape's value comes as a constant second input (how import passes tensor attributes) or as a number.
#include <cmath>

#include "ops/unary.h"

namespace narrow {
namespace {

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  const auto shape = NARROW_TRY(ctx.ints("shape", 0));
  const Tensor* value = NARROW_TRY(ctx.constant_input(1, "value"));
  if (value != nullptr && value->elements() != 1) return error("the value has shape {}, wanted one number", to_string(value->shape()));
  if (!is_plausible(*shape) || element_count(*shape) > kMostGenerated) return error("shape {} is not valid, wanted no negative extent and at most 2^26 elements", to_string(*shape));
  Tensor fill = value != nullptr ? value->reshaped({}) : Tensor::scalar<float>(static_cast<float>(ctx.node().attrs.get_float("value", 0)));
  const DType dtype = fill.dtype();
  Tensor out(dtype, *shape);
  with_dtype(dtype, [&](auto tag) {
    using T = decltype(tag);
    std::fill_n(out.data<T>(), out.elements(), fill.data<T>()[0]);
  });
  ctx.results = {ctx.graph.add_constant(ctx.graph.value(ctx.node().outputs[0]).name, std::move(out))};
  return {};
}

// How many numbers start, start + delta, ... lie before limit.
Result<std::int64_t> range_count(double start, double limit, double delta) {
  const double count = std::ceil((limit - start) / delta);
  if (!(count <= static_cast<double>(kMostGenerated))) return error("from {} to {} by {}: wanted at most 2^26 numbers", start, limit, delta);
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

Status normalize_range(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 3));
  std::vector<const Tensor*> numbers;
  for (const char* what : {"start", "limit", "delta"}) {
    numbers.push_back(NARROW_TRY(ctx.constant_input(numbers.size(), what)));
    if (numbers.back()->elements() != 1 || numbers.back()->dtype() != numbers[0]->dtype()) return error("'{}' is no number of type {}", what, name_of(numbers[0]->dtype()));
  }
  if (numbers[0]->dtype() == DType::kBool) return error("the numbers are bool");
  const auto real = [&](std::size_t i) { return numbers[i]->cast(DType::kF64).data<double>()[0]; };
  if (real(2) == 0) return error("delta is 0");
  const std::int64_t count = NARROW_TRY(range_count(real(0), real(1), real(2)));
  Tensor out(numbers[0]->dtype(), {count});
  with_dtype(numbers[0]->dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T start = numbers[0]->data<T>()[0], delta = numbers[2]->data<T>()[0];
    for (std::int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_floating_point_v<T>) out.data<T>()[i] = start + static_cast<T>(i) * delta;
      else out.data<T>()[i] = static_cast<T>(static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(delta));  // i * delta may not fit T where the sum does
    }
  });
  ctx.results = {ctx.graph.add_constant(ctx.graph.value(ctx.node().outputs[0]).name, std::move(out))};
  return {};
}

}  // namespace

extern const OpDef op_constant_of_shape;
constinit const OpDef op_constant_of_shape{.name = "ConstantOfShape", .summary = "becomes a constant", .normalize = normalize};

extern const OpDef op_range;
constinit const OpDef op_range{.name = "Range", .summary = "becomes a constant", .min_inputs = 3, .normalize = normalize_range};

}  // namespace narrow
