// Cast to another element type. Internal form: attribute "to" is the name of a dtype; ONNX numbers its types (half
// precision is computed in f32 here).
#include <array>

#include "ops/unary.h"

namespace narrow {
namespace {

struct OnnxType {
  std::int64_t code;
  DType dtype;
};
constexpr std::array kOnnxTypes = {OnnxType{1, DType::kF32}, OnnxType{2, DType::kU8},  OnnxType{3, DType::kI8},   OnnxType{4, DType::kU16}, OnnxType{5, DType::kI16}, OnnxType{6, DType::kI32},
                                   OnnxType{7, DType::kI64}, OnnxType{9, DType::kBool}, OnnxType{11, DType::kF64}, OnnxType{10, DType::kF32}, OnnxType{16, DType::kF32}};

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  const std::int64_t code = ctx.node().attrs.get_int("to");
  for (const OnnxType& type : kOnnxTypes) {
    if (type.code != code) continue;
    if (type.dtype == ctx.input(0).dtype) ctx.results = {ctx.node().inputs[0]};
    ctx.attrs() = {};
    ctx.attrs().set("to", Attr(std::string(name_of(type.dtype))));
    return {};
  }
  return error("element type {} (ONNX's number) is not supported", code);
}

Status denormalize(RewriteContext& ctx) {
  const DType to = dtype_from_name(ctx.node().attrs.get_string("to")).value_or(DType::kF32);
  for (const OnnxType& type : kOnnxTypes) {
    if (type.dtype != to) continue;
    ctx.attrs().set("to", Attr(type.code));
    return {};
  }
  return {};
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  const std::string to = node.attrs.get_string("to");
  const auto dtype = dtype_from_name(to);
  if (!dtype) return error("'to' is '{}', wanted an element type", to);
  return std::vector<TensorType>{{*dtype, graph.value(node.inputs[0]).shape}};
}

void run(RunContext& ctx) {
  const Tensor cast = ctx.inputs[0].cast(ctx.outputs[0].dtype());
  std::copy_n(static_cast<const std::byte*>(cast.raw()), cast.bytes(), static_cast<std::byte*>(ctx.outputs[0].raw()));
}

QuantRule rule(const Graph&, const Node&) { return {.unquantized = "it changes the element type"}; }

}  // namespace

extern const OpDef op_cast;
constinit const OpDef op_cast{.name = "Cast", .summary = "another element type", .normalize = normalize, .denormalize = denormalize, .infer = infer, .run = run, .permute = permute_elementwise, .quant_rule = rule};

}  // namespace narrow
