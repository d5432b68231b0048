// What the linear operators (Conv, ConvTranspose, Gemm) share: y = activation(W·x + b) with constant W and b, weights [O, ...]
// with the output channel first. Float kernels with the activation inside, the quantization rule, lowering, parameters on export.
#pragma once

#include <memory>

#include "kernels/float_backend.h"
#include "ops/integer_output.h"
#include "ops/op_def.h"

namespace narrow {

// The activation as the float backend computes it; kNone when there is none or it has no such form.
FloatActivation backend_activation(const FusedActivation& activation);
// Runs `kernel` on inputs 0, 1, 2 (x, weights, bias); applies the node's activation afterwards unless the kernel does.
// nullptr stays nullptr.
std::unique_ptr<Kernel> float_linear_kernel(std::unique_ptr<FloatKernel> kernel, bool applies_activation);
// The kernel's activation attribute for `node`, and whether nothing remains to be done after it.
struct BackendActivation {
  FloatActivation inside;
  bool complete = true;
};
BackendActivation split_activation(const Node& node);
// Data of a constant f32 input; nullptr when it is absent or computed.
const float* constant_floats(const Graph& graph, const Node& node, std::size_t slot);

// Bias input 2 of a node being imported: constant, `channels` elements, flattened to [channels].
Status normalize_bias(RewriteContext& ctx, std::int64_t channels);

// Input 2, where there is one, has one element per output channel.
Status check_bias(const Graph& graph, const Node& node, std::int64_t channels);

// Weights per output channel, the bias on the product of the scales of x and weights; float where the weights are computed.
QuantRule linear_quant_rule(const Graph& graph, const Node& node);

// Emits the integer operator `op` with the attributes `keep` of the node (its geometry): inputs x, weights, bias (may be
// absent), multiplier, shift, scale. A clamping activation becomes y_min and y_max; any other becomes a table after an i16
// (or u8, by profile) value before the activation.
Status lower_linear(LowerContext& ctx, const char* op, std::initializer_list<const char*> keep);

// The infer() of such an operator: checks its inputs; `infer` is that of the float operator, and the output's element type stays.
Result<std::vector<TensorType>> infer_integer_linear(const Graph& graph, const Node& node, Result<std::vector<TensorType>> (*infer)(const Graph& graph, const Node& node));

// The inputs of such an operator at run time.
struct IntegerLinear {
  explicit IntegerLinear(const RunContext& ctx);
  std::int64_t bias(std::int64_t channel) const { return bias32 != nullptr ? bias32[channel] : bias64 != nullptr ? bias64[channel] : 0; }
  const std::int8_t* weights;
  const std::int32_t* bias32 = nullptr;
  const std::int64_t* bias64 = nullptr;
  std::vector<Rescale> rescales;
  std::int32_t x_zero_point;
  CodeGrid grid;
};
// The same for kernels/conv_u8s8.h; nullptr when an input is i16 or computed, or there is no fast form.
std::unique_ptr<Kernel> integer_linear_kernel(const Graph& graph, const Node& node, const ConvShape& shape);

// Export: input `slot` becomes Transpose(input, perm), done on the constant itself, be it stored as f32 or as integers
// behind a DequantizeLinear.
Status permute_parameter(RewriteContext& ctx, std::size_t slot, const std::vector<int>& perm);

}  // namespace narrow
