// Identity and Dropout (at inference): they vanish on import. An Identity that remains gives a value a second name.
#include <algorithm>
#include <cstring>

#include "ops/movement.h"

namespace narrow {
namespace {

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  ctx.results[0] = ctx.node().inputs[0];
  return {};
}

Status normalize_dropout(RewriteContext& ctx) {
  NARROW_TRY(normalize(ctx));
  const Tensor* training = NARROW_TRY(ctx.constant_input(2, "training_mode"));
  if (training != nullptr && training->cast(DType::kI64).to_ints() != std::vector<std::int64_t>{0}) return error("it is in training mode").with_help("export the model for inference");
  // The mask of what is kept: everything.
  if (ctx.node().outputs.size() > 1) {
    const DType dtype = ctx.opset < 10 ? ctx.input(0).dtype : DType::kBool;
    Tensor mask(DType::kF32, ctx.input(0).shape);
    std::fill_n(mask.data<float>(), mask.elements(), 1.0F);
    ctx.results[1] = ctx.graph.add_constant(ctx.graph.value(ctx.node().outputs[1]).name, mask.cast(dtype));
  }
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
constinit const OpDef op_dropout{.name = "Dropout", .summary = "vanishes", .normalize = normalize_dropout};

}  // namespace narrow
