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
  for (const std::int64_t extent : *shape) {
    if (extent < 0) return error("shape {} is not valid", to_string(*shape));
  }
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

template <typename T>
std::int64_t range_count(T start, T limit, T delta) {
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta))));
}

Status normalize_range(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 3));
  std::vector<const Tensor*> numbers;
  for (const char* what : {"start", "limit", "delta"}) {
    numbers.push_back(NARROW_TRY(ctx.constant_input(numbers.size(), what)));
    if (numbers.back()->elements() != 1 || numbers.back()->dtype() != numbers[0]->dtype()) return error("'{}' is no number of type {}", what, name_of(numbers[0]->dtype()));
  }
  if (numbers[2]->cast(DType::kF64).data<double>()[0] == 0) return error("delta is 0");
  Tensor out;
  with_dtype(numbers[0]->dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T start = numbers[0]->data<T>()[0], delta = numbers[2]->data<T>()[0];
    out = Tensor(numbers[0]->dtype(), {range_count(start, numbers[1]->data<T>()[0], delta)});
    for (std::int64_t i = 0; i < out.elements(); ++i) out.data<T>()[i] = static_cast<T>(start + static_cast<T>(i) * delta);
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
