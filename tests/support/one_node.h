// For the tests of operators: graphs of one node, run, normalised from ONNX form, or lowered to integers.
#pragma once

#include <map>

#include "ops/lower_context.h"
#include "ops/op_def.h"
#include "run/executor.h"
#include "support.h"

namespace narrow::test {

inline Attrs make_attrs(std::initializer_list<std::pair<const char*, Attr>> entries) {
  Attrs attrs;
  for (const auto& [key, value] : entries) attrs.set(key, value);
  return attrs;
}

// An input of the node: computed (a graph input, fed with the tensor) or constant, or absent.
struct In {
  Tensor tensor;
  bool constant = false;
};
inline In fed(Tensor t) { return {std::move(t), false}; }
inline In constant(Tensor t) { return {std::move(t), true}; }
template <typename T = std::int64_t>
In ints(const std::vector<T>& values) { return constant(Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values)); }

struct OneNode {
  Graph graph;
  NodeId node;
  std::vector<Tensor> feed;  // per graph input

  OneNode(const std::string& op, const std::vector<In>& inputs, Attrs attrs = {}, std::size_t outputs = 1) {
    NodeSpec spec{.name = "node", .op = op, .attrs = std::move(attrs)};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& t = inputs[i].tensor;
      const std::string name = "in" + std::to_string(i);
      if (!t.has_data()) {
        spec.inputs.push_back(ValueId{});
      } else if (inputs[i].constant) {
        spec.inputs.push_back(graph.add_constant(name, t));
      } else {
        spec.inputs.push_back(graph.add_input(name, t.dtype(), t.shape()));
        feed.push_back(t);
      }
    }
    for (std::size_t i = 0; i < outputs; ++i) spec.output_names.push_back("out" + std::to_string(i));
    node = graph.append(std::move(spec));
  }

  // From ONNX form of `opset` to internal form; the results become the graph's outputs.
  Status normalize(int opset = 13) {
    RewriteContext ctx(graph, node, opset);
    const OpDef& op = op_of(graph.node(node));
    if (op.normalize != nullptr) NARROW_TRY(op.normalize(ctx));
    const std::vector<ValueId> results = ctx.results;
    if (results[0] == graph.node(node).outputs[0]) NARROW_TRY(infer_node(graph, node));
    for (const ValueId r : results) graph.add_output(r);
    graph.remove_dead();
    return graph.verify();
  }
  std::vector<Tensor> run() {
    if (graph.outputs().empty()) {
      must(infer_node(graph, node));
      for (const ValueId out : graph.node(node).outputs) graph.add_output(out);
    }
    Executor executor(graph);
    return must(executor.run(feed));
  }
};

// Runs a node that is already in internal form.
inline Tensor run_node(const std::string& op, const std::vector<In>& inputs, Attrs attrs = {}) { return OneNode(op, inputs, std::move(attrs)).run()[0]; }
// Normalises, then runs.
inline std::vector<Tensor> run_onnx(const std::string& op, const std::vector<In>& inputs, Attrs attrs = {}, int opset = 13, std::size_t outputs = 1) {
  OneNode one(op, inputs, std::move(attrs), outputs);
  must(one.normalize(opset));
  return one.run();
}

// Lowers one node of a float graph whose data inputs are all computed; grids are given instead of planned.
class OneLowering final : public LowerContext {
 public:
  OneLowering(const Graph& graph, NodeId node, std::vector<QuantParams> in, std::vector<QuantParams> out, ArithmeticProfile profile)
      : float_graph_(graph), id_(node), in_(std::move(in)), out_(std::move(out)), profile_(profile) {}

  Graph integers;

  const Graph& graph() const override { return float_graph_; }
  const Node& node() const override { return float_graph_.node(id_); }
  const ArithmeticProfile& profile() const override { return profile_; }
  const QuantParams& in(int slot) const override { return in_[static_cast<std::size_t>(slot)]; }
  const QuantParams& out(int slot) const override { return out_[static_cast<std::size_t>(slot)]; }
  ValueId input(int slot) override {
    const ValueId id = node().inputs[static_cast<std::size_t>(slot)];
    const Value& v = float_graph_.value(id);
    const auto found = inputs_.find(id);
    if (found != inputs_.end()) return found->second;
    const ValueId made = v.dtype != DType::kF32    ? integers.add_constant(v.name, v.constant)
                         : v.is_constant()         ? integers.add_constant(v.name, quantize(v.constant, in(slot)))
                                                   : integers.add_input(v.name, in(slot).dtype, v.shape);
    return inputs_[id] = made;
  }
  const QuantParams& weight_params(int slot) const override { return in(slot); }
  Tensor weight(int slot) const override { return quantize(float_graph_.value(node().inputs[static_cast<std::size_t>(slot)]).constant, in(slot)); }
  Tensor bias(int) const override { return {}; }
  ValueId constant(const std::string& suffix, Tensor tensor) override { return integers.add_constant(node().name + "." + suffix, std::move(tensor)); }
  Rescales rescales(const std::string& suffix, const std::vector<double>& real, const std::vector<float>& single) override {
    const auto n = static_cast<std::int64_t>(real.size());
    Tensor multiplier(DType::kI32, {n}), shift(DType::kI32, {n});
    for (std::size_t i = 0; i < real.size(); ++i) {
      const FixedPoint f = to_fixed_point(real[i]);
      multiplier.data<std::int32_t>()[i] = f.multiplier;
      shift.data<std::int32_t>()[i] = f.shift;
    }
    Rescales out{constant(suffix + ".multiplier", multiplier), constant(suffix + ".shift", shift), {}};
    if (profile_.rounding == Rounding::kFloatRne) out.scale = constant(suffix + ".scale", Tensor::of<float>({n}, single));
    return out;
  }
  ValueId emit(const std::string& suffix, NodeSpec spec, DType dtype, Shape shape, QuantParams params) override {
    spec.name = node().name + "." + suffix;
    spec.output_types = {{dtype, std::move(shape)}};
    spec.attrs.set("rounding", Attr(std::string(name_of(profile_.rounding))));
    const ValueId made = integers.node(integers.append(std::move(spec))).outputs[0];
    integers.set_quant(made, std::move(params));
    return made;
  }
  void emit_output(NodeSpec spec, int slot) override { integers.add_output(emit("y", std::move(spec), out(slot).dtype, output_shape(slot), out(slot))); }

  Tensor run(const std::vector<Tensor>& feed, bool normative) {
    must(integers.verify());
    for (const NodeId id : integers.order()) must(infer_node(integers, id));  // must agree with what lowering said
    Executor executor(integers, {.normative = normative});
    return must(executor.run(feed))[0];
  }

 private:
  const Graph& float_graph_;
  NodeId id_;
  std::vector<QuantParams> in_, out_;
  ArithmeticProfile profile_;
  std::map<ValueId, ValueId> inputs_;
};

}  // namespace narrow::test
