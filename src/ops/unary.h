// What all functions y = f(x) of one tensor share: everything but the function. A file such as sigmoid.cpp names its
// operator, defines an ActivationDef and passes both through unary_op(). In integer networks such a node is a table.
#pragma once

#include "ops/op_def.h"

namespace narrow {

Result<std::vector<TensorType>> infer_unary(const Graph& graph, const Node& node);  // f32 or f64 in and out
void run_unary(RunContext& ctx);  // ActivationDef::apply_array, else apply, on every element
// Output calibrated, or fixed where the function's range is known.
QuantRule unary_rule(const Graph& graph, const Node& node);
Status lower_unary(LowerContext& ctx);

// Fills in what the operator did not set itself.
constexpr OpDef unary_op(OpDef op) {
  if (op.infer == nullptr) op.infer = infer_unary;
  if (op.run == nullptr) op.run = run_unary;
  if (op.permute == nullptr) op.permute = permute_elementwise;
  if (op.quant_rule == nullptr) op.quant_rule = unary_rule;
  if (op.lower == nullptr) op.lower = lower_unary;
  return op;
}

}  // namespace narrow
