// Transpose: axis i of the output is axis perm[i] of the input.
#include "kernels/transpose.h"

#include <algorithm>

#include "ops/movement.h"

namespace narrow {
namespace {

std::vector<int> permutation(const Node& node) {
  const std::vector<std::int64_t> perm = node.attrs.get_ints("perm");
  return {perm.begin(), perm.end()};
}
void set_permutation(Graph& graph, NodeId id, const std::vector<int>& perm) {
  graph.attrs(id).set("perm", Attr(std::vector<std::int64_t>(perm.begin(), perm.end())));
}

Status normalize(RewriteContext& ctx) {
  NARROW_TRY(expect_inputs(ctx.node(), 1));
  if (ctx.node().attrs.has("perm")) return {};
  std::vector<std::int64_t> reversed;
  for (auto i = static_cast<std::int64_t>(ctx.input(0).shape.size()); i-- > 0;) reversed.push_back(i);
  ctx.attrs().set("perm", Attr(std::move(reversed)));
  return {};
}

Result<std::vector<TensorType>> infer(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 1));
  const Value& x = graph.value(node.inputs[0]);
  const std::vector<std::int64_t> perm = node.attrs.get_ints("perm");
  std::vector<bool> seen(x.shape.size(), false);
  Shape shape;
  for (const std::int64_t p : perm) {
    if (p < 0 || p >= static_cast<std::int64_t>(seen.size()) || seen[static_cast<std::size_t>(p)]) break;
    seen[static_cast<std::size_t>(p)] = true;
    shape.push_back(x.shape[static_cast<std::size_t>(p)]);
  }
  if (shape.size() != x.shape.size() || perm.size() != x.shape.size()) return error("perm {} is no permutation of the {} axes of shape {}", to_string(perm), x.shape.size(), to_string(x.shape));
  return std::vector<TensorType>{{x.dtype, std::move(shape)}};
}

void run(RunContext& ctx) {
  const std::vector<int> perm = permutation(ctx.node);
  transpose(ctx.inputs[0].raw(), ctx.inputs[0].shape(), perm, size_of(ctx.inputs[0].dtype()), ctx.outputs[0].raw());
}

// Old: T(T(x, perm), own). New: T(T(x, q), perm) with the same result, so q[perm[i]] = perm[own[i]].
bool permute(Graph& graph, NodeId id, const std::vector<int>& perm) {
  const std::vector<int> own = permutation(graph.node(id));
  if (own.size() != perm.size()) return false;
  std::vector<int> moved(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) moved[static_cast<std::size_t>(perm[i])] = perm[static_cast<std::size_t>(own[i])];
  set_permutation(graph, id, moved);
  return true;
}

// No element changes its place: axes longer than 1 keep their order.
bool moves_nothing(const Shape& shape, const std::vector<int>& perm) {
  int last = -1;
  for (const int p : perm) {
    if (shape[static_cast<std::size_t>(p)] == 1) continue;
    if (p < last) return false;
    last = p;
  }
  return true;
}

bool absorb_producer(Graph& graph, NodeId id) {
  const ValueId in = graph.node(id).inputs[0], out = graph.node(id).outputs[0];
  const std::vector<int> own = permutation(graph.node(id));
  const Node* producer = graph.producer(in);
  if (producer != nullptr && producer->op == graph.node(id).op) {
    // T(T(x, inner), own): axis i is axis own[i] of the middle, which is axis inner[own[i]] of x.
    const std::vector<int> inner = permutation(*producer);
    std::vector<int> both;
    for (const int p : own) both.push_back(inner[static_cast<std::size_t>(p)]);
    const std::vector<std::string> origin = producer->origin;
    graph.set_input(id, 0, producer->inputs[0]);
    graph.add_origin(id, origin);
    set_permutation(graph, id, both);
    return true;
  }
  if (!moves_nothing(graph.value(in).shape, own)) return false;
  if (std::is_sorted(own.begin(), own.end())) {
    if (graph.value(out).users.empty() && !graph.is_output(out)) return false;
    if (graph.is_output(out) && (producer == nullptr || graph.is_output(in))) return false;  // its name must survive
    graph.replace_uses(out, in);
    return true;
  }
  const Shape shape = graph.value(out).shape;
  graph.set_op(id, "Reshape");
  graph.attrs(id) = {};
  graph.attrs(id).set("shape", Attr(shape));
  return true;
}

}  // namespace

extern const OpDef op_transpose;
constinit const OpDef op_transpose{.name = "Transpose",
                                   .summary = "axes in another order",
                                   .normalize = normalize,
                                   .infer = infer,
                                   .run = run,
                                   .permute = permute,
                                   .absorb_producer = absorb_producer,
                                   .quant_rule = movement_rule,
                                   .lower = lower_movement};

}  // namespace narrow
