// quantize, dequantize and requantize: per tensor, u8 or i16 (and the other integer types of 8 and 16 bits).
#include "ops/borders.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/elementwise_u8.h"
#include "kernels/lut.h"
#include "ops/integer_inputs.h"
#include "ops/lower_context.h"
#include "ops/op_def.h"

namespace narrow {
namespace {

constexpr std::int64_t kChunk = 1 << 14;

// Calls fn(begin, end) on fixed pieces of [0, n).
template <typename Fn>
void pieces(std::int64_t n, const Fn& fn) {
  parallel_for((n + kChunk - 1) / kChunk, [&](std::int64_t chunk) { fn(chunk * kChunk, std::min(n, (chunk + 1) * kChunk)); });
}

template <typename Fn>
void with_grid(DType dtype, const Fn& fn) {
  switch (dtype) {
    case DType::kU8: return fn(std::uint8_t{});
    case DType::kI8: return fn(std::int8_t{});
    case DType::kU16: return fn(std::uint16_t{});
    case DType::kI16: return fn(std::int16_t{});
    default: NARROW_CHECK(false, "{} is not a grid of activations", name_of(dtype));
  }
}

std::int32_t int_attr(const Node& node, std::string_view key) { return static_cast<std::int32_t>(node.attrs.get_int(key)); }

bool is_grid(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kU16 || dtype == DType::kI16; }

// Attribute "dtype" says the output's type.
Result<std::vector<TensorType>> infer_grid(const Graph& graph, const Node& node) {
  const auto dtype = dtype_from_name(node.attrs.get_string("dtype"));
  if (!dtype || !is_grid(*dtype)) return error("attribute dtype is '{}', wanted u8, i8, u16 or i16", node.attrs.get_string("dtype"));
  IntegerInputs in(graph, node);
  const QuantParams grid = QuantParams::per_tensor(*dtype, 1, 0);
  for (const char* key : {"zero_point", "y_zero_point", "y_min", "y_max"}) in.integer(key, grid.qmin(), grid.qmax());
  NARROW_TRY(in.status());
  if (node.attrs.get_int("y_min") > node.attrs.get_int("y_max")) return error("y_min {} is above y_max {}", node.attrs.get_int("y_min"), node.attrs.get_int("y_max"));
  return std::vector<TensorType>{{*dtype, graph.value(node.inputs[0]).shape}};
}
Result<std::vector<TensorType>> infer_quantize(const Graph& graph, const Node& node) {
  const Value& x = graph.value(node.inputs[0]);
  if (x.dtype != DType::kF32) return error("the input is {}, wanted f32", name_of(x.dtype));
  return infer_grid(graph, node);
}
Result<std::vector<TensorType>> infer_requantize(const Graph& graph, const Node& node) {
  const Value& x = graph.value(node.inputs[0]);
  if (!is_grid(x.dtype)) return error("the input is {}, wanted u8, i8, u16 or i16", name_of(x.dtype));
  const QuantParams grid = QuantParams::per_tensor(x.dtype, 1, 0);
  NARROW_TRY(IntegerInputs(graph, node).rescales(1, 1, false).integer("x_zero_point", grid.qmin(), grid.qmax()).status());
  return infer_grid(graph, node);
}
Result<std::vector<TensorType>> infer_real(const Graph& graph, const Node& node) {
  const DType from = graph.value(node.inputs[0]).dtype;
  if (!is_grid(from)) return error("the input is {}, wanted u8, i8, u16 or i16", name_of(from));
  NARROW_TRY(IntegerInputs(graph, node).integer("zero_point", INT16_MIN, UINT16_MAX).status());
  return std::vector<TensorType>{{DType::kF32, graph.value(node.inputs[0]).shape}};
}

void run_quantize(RunContext& ctx) {
  const auto scale = static_cast<float>(ctx.node.attrs.get_float("scale"));
  const std::int32_t zero_point = int_attr(ctx.node, "zero_point"), low = int_attr(ctx.node, "y_min"), high = int_attr(ctx.node, "y_max");
  const float* x = ctx.inputs[0].data<float>();
  with_grid(ctx.outputs[0].dtype(), [&](auto tag) {
    using T = decltype(tag);
    T* y = ctx.outputs[0].data<T>();
    pieces(ctx.outputs[0].elements(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(quantize(x[i], scale, zero_point, low, high));
    });
  });
}

void run_dequantize(RunContext& ctx) {
  const auto scale = static_cast<float>(ctx.node.attrs.get_float("scale"));
  const std::int32_t zero_point = int_attr(ctx.node, "zero_point");
  float* y = ctx.outputs[0].data<float>();
  with_grid(ctx.inputs[0].dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T* x = ctx.inputs[0].data<T>();
    pieces(ctx.outputs[0].elements(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = dequantize(x[i], scale, zero_point);
    });
  });
}

// y = round((x - x_zero_point) * x_scale / y_scale) + y_zero_point. float_rne goes through the real value, as a
// DequantizeLinear and a QuantizeLinear do.
void run_requantize(RunContext& ctx) {
  const Node& node = ctx.node;
  const Rounding rounding = rounding_of(node);
  const Rescale factor = read_rescales(ctx, 1)[0];
  const auto x_scale = static_cast<float>(node.attrs.get_float("x_scale")), y_scale = static_cast<float>(node.attrs.get_float("y_scale"));
  const std::int32_t x_zero = int_attr(node, "x_zero_point"), y_zero = int_attr(node, "y_zero_point");
  const std::int32_t low = int_attr(node, "y_min"), high = int_attr(node, "y_max");
  with_grid(ctx.inputs[0].dtype(), [&](auto from) {
    with_grid(ctx.outputs[0].dtype(), [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      const From* x = ctx.inputs[0].data<From>();
      To* y = ctx.outputs[0].data<To>();
      pieces(ctx.outputs[0].elements(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          y[i] = static_cast<To>(rounding == Rounding::kFloatRne ? quantize(dequantize(x[i], x_scale, x_zero), y_scale, y_zero, low, high)
                                                                 : requantize(x[i] - x_zero, factor, rounding, y_zero, low, high));
        }
      });
    });
  });
}

// --- fast forms for u8 ---

class QuantizeU8 final : public Kernel {
 public:
  void run(RunContext& ctx) override {
    const Node& node = ctx.node;
    quantize_f32_u8(ctx.inputs[0].data<float>(), static_cast<float>(node.attrs.get_float("scale")), int_attr(node, "zero_point"), int_attr(node, "y_min"),
                    int_attr(node, "y_max"), ctx.outputs[0].data<std::uint8_t>(), ctx.outputs[0].elements());
  }
};

class DequantizeU8 final : public Kernel {
 public:
  void run(RunContext& ctx) override {
    dequantize_u8_f32(ctx.inputs[0].data<std::uint8_t>(), static_cast<float>(ctx.node.attrs.get_float("scale")), int_attr(ctx.node, "zero_point"),
                      ctx.outputs[0].data<float>(), ctx.outputs[0].elements());
  }
};

// Between two u8 grids: the results of all 256 codes, looked up.
class RequantizeU8 final : public Kernel {
 public:
  void run(RunContext& ctx) override {
    if (!table_.has_data()) {
      Tensor codes(DType::kU8, {256});
      for (int q = 0; q < 256; ++q) codes.data<std::uint8_t>()[q] = static_cast<std::uint8_t>(q);
      std::vector<Tensor> inputs(ctx.inputs.begin(), ctx.inputs.end()), outputs{Tensor(DType::kU8, {256})};
      inputs[0] = codes;
      RunContext all{ctx.node, inputs, outputs};
      run_requantize(all);
      table_ = outputs[0];
    }
    look_up(ctx.inputs[0].data<std::uint8_t>(), table_.data<std::uint8_t>(), ctx.outputs[0].data<std::uint8_t>(), ctx.outputs[0].elements());
  }

 private:
  Tensor table_;
};

template <typename Form>
std::unique_ptr<Kernel> prepare_u8(const Graph& graph, const Node& node) {
  for (const ValueId id : {node.inputs[0], node.outputs[0]}) {
    const DType dtype = graph.value(id).dtype;
    if (dtype != DType::kU8 && dtype != DType::kF32) return nullptr;
  }
  return std::make_unique<Form>();
}

void set_grid(Attrs& attrs, const QuantParams& to) {
  attrs.set("dtype", Attr(std::string(name_of(to.dtype))));
  attrs.set("y_min", Attr(to.qmin()));
  attrs.set("y_max", Attr(to.qmax()));
}

}  // namespace

extern const OpDef op_quantize;
constinit const OpDef op_quantize{.name = "quantize", .summary = "real numbers onto an integer grid", .onnx = false, .infer = infer_quantize, .run = run_quantize, .prepare = prepare_u8<QuantizeU8>};

extern const OpDef op_dequantize;
constinit const OpDef op_dequantize{.name = "dequantize", .summary = "real numbers of an integer grid", .onnx = false, .infer = infer_real, .run = run_dequantize, .prepare = prepare_u8<DequantizeU8>};

extern const OpDef op_requantize;
constinit const OpDef op_requantize{.name = "requantize", .summary = "from one integer grid to another", .onnx = false, .infer = infer_requantize, .run = run_requantize, .prepare = prepare_u8<RequantizeU8>};

NodeSpec quantize_spec(ValueId x, const QuantParams& to) {
  NodeSpec spec{.name = {}, .op = "quantize", .inputs = {x}};
  set_grid(spec.attrs, to);
  spec.attrs.set("scale", Attr(static_cast<double>(to.scale[0])));
  spec.attrs.set("zero_point", to.zero_point[0]);
  return spec;
}

NodeSpec dequantize_spec(ValueId x, const QuantParams& from) {
  NodeSpec spec{.name = {}, .op = "dequantize", .inputs = {x}};
  spec.attrs.set("scale", Attr(static_cast<double>(from.scale[0])));
  spec.attrs.set("zero_point", from.zero_point[0]);
  return spec;
}

NodeSpec requantize_spec(ValueId x, ValueId multiplier, ValueId shift, const QuantParams& from, const QuantParams& to, Rounding rounding) {
  NodeSpec spec{.name = {}, .op = "requantize", .inputs = {x, multiplier, shift}};
  set_grid(spec.attrs, to);
  spec.attrs.set("x_scale", Attr(static_cast<double>(from.scale[0])));
  spec.attrs.set("y_scale", Attr(static_cast<double>(to.scale[0])));
  spec.attrs.set("x_zero_point", from.zero_point[0]);
  spec.attrs.set("y_zero_point", to.zero_point[0]);
  spec.attrs.set("rounding", Attr(std::string(name_of(rounding))));
  return spec;
}

}  // namespace narrow
