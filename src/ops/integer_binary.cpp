#include "ops/integer_binary.h"

#include "ops/integer_inputs.h"
#include "ops/lut.h"

namespace narrow {

BinaryGrid read_binary_grid(const RunContext& ctx) {
  const Attrs& attrs = ctx.node.attrs;
  const auto integer = [&](std::string_view key) { return static_cast<std::int32_t>(attrs.get_int(key)); };
  const auto real = [&](std::string_view key) { return static_cast<float>(attrs.get_float(key, 1)); };
  BinaryGrid grid{.rounding = rounding_of(ctx.node),
                  .a_zero_point = integer("a_zero_point"),
                  .b_zero_point = integer("b_zero_point"),
                  .y_zero_point = integer("y_zero_point"),
                  .low = integer("y_min"),
                  .high = static_cast<std::int32_t>(attrs.get_int("y_max", 255)),
                  .a_scale = real("a_scale"),
                  .b_scale = real("b_scale"),
                  .y_scale = real("y_scale")};
  for (const DType dtype : {ctx.inputs[0].dtype(), ctx.inputs[1].dtype(), ctx.outputs[0].dtype()}) grid.wide = grid.wide || dtype != DType::kU8;
  return grid;
}

void set_binary_grid(LowerContext& ctx, Attrs& attrs) {
  const QuantParams &a = ctx.in(0), &b = ctx.in(1), &y = ctx.out();
  const Window window = output_window(fused_activation(ctx.node()), y);
  attrs.set("a_zero_point", a.zero_point[0]);
  attrs.set("b_zero_point", b.zero_point[0]);
  attrs.set("y_zero_point", y.zero_point[0]);
  attrs.set("y_min", window.low);
  attrs.set("y_max", window.high);
  attrs.set("y_dtype", Attr(std::string(name_of(y.dtype))));
  if (ctx.profile().rounding != Rounding::kFloatRne) return;
  attrs.set("a_scale", Attr(static_cast<double>(a.scale[0])));
  attrs.set("b_scale", Attr(static_cast<double>(b.scale[0])));
  attrs.set("y_scale", Attr(static_cast<double>(y.scale[0])));
}

Result<std::vector<TensorType>> infer_codes(const Graph& graph, const Node& node, std::int64_t rescales) {
  NARROW_TRY(IntegerInputs(graph, node).codes(0).codes(1).rescales(2, rescales, false).zero_point("a_zero_point", 0).zero_point("b_zero_point", 1).grid().status());
  const DType dtype = dtype_from_name(node.attrs.get_string("y_dtype", "u8")).value_or(DType::kU8);
  return std::vector<TensorType>{{dtype, NARROW_TRY(broadcast(graph.value(node.inputs[0]).shape, graph.value(node.inputs[1]).shape))}};
}

}  // namespace narrow
