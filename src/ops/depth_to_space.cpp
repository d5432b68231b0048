// DepthToSpace and SpaceToDepth become Reshape, Transpose, Reshape.
#include "ops/movement.h"

namespace narrow {
namespace {

Status become(RewriteContext& ctx, const Shape& split, const std::vector<std::int64_t>& perm, const Shape& merged) {
  const std::string name = ctx.node().name;
  NodeSpec first{.name = name + ".split", .op = "Reshape", .inputs = {ctx.node().inputs[0]}};
  first.attrs.set("shape", Attr(split));
  const ValueId parts = NARROW_TRY(ctx.insert_before(std::move(first)));
  NodeSpec second{.name = name + ".move", .op = "Transpose", .inputs = {parts}};
  second.attrs.set("perm", Attr(perm));
  const ValueId moved = NARROW_TRY(ctx.insert_before(std::move(second)));
  ctx.graph.set_op(ctx.node_id, "Reshape");
  ctx.graph.set_inputs(ctx.node_id, {moved});
  ctx.attrs() = {};
  ctx.attrs().set("shape", Attr(merged));
  return {};
}

Status check(RewriteContext& ctx, std::int64_t& block) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  block = ctx.node().attrs.get_int("blocksize");
  if (ctx.input(0).shape.size() != 4) return error("the input has shape {}, wanted 4 axes", to_string(ctx.input(0).shape));
  constexpr std::int64_t kLargest = 1 << 15;
  if (block < 1 || block > kLargest) return error("blocksize is {}, wanted 1 to {}", block, kLargest);
  return {};
}

Status normalize_depth_to_space(RewriteContext& ctx) {
  std::int64_t b = 1;
  NARROW_TRY(check(ctx, b));
  const Shape x = ctx.input(0).shape;
  if (x[1] % (b * b) != 0) return error("{} channels do not divide into blocks of {}x{}", x[1], b, b);
  const std::int64_t c = x[1] / (b * b);
  const Shape merged{x[0], c, x[2] * b, x[3] * b};
  const std::string mode = ctx.node().attrs.get_string("mode", "DCR");
  if (mode == "CRD") return become(ctx, {x[0], c, b, b, x[2], x[3]}, {0, 1, 4, 2, 5, 3}, merged);
  if (mode != "DCR") return error("mode is '{}', wanted 'DCR' or 'CRD'", mode);
  return become(ctx, {x[0], b, b, c, x[2], x[3]}, {0, 3, 4, 1, 5, 2}, merged);
}

Status normalize_space_to_depth(RewriteContext& ctx) {
  std::int64_t b = 1;
  NARROW_TRY(check(ctx, b));
  const Shape x = ctx.input(0).shape;
  if (x[2] % b != 0 || x[3] % b != 0) return error("{}x{} pixels do not divide into blocks of {}x{}", x[2], x[3], b, b);
  return become(ctx, {x[0], x[1], x[2] / b, b, x[3] / b, b}, {0, 3, 5, 1, 2, 4}, {x[0], x[1] * b * b, x[2] / b, x[3] / b});
}

}  // namespace

extern const OpDef op_depth_to_space;
constinit const OpDef op_depth_to_space{.name = "DepthToSpace", .summary = "becomes Reshape, Transpose, Reshape", .normalize = normalize_depth_to_space};

extern const OpDef op_space_to_depth;
constinit const OpDef op_space_to_depth{.name = "SpaceToDepth", .summary = "becomes Reshape, Transpose, Reshape", .normalize = normalize_space_to_depth};

}  // namespace narrow
