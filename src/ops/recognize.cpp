#include "ops/recognize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "ops/op_def.h"

namespace narrow {
namespace {

constexpr int kMaxNodes = 12;  // of a decomposed function: GELU by tanh has 8 or 9

struct Candidate {
  const char* op;
  std::vector<std::pair<const char*, Attr>> attrs;
};

const std::vector<Candidate>& candidates() {
  static const std::vector<Candidate> kAll = {
      {"SiLU", {}},
      {"HardSwish", {}},
      {"Gelu", {{"approximate", std::string("none")}}},
      {"Gelu", {{"approximate", std::string("tanh")}}},
      {"HardSigmoid", {{"alpha", 1.0 / 6}, {"beta", 0.5}}},
      {"Sigmoid", {}},
      {"Mish", {}},
  };
  return kAll;
}

// Where functions are compared: both tails, both kinks of the hard ones, and the curved middle.
std::vector<float> sample_points() {
  std::vector<float> out;
  for (int i = -80; i <= 80; ++i) out.push_back(static_cast<float>(i) * 0.1F + 0.013F);
  for (const float x : {-40.0F, -20.0F, -12.0F, 12.0F, 20.0F, 40.0F}) out.push_back(x);
  return out;
}

bool is_elementwise(const Node& node) { return op_of(node).permute == permute_elementwise && node.outputs.size() == 1 && fused_activation(node).op == nullptr; }
bool is_number(const Value& value) { return value.is_constant() && value.dtype == DType::kF32 && value.constant.elements() == 1; }

// Nodes between x and `end` (end last), when every path from `end` backwards stops at x or at a constant number.
bool collect(const Graph& graph, NodeId end, ValueId x, std::vector<NodeId>& out) {
  if (std::find(out.begin(), out.end(), end) != out.end()) return true;
  if (!is_elementwise(graph.node(end)) || static_cast<int>(out.size()) >= kMaxNodes) return false;
  for (const ValueId in : graph.node(end).inputs) {
    if (!in || in == x || is_number(graph.value(in))) continue;
    if (!graph.value(in).producer || !collect(graph, graph.value(in).producer, x, out)) return false;
  }
  out.push_back(end);
  return true;
}

// The inner values must not be needed elsewhere, or nothing would be gained.
bool is_closed(const Graph& graph, const std::vector<NodeId>& nodes) {
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    const ValueId out = graph.node(nodes[i]).outputs[0];
    if (graph.is_output(out)) return false;
    for (const NodeId user : graph.value(out).users) {
      if (std::find(nodes.begin(), nodes.end(), user) == nodes.end()) return false;
    }
  }
  return true;
}

Tensor evaluate(const Graph& graph, const std::vector<NodeId>& nodes, ValueId x, const Tensor& points) {
  std::map<ValueId, Tensor> values{{x, points}};
  Tensor last;
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    std::vector<Tensor> inputs;
    for (const ValueId in : node.inputs) {
      inputs.push_back(!in ? Tensor() : is_number(graph.value(in)) && in != x ? graph.value(in).constant.reshaped({1}) : values.at(in));
    }
    std::vector<Tensor> outputs{Tensor(DType::kF32, points.shape())};
    RunContext ctx{node, inputs, outputs};
    op_of(node).run(ctx);
    values[node.outputs[0]] = last = outputs[0];
  }
  return last;
}

bool same_function(const Tensor& points, const Tensor& values, const ActivationDef& f, const Attrs& attrs) {
  // Tight enough to tell the two GELUs apart (they differ by up to 4.7e-4), wide enough for constants like 0.16667.
  for (std::int64_t i = 0; i < points.elements(); ++i) {
    const float want = f.apply(points.data<float>()[i], attrs), found = values.data<float>()[i];
    if (!(std::abs(want - found) <= 3e-5F * std::max(1.0F, std::abs(want)))) return false;
  }
  return true;
}

}  // namespace

bool recognize_activation(Graph& graph, NodeId end) {
  if (graph.value(graph.node(end).outputs[0]).dtype != DType::kF32) return false;
  // Every value read within reach may be the x of the function; the farthest first, so that the longest pattern wins.
  std::vector<ValueId> reachable;
  std::vector<NodeId> frontier{end};
  for (std::size_t i = 0; i < frontier.size() && i < kMaxNodes; ++i) {
    if (!is_elementwise(graph.node(frontier[i]))) continue;
    for (const ValueId in : graph.node(frontier[i]).inputs) {
      if (!in || graph.value(in).is_constant()) continue;
      if (std::find(reachable.begin(), reachable.end(), in) == reachable.end()) reachable.push_back(in);
      const NodeId producer = graph.value(in).producer;
      if (producer && std::find(frontier.begin(), frontier.end(), producer) == frontier.end()) frontier.push_back(producer);
    }
  }
  static const std::vector<float> kPoints = sample_points();
  const Tensor points = Tensor::of<float>({static_cast<std::int64_t>(kPoints.size())}, kPoints);
  for (auto x = reachable.rbegin(); x != reachable.rend(); ++x) {
    std::vector<NodeId> nodes;
    if (graph.value(*x).shape != graph.value(graph.node(end).outputs[0]).shape) continue;
    if (!collect(graph, end, *x, nodes) || nodes.size() < 2 || !is_closed(graph, nodes)) continue;
    const Tensor values = evaluate(graph, nodes, *x, points);
    for (const Candidate& candidate : candidates()) {
      Attrs attrs;
      for (const auto& [key, value] : candidate.attrs) attrs.set(key, value);
      if (!same_function(points, values, *find_op(candidate.op)->activation, attrs)) continue;
      std::vector<std::string> origin;
      for (const NodeId id : nodes) origin.insert(origin.end(), graph.node(id).origin.begin(), graph.node(id).origin.end());
      graph.set_op(end, candidate.op);
      graph.set_inputs(end, {*x});
      graph.attrs(end) = attrs;
      graph.add_origin(end, origin);
      return true;
    }
  }
  return false;
}

}  // namespace narrow
