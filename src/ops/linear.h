// What the linear operators (Conv, ConvTranspose, Gemm) share: y = activation(W·x + b) with constant W and b, weights [O, ...]
// with the output channel first. Float kernels with the activation inside, the quantization rule, lowering, parameters on export.
#pragma once

#include <memory>

#include "kernels/float_backend.h"
#include "ops/lower_context.h"
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

QuantRule linear_quant_rule(const Graph& graph, const Node& node);

// Export: input `slot` becomes Transpose(input, perm), done on the constant itself, be it stored as f32 or as integers
// behind a DequantizeLinear.
Status permute_parameter(RewriteContext& ctx, std::size_t slot, const std::vector<int>& perm);

}  // namespace narrow
