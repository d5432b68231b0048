// Identity and Dropout (at inference): they vanish on import. An Identity that remains gives a value a second name.
#include <cstring>

#include "ops/movement.h"

namespace narrow {
namespace {

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  for (std::size_t i = 1; i < ctx.node().outputs.size(); ++i) {
    const Value& mask = ctx.graph.value(ctx.node().outputs[i]);
    if (!mask.users.empty() || ctx.graph.is_output(ctx.node().outputs[i])) return error("output '{}' (the mask) is used, which has no meaning at inference", mask.name);
  }
  ctx.results[0] = ctx.node().inputs[0];
  return {};
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  const Value& x = graph.value(node.inputs[0]);
  return std::vector<TensorType>{{x.dtype, x.shape}};
}

void run(RunContext& ctx) {
  if (ctx.outputs[0].raw() != ctx.inputs[0].raw()) std::memcpy(ctx.outputs[0].raw(), ctx.inputs[0].raw(), ctx.inputs[0].bytes());
}

}  // namespace

extern const OpDef op_identity;
constinit const OpDef op_identity{.name = "Identity",
                                  .summary = "the input under another name",
                                  .view = true,
                                  .normalize = normalize,
                                  .infer = infer,
                                  .run = run,
                                  .permute = permute_elementwise,
                                  .quant_rule = movement_rule,
                                  .lower = lower_movement};

extern const OpDef op_dropout;
constinit const OpDef op_dropout{.name = "Dropout", .summary = "vanishes", .normalize = normalize};

}  // namespace narrow
