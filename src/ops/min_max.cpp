// Max and Min of two tensors. Against a constant number they are a Clip; longer lists become chains. In integer networks
// both operands and the output share one grid, so the same loops run on codes.
#include "ops/binary.h"
#include "ops/lower_context.h"

namespace narrow {
namespace {

template <typename T>
struct Larger {
  T operator()(T a, T b) const { return a < b ? b : a; }
};
template <typename T>
struct Smaller {
  T operator()(T a, T b) const { return b < a ? b : a; }
};

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  std::vector<ValueId> inputs = ctx.node().inputs;
  const std::string op = ctx.node().op, name = ctx.node().name;
  if (inputs.size() == 1) {
    ctx.results = {inputs[0]};
    return {};
  }
  while (inputs.size() > 2) {
    const ValueId first = NARROW_TRY(ctx.insert_before({.name = name + ".part", .op = op, .inputs = {inputs[0], inputs[1]}}));
    inputs.erase(inputs.begin());
    inputs[0] = first;
  }
  if (ctx.graph.value(inputs[0]).is_constant() && !ctx.graph.value(inputs[1]).is_constant()) std::swap(inputs[0], inputs[1]);
  ctx.graph.set_inputs(ctx.node_id, inputs);
  const Value &data = ctx.graph.value(inputs[0]), &limit = ctx.graph.value(inputs[1]);
  if (limit.is_constant() && !data.is_constant() && limit.dtype == DType::kF32 && limit.constant.elements() == 1 && limit.shape.size() <= data.shape.size()) {
    ctx.attrs().set(op == "Max" ? "min" : "max", Attr(static_cast<double>(limit.constant.data<float>()[0])));
    ctx.graph.set_inputs(ctx.node_id, {inputs[0]});
    ctx.graph.set_op(ctx.node_id, "Clip");
  }
  return {};
}

QuantRule rule(const Graph& graph, const Node& node) {
  QuantRule out = binary_rule(graph, node);
  if (out.unquantized.empty()) out.same = {{input_slot(0), input_slot(1), output_slot(0)}};
  return out;
}

Status lower(LowerContext& ctx) {
  ctx.emit_output({.op = ctx.node().op, .inputs = {ctx.input(0), ctx.input(1)}});
  return {};
}

}  // namespace

extern const OpDef op_max;
constinit const OpDef op_max{.name = "Max", .summary = "larger of a and b", .normalize = normalize, .infer = infer_binary, .run = run_binary<Larger>, .permute = permute_elementwise, .quant_rule = rule, .lower = lower};

extern const OpDef op_min;
constinit const OpDef op_min{.name = "Min", .summary = "smaller of a and b", .normalize = normalize, .infer = infer_binary, .run = run_binary<Smaller>, .permute = permute_elementwise, .quant_rule = rule, .lower = lower};

}  // namespace narrow
