#include "ops/op_def.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/parallel.h"
#include "kernels/transpose.h"
#include "ops/lower_context.h"

namespace narrow {

#define NARROW_OP(symbol) extern const OpDef symbol;
#include "ops/ops.inc"
#undef NARROW_OP

namespace {

constexpr std::array kOps = {
#define NARROW_OP(symbol) &symbol,
#include "ops/ops.inc"
#undef NARROW_OP
};

constexpr std::string_view kActivationKey = "activation";
constexpr std::string_view kActivationPrefix = "activation.";

}  // namespace

std::span<const OpDef* const> all_ops() { return kOps; }

const OpDef* find_op(std::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new std::map<std::string_view, const OpDef*>;
    for (const OpDef* op : kOps) map->emplace(op->name, op);
    return map;
  }();
  const auto it = kByName->find(name);
  return it == kByName->end() ? nullptr : it->second;
}

const OpDef& op_of(const Node& node) {
  const OpDef* op = find_op(node.op);
  NARROW_CHECK(op != nullptr, "operator '{}' of node '{}'", node.op, node.name);
  return *op;
}

Status expect_inputs(const Node& node, std::size_t count) {
  std::size_t found = 0;
  while (found < node.inputs.size() && found < count && node.inputs[found]) ++found;
  if (found < count) return error("{} of {} inputs are missing", count - found, count);
  return {};
}

Status infer_types(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpDef& op = op_of(node);
  NARROW_CHECK(op.infer != nullptr, "operator '{}'", op.name);
  auto types = NARROW_TRY(op.infer(graph, node));
  if (types.size() < node.outputs.size()) return error("{} outputs are wanted, only {} are supported", node.outputs.size(), types.size());
  for (const TensorType& type : types) {
    if (!is_plausible(type.shape)) return error("the output would have the shape {}", to_string(type.shape)).with_help("look at the attributes of this node: no network computes that much");
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) graph.set_type(node.outputs[i], std::move(types[i]));
  return {};
}

Status infer_node(Graph& graph, NodeId id) {
  auto status = infer_types(graph, id);
  if (!status) return tl::unexpected<Error>(std::move(status.error()).in(fmt::format("node '{}' ({})", graph.node(id).name, graph.node(id).op)));
  return {};
}

Result<ValueId> append_inferred(Graph& graph, NodeSpec spec) {
  const NodeId id = graph.append(std::move(spec));
  NARROW_TRY(infer_node(graph, id));
  return graph.node(id).outputs[0];
}

const Node* selective_reader(const Graph& graph, ValueId value) {
  const NodeId reader = graph.single_user(value);
  return reader && op_of(graph.node(reader)).as_read != nullptr && graph.node(reader).inputs[0] == value ? &graph.node(reader) : nullptr;
}

// --- RewriteContext ---

Result<const Tensor*> RewriteContext::constant_input(std::size_t slot, std::string_view what) const {
  if (!has_input(slot)) return nullptr;
  if (!input(slot).is_constant()) {
    return error("{} ('{}') is computed at run time, wanted a constant", what, input(slot).name)
        .with_help("fix the input shapes (--input-shape) so that it can be folded, or simplify the model before export");
  }
  return &input(slot).constant;
}

Result<std::optional<std::vector<std::int64_t>>> RewriteContext::ints(std::string_view key, std::size_t slot) const {
  if (node().attrs.has(key)) return node().attrs.get_ints(key);
  const Tensor* tensor = NARROW_TRY(constant_input(slot, key));
  if (tensor == nullptr) return std::nullopt;
  return tensor->to_ints();
}

Result<ValueId> RewriteContext::insert_before(NodeSpec spec) {
  if (spec.origin.empty()) spec.origin = node().origin;
  const NodeId id = graph.insert_before(node_id, std::move(spec));
  NARROW_TRY(infer_types(graph, id));
  return graph.node(id).outputs[0];
}

Result<ValueId> RewriteContext::insert_after(NodeSpec spec) {
  // After the nodes already inserted here: behind the last producer among its inputs.
  NodeId at = node_id;
  for (const NodeId n : graph.order()) {
    for (const ValueId in : spec.inputs) {
      if (in && graph.value(in).producer == n) at = n;
    }
  }
  if (spec.origin.empty()) spec.origin = node().origin;
  const NodeId id = graph.insert_after(at, std::move(spec));
  NARROW_TRY(infer_types(graph, id));
  return graph.node(id).outputs[0];
}

Status RewriteContext::infer() { return infer_types(graph, node_id); }

namespace {

NodeSpec transpose_spec(const Graph& graph, ValueId from, const char* suffix, std::vector<std::int64_t> perm) {
  NodeSpec spec{.name = graph.value(from).name + suffix, .op = "Transpose", .inputs = {from}};
  spec.attrs.set("perm", std::move(perm));
  return spec;
}
// Channels-last permutation of any rank >= 3: N, spatial..., C.
std::vector<std::int64_t> to_last(std::size_t rank) {
  std::vector<std::int64_t> perm{0};
  for (std::size_t i = 2; i < rank; ++i) perm.push_back(static_cast<std::int64_t>(i));
  perm.push_back(1);
  return perm;
}
std::vector<std::int64_t> to_first(std::size_t rank) {
  std::vector<std::int64_t> perm{0, static_cast<std::int64_t>(rank) - 1};
  for (std::size_t i = 1; i + 1 < rank; ++i) perm.push_back(static_cast<std::int64_t>(i));
  return perm;
}

}  // namespace

Status RewriteContext::input_to_channels_last(std::size_t slot) {
  const ValueId in = node().inputs[slot];
  graph.set_input(node_id, slot, NARROW_TRY(insert_before(transpose_spec(graph, in, ".nhwc", to_last(graph.value(in).shape.size())))));
  return {};
}

Status RewriteContext::result_to_channels_first(std::size_t index) {
  const ValueId out = results[index];
  results[index] = NARROW_TRY(insert_after(transpose_spec(graph, out, ".nchw", to_first(graph.value(out).shape.size()))));
  return {};
}

Status RewriteContext::input_to_channels_first(std::size_t slot) {
  const ValueId in = node().inputs[slot];
  graph.set_input(node_id, slot, NARROW_TRY(insert_before(transpose_spec(graph, in, ".nchw", to_first(graph.value(in).shape.size())))));
  return {};
}

Status RewriteContext::result_to_channels_last(std::size_t index) {
  const ValueId out = results[index];
  results[index] = NARROW_TRY(insert_after(transpose_spec(graph, out, ".nhwc", to_last(graph.value(out).shape.size()))));
  return {};
}

// --- fused activations ---

FusedActivation fused_activation(const Node& node) {
  FusedActivation out;
  if (!node.attrs.has(kActivationKey)) return out;
  out.op = find_op(node.attrs.get_string(kActivationKey));
  NARROW_CHECK(out.op != nullptr && out.op->activation != nullptr, "activation of '{}'", node.name);
  for (const auto& [key, value] : node.attrs.all()) {
    if (key.starts_with(kActivationPrefix)) out.attrs.set(key.substr(kActivationPrefix.size()), value);
  }
  return out;
}

bool FusedActivation::is_clamp() const { return op == nullptr || op->activation->clamp != nullptr; }

std::pair<double, double> FusedActivation::clamp() const {
  if (op != nullptr && op->activation->clamp != nullptr) return op->activation->clamp(attrs);
  return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
}

void set_fused_activation(Graph& graph, NodeId node, const Node& activation) {
  Attrs& attrs = graph.attrs(node);
  attrs.set(std::string(kActivationKey), Attr(activation.op));
  for (const auto& [key, value] : activation.attrs.all()) attrs.set(std::string(kActivationPrefix) + key, value);
}

void clear_fused_activation(Graph& graph, NodeId node) {
  Attrs& attrs = graph.attrs(node);
  std::vector<std::string> keys;
  for (const auto& [key, value] : attrs.all()) {
    if (key == kActivationKey || key.starts_with(kActivationPrefix)) keys.push_back(key);
  }
  for (const std::string& key : keys) attrs.erase(key);
}

void apply_fused_activation(const Node& node, Tensor& values) {
  const FusedActivation activation = fused_activation(node);
  if (activation.op == nullptr) return;
  float* x = values.data<float>();
  const std::int64_t n = values.elements();
  if (activation.is_clamp()) {
    const auto [low, high] = activation.clamp();
    const auto lo = static_cast<float>(low), hi = static_cast<float>(high);
    for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] < lo ? lo : (x[i] > hi ? hi : x[i]);
    return;
  }
  constexpr std::int64_t kChunk = 4096;
  parallel_for((n + kChunk - 1) / kChunk, [&](std::int64_t chunk) {
    const std::int64_t end = std::min(n, (chunk + 1) * kChunk);
    if (activation.op->activation->apply_array != nullptr) {
      activation.op->activation->apply_array(x + chunk * kChunk, end - chunk * kChunk, activation.attrs);
    } else {
      for (std::int64_t i = chunk * kChunk; i < end; ++i) x[i] = activation.apply(x[i]);
    }
  });
}

// --- permutation ---

Tensor transposed(const Tensor& tensor, const std::vector<int>& perm) {
  Shape shape;
  for (const int p : perm) shape.push_back(tensor.shape()[static_cast<std::size_t>(p)]);
  Tensor out(tensor.dtype(), shape);
  transpose(tensor.raw(), tensor.shape(), perm, size_of(tensor.dtype()), out.raw());
  return out;
}

bool permute_elementwise(Graph& graph, NodeId id, const std::vector<int>& perm) {
  const Node& node = graph.node(id);
  const std::size_t rank = graph.value(node.outputs[0]).shape.size();
  if (rank != perm.size()) return false;
  for (const ValueId in : node.inputs) {
    if (in && !graph.value(in).is_constant() && graph.value(in).shape.size() != rank) return false;
  }
  for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
    const ValueId in = graph.node(id).inputs[slot];
    if (!in || !graph.value(in).is_constant() || graph.value(in).constant.elements() == 1) continue;
    Shape full(rank - graph.value(in).shape.size(), 1);
    full.insert(full.end(), graph.value(in).shape.begin(), graph.value(in).shape.end());
    // old = Transpose(new, perm), so new = Transpose(old, inverse).
    std::vector<int> inverse(perm.size());
    for (std::size_t i = 0; i < perm.size(); ++i) inverse[static_cast<std::size_t>(perm[i])] = static_cast<int>(i);
    Tensor moved = transposed(graph.value(in).constant.reshaped(full), inverse);
    graph.set_input(id, slot, graph.add_constant(graph.value(in).name, std::move(moved)));
  }
  return true;
}

// --- lowered nodes ---

std::vector<Rescale> read_rescales(const RunContext& ctx, std::size_t first_slot) {
  const Tensor& multiplier = ctx.inputs[first_slot];
  const Tensor& shift = ctx.inputs[first_slot + 1];
  std::vector<Rescale> out(static_cast<std::size_t>(multiplier.elements()));
  for (std::size_t c = 0; c < out.size(); ++c) {
    out[c] = {multiplier.data<std::int32_t>()[c], shift.data<std::int32_t>()[c], ctx.has_input(first_slot + 2) ? ctx.inputs[first_slot + 2].data<float>()[c] : 0.0F};
  }
  return out;
}

Rounding rounding_of(const Node& node) {
  const std::string text = node.attrs.get_string("rounding", "single_round");
  for (const Rounding mode : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
    if (text == name_of(mode)) return mode;
  }
  NARROW_CHECK(false, "rounding '{}' of '{}'", text, node.name);
}

}  // namespace narrow
