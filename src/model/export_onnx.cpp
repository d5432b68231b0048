#include "model/export_onnx.h"

#include <algorithm>

#include "base/file.h"
#include "model/onnx_proto.h"
#include "ops/layout.h"
#include "ops/op_def.h"
#include "passes/passes.h"

namespace narrow {
namespace {

constexpr std::string_view kQuantize = "QuantizeLinear", kDequantize = "DequantizeLinear";
constexpr int kDefaultOpset = 13, kOpsetOf16Bits = 21;

// The readers of a value, so that they can be led to another one after nodes have been put behind it.
class Readers {
 public:
  Readers(const Graph& graph, ValueId value) : value_(value), name_(graph.value(value).name) {
    for (const NodeId user : graph.value(value).users) {
      for (std::size_t slot = 0; slot < graph.node(user).inputs.size(); ++slot) {
        if (graph.node(user).inputs[slot] == value) slots_.emplace_back(user, slot);
      }
    }
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
      if (graph.outputs()[i] == value) outputs_.push_back(i);
    }
  }
  // They read `to` from now on, which takes the name; the old value gets a suffix.
  void lead_to(Graph& graph, ValueId to, const std::string& suffix) const {
    for (const auto& [user, slot] : slots_) graph.set_input(user, slot, to);
    for (const std::size_t i : outputs_) graph.set_output(i, to);
    graph.rename(value_, name_ + suffix);
    graph.rename(to, name_);
  }

 private:
  ValueId value_;
  std::string name_;
  std::vector<std::pair<NodeId, std::size_t>> slots_;
  std::vector<std::size_t> outputs_;
};

// Does every reader of `value` quantize it to a grid on which the clamp changes nothing?
bool clamp_is_implied(const Graph& graph, ValueId value, std::pair<double, double> clamp) {
  if (graph.is_output(value) || graph.value(value).users.empty()) return false;
  for (const NodeId user : graph.value(value).users) {
    const Node& node = graph.node(user);
    if (node.op != kQuantize || node.inputs.size() < 3 || graph.value(node.inputs[1]).constant.elements() != 1) return false;
    const Tensor& zero = graph.value(node.inputs[2]).constant;
    const QuantParams grid = QuantParams::per_tensor(zero.dtype(), graph.value(node.inputs[1]).constant.data<float>()[0], static_cast<std::int32_t>(zero.to_ints()[0]));
    const auto code = [&](double x) { return quantize(static_cast<float>(x), grid.scale[0], grid.zero_point[0], static_cast<std::int32_t>(grid.qmin()), static_cast<std::int32_t>(grid.qmax())); };
    if (code(clamp.first) != grid.qmin() || code(clamp.second) != grid.qmax()) return false;
  }
  return true;
}

Status unfuse_activation(Graph& graph, NodeId id, const ExportOptions& options) {
  const FusedActivation activation = fused_activation(graph.node(id));
  if (activation.op == nullptr) return {};
  clear_fused_activation(graph, id);
  const ValueId y = graph.node(id).outputs[0];
  if (options.drop_implied_clamps && activation.is_clamp() && clamp_is_implied(graph, y, activation.clamp())) return {};
  const Readers readers(graph, y);
  NodeSpec spec{.name = graph.node(id).name + ".activation", .op = std::string(activation.op->name), .inputs = {y}, .attrs = activation.attrs, .origin = graph.node(id).origin};
  const NodeId act = graph.insert_after(id, std::move(spec));
  NARROW_TRY(infer_node(graph, act));
  readers.lead_to(graph, graph.node(act).outputs[0], ".linear");
  return {};
}

// Brings one node to ONNX form.
Status denormalize(Graph& graph, NodeId id, int opset) {
  const OpDef& op = op_of(graph.node(id));
  const std::string label = fmt::format("node '{}' ({})", graph.node(id).name, op.name);
  if (op.denormalize == nullptr) {
    const bool known = op.onnx || op.name == kQuantize || op.name == kDequantize;
    if (!known) return error("{} has no ONNX form", label).with_help("integer networks are exported from their plan, as QDQ");
    return {};
  }
  const std::vector<ValueId> outputs = graph.node(id).outputs;
  std::vector<Readers> readers;
  for (const ValueId out : outputs) readers.emplace_back(graph, out);
  RewriteContext context(graph, id, opset);
  auto status = op.denormalize(context);
  if (!status) return tl::unexpected<Error>(std::move(status.error()).in(label));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (context.results[i] != outputs[i]) readers[i].lead_to(graph, context.results[i], ".inner");
  }
  return {};
}

bool uses_16_bits(const Graph& graph) {
  const auto ids = graph.live_values();
  return std::any_of(ids.begin(), ids.end(), [&](ValueId id) { return graph.value(id).dtype == DType::kI16 || graph.value(id).dtype == DType::kU16; });
}

int needed_opset(const Graph& graph) {
  int opset = uses_16_bits(graph) ? kOpsetOf16Bits : kDefaultOpset;
  for (const NodeId id : graph.order()) {
    const OpDef& op = op_of(graph.node(id));
    if (op.denormalize == nullptr) opset = std::max(opset, op.since_opset);  // it is written as it is
    if (op.export_opset != nullptr) opset = std::max(opset, op.export_opset(graph.node(id)));
  }
  return opset;
}

// A Transposed copy that took over the name of a value, while the value itself is what the original model called so.
void prefer_inner_names(Graph& graph) {
  for (const NodeId id : graph.order()) {
    if (!permutation_of(graph.node(id))) continue;
    const ValueId inner = graph.node(id).inputs[0], outer = graph.node(id).outputs[0];
    const std::string name = graph.value(outer).name;
    if (graph.is_output(outer) || graph.is_input(inner) || graph.is_output(inner) || graph.value(inner).name != name + ".inner") continue;
    graph.rename(outer, name + layout_suffix(*permutation_of(graph.node(id))));
    graph.rename(inner, name);
  }
}

OnnxValueInfo info_of(const Value& value) {
  OnnxValueInfo info{.name = value.name, .dtype = value.dtype, .type_name = {}, .shape = std::vector<OnnxDimension>{}};
  for (const std::int64_t extent : value.shape) info.shape->push_back({extent, {}});
  return info;
}

OnnxModel to_model(const Graph& graph, int opset) {
  OnnxModel model{.graph_name = graph.name, .ir_version = opset > 20 ? 10 : opset > 18 ? 9 : 8, .opsets = {{"", opset}}, .nodes = {}, .initializers = {}, .inputs = {}, .outputs = {}};
  for (const ValueId id : graph.inputs()) model.inputs.push_back(info_of(graph.value(id)));
  for (const ValueId id : graph.outputs()) model.outputs.push_back(info_of(graph.value(id)));
  for (const ValueId id : graph.live_values()) {
    if (graph.value(id).is_constant()) model.initializers.push_back({graph.value(id).name, graph.value(id).constant});
  }
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    OnnxNode out{.name = node.name, .op = node.op, .domain = {}, .inputs = {}, .outputs = {}, .attributes = {}};
    for (const ValueId in : node.inputs) out.inputs.push_back(in ? graph.value(in).name : std::string());
    for (const ValueId value : node.outputs) out.outputs.push_back(graph.value(value).name);
    for (const auto& [key, attr] : node.attrs.all()) {
      std::visit([&, name = key](const auto& x) { out.attributes.push_back({name, x}); }, attr);
    }
    model.nodes.push_back(std::move(out));
  }
  return model;
}

}  // namespace

Result<std::string> onnx_bytes(const Graph& source, const ExportOptions& options) {
  Graph graph = source;
  const int opset = options.opset != 0 ? options.opset : needed_opset(graph);
  std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) NARROW_TRY(unfuse_activation(graph, id, options));

  // First what brings Transposes along; the others are still in the internal form when those move through them.
  for (const NodeId id : order) {
    if (op_of(graph.node(id)).channels_last) NARROW_TRY(denormalize(graph, id, opset));
  }
  while (sink_transposes(graph) > 0) {
  }
  order.assign(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) {
    if (!op_of(graph.node(id)).channels_last) NARROW_TRY(denormalize(graph, id, opset));
  }
  graph.remove_dead();
  prefer_inner_names(graph);
  NARROW_TRY(graph.verify());
  return write_onnx(to_model(graph, opset), options.producer_version);
}

Status export_onnx(const Graph& graph, const std::string& path, const ExportOptions& options) {
  return write_file(path, NARROW_TRY(onnx_bytes(graph, options)));
}

}  // namespace narrow
