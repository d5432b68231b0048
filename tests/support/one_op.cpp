#include "one_op.h"

#include <algorithm>
#include <cmath>

#include "lower/lower.h"
#include "ops/verify_network.h"
#include "run/executor.h"

namespace narrow::test {
namespace {

std::vector<ValueId> add_operands(Graph& graph, const std::vector<Operand>& operands) {
  std::vector<ValueId> ids;
  for (const Operand& o : operands) {
    const std::string name = "x" + std::to_string(ids.size());
    ids.push_back(!o.tensor.has_data() ? ValueId{} : o.constant ? graph.add_constant(name, o.tensor) : graph.add_input(name, o.tensor.dtype(), o.tensor.shape()));
  }
  return ids;
}

const Node& the_node(const Graph& graph) { return graph.node(graph.order()[0]); }

// The constants of the node as the integer network sees them.
Graph with_dequantized_constants(const Graph& graph, const Plan& plan) {
  Graph out = graph;
  const Node& node = the_node(graph);
  for (const ConstantPlan& c : plan.constants) {
    const ValueId id = node.inputs[static_cast<std::size_t>(c.slot)];
    out.set_constant(id, dequantize(quantize(graph.value(id).constant, c.params), c.params));
  }
  return out;
}

}  // namespace

Graph one_op(const std::string& op, Attrs attrs, const std::vector<Operand>& operands) {
  Graph graph;
  std::vector<ValueId> ids = add_operands(graph, operands);
  graph.add_output(must(append_inferred(graph, {.name = "y", .op = op, .inputs = std::move(ids), .attrs = std::move(attrs)})));
  must(graph.verify());
  return graph;
}

Result<Graph> normalized_op(const std::string& op, Attrs attrs, const std::vector<Operand>& operands, int opset) {
  Graph graph;
  std::vector<ValueId> ids = add_operands(graph, operands);
  const NodeId node = graph.append({.name = "y", .op = op, .inputs = std::move(ids), .attrs = std::move(attrs)});
  RewriteContext ctx(graph, node, opset);
  NARROW_TRY(find_op(op)->normalize(ctx));
  NARROW_TRY(ctx.infer());
  graph.add_output(ctx.results[0]);
  graph.remove_dead();
  NARROW_TRY(graph.verify());
  return graph;
}

Status rewrite_all(Graph& graph, Status (*OpDef::*hook)(RewriteContext&), int opset) {
  const std::vector<NodeId> order(graph.order().begin(), graph.order().end());
  for (const NodeId id : order) {
    const OpDef& op = op_of(graph.node(id));
    if (op.*hook == nullptr) continue;
    const auto first_new = static_cast<std::uint32_t>(graph.node_slots());
    RewriteContext ctx(graph, id, opset);
    NARROW_TRY((op.*hook)(ctx));
    const ValueId from = graph.node(id).outputs[0], to = ctx.results[0];
    if (from == to) continue;
    const std::vector<NodeId> users = graph.value(from).users;
    for (const NodeId user : users) {
      for (std::size_t slot = 0; user.index < first_new && slot < graph.node(user).inputs.size(); ++slot) {
        if (graph.node(user).inputs[slot] == from) graph.set_input(user, slot, to);
      }
    }
    for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
      if (graph.outputs()[i] == from) graph.set_output(i, to);
    }
  }
  graph.remove_dead();
  return graph.verify();
}

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.order()) names.push_back(graph.node(id).op);
  return names;
}

Tensor run(const Graph& graph, const std::vector<Tensor>& inputs, bool normative) {
  Executor executor(graph, {.normative = normative});
  return must(executor.run(inputs))[0];
}

Plan plan_of(const Graph& graph, const std::vector<QuantParams>& inputs, const QuantParams& output) {
  const Node& node = the_node(graph);
  const QuantRule rule = op_of(node).quant_rule(graph, node);
  Plan plan;
  plan.graph_hash = graph.hash();
  plan.target = "test";
  std::size_t next = 0;
  std::vector<bool> is_parameter(node.inputs.size(), false);
  for (const QuantRule::Weight& w : rule.weights) {
    is_parameter[static_cast<std::size_t>(w.input)] = true;
    const Tensor& t = graph.value(node.inputs[static_cast<std::size_t>(w.input)]).constant;
    const auto axis = static_cast<std::size_t>(w.channel_axis);
    std::int64_t inner = 1;
    for (std::size_t i = axis + 1; i < t.shape().size(); ++i) inner *= t.shape()[i];
    QuantParams params{.dtype = DType::kI8, .scale = std::vector<float>(static_cast<std::size_t>(t.shape()[axis]), 1e-6F), .zero_point = std::vector<std::int32_t>(static_cast<std::size_t>(t.shape()[axis]), 0), .axis = w.channel_axis, .narrow_range = true};
    for (std::int64_t i = 0; i < t.elements(); ++i) {
      float& s = params.scale[static_cast<std::size_t>(i / inner % t.shape()[axis])];
      s = std::max(s, std::abs(t.data<float>()[i]) / 127.0F);
    }
    plan.constants.push_back({.node = node.name, .slot = w.input, .params = params, .decided_by = "test"});
  }
  for (const QuantRule::Derived& d : rule.derived) {
    is_parameter[static_cast<std::size_t>(d.input)] = true;
    QuantParams params = plan.constants[0].params;
    params.dtype = size_of(inputs[0].dtype) == 2 ? DType::kI64 : DType::kI32;
    params.axis = 0;
    params.narrow_range = false;
    for (float& s : params.scale) s *= inputs[0].scale[0];
    plan.constants.push_back({.node = node.name, .slot = d.input, .params = params, .decided_by = "test"});
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] && !is_parameter[i] && graph.value(node.inputs[i]).dtype == DType::kF32) {
      plan.activations.push_back({.value = graph.value(node.inputs[i]).name, .params = inputs.at(next++), .decided_by = "test"});
    }
  }
  plan.activations.push_back({.value = graph.value(node.outputs[0]).name, .params = output, .decided_by = "test"});
  return plan;
}

Lowered run_lowered(const Graph& graph, const Plan& plan, const ArithmeticProfile& profile, const std::vector<Tensor>& inputs, bool normative) {
  Target target;
  target.name = "test";
  target.arithmetic = profile;
  Lowered out{must(lower(graph, plan, target)), {}};
  must(verify_network(out.graph));  // as the reader of an artifact does
  Executor executor(out.graph, {.normative = normative});
  std::vector<Tensor> fed;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& v = out.graph.value(out.graph.inputs()[i]);
    fed.push_back(v.quant ? quantize(inputs[i], *v.quant) : inputs[i]);
  }
  out.codes = must(executor.run(fed))[0];
  return out;
}

double steps_from_exact(const Graph& graph, const Plan& plan, const std::vector<Tensor>& inputs, const Lowered& lowered) {
  std::vector<Tensor> seen;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const QuantParams& p = plan.activation(graph.value(graph.inputs()[i]).name)->params;
    seen.push_back(dequantize(quantize(inputs[i], p), p));
  }
  const Tensor real = run(with_dequantized_constants(graph, plan), seen);
  const QuantParams& grid = *lowered.graph.value(lowered.graph.outputs()[0]).quant;
  const Tensor codes = lowered.codes.cast(DType::kI32);
  double worst = 0;
  for (std::int64_t i = 0; i < codes.elements(); ++i) {
    const double exact = static_cast<double>(real.data<float>()[i]) / static_cast<double>(grid.scale[0]) + grid.zero_point[0];
    const double clamped = std::clamp(exact, static_cast<double>(grid.qmin()), static_cast<double>(grid.qmax()));
    worst = std::max(worst, std::abs(clamped - codes.data<std::int32_t>()[i]));
  }
  return worst;
}

}  // namespace narrow::test
