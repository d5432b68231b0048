#include "ops/recognize.h"

#include <cmath>

#include "ops/op_def.h"
#include "ops/subgraph.h"

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

constexpr float kFar = 40;  // where every candidate is straight

// Where functions are compared: both tails, both kinks of the hard ones, and the curved middle. Far out, a limit would show.
std::vector<float> sample_points() {
  std::vector<float> out;
  for (int i = -80; i <= 80; ++i) out.push_back(static_cast<float>(i) * 0.1F + 0.013F);
  for (const float x : {12.0F, 20.0F, kFar, 1e2F, 1e3F, 1e4F}) out.insert(out.end(), {-x, x});
  return out;
}

bool is_elementwise(const Graph&, const Node& node) { return op_of(node).permute == permute_elementwise && node.outputs.size() == 1 && fused_activation(node).op == nullptr; }
bool is_number(const Value& value) { return value.is_constant() && value.dtype == DType::kF32 && value.constant.elements() == 1; }

constexpr Parts kParts{.most = kMaxNodes, .node = is_elementwise, .constant = is_number};

bool same_function(const Tensor& points, const Tensor& values, const ActivationDef& f, const Attrs& attrs) {
  // Tight enough to tell the two GELUs apart (they differ by up to 4.7e-4), wide enough for constants like 0.16667.
  for (std::int64_t i = 0; i < points.elements(); ++i) {
    const float x = points.data<float>()[i], want = f.apply(x, attrs), found = values.data<float>()[i];
    if (std::abs(x) > kFar && !std::isfinite(found)) continue;  // exponentials overflow there
    if (!(std::abs(want - found) <= 3e-5F * std::max(1.0F, std::abs(want)))) return false;
  }
  return true;
}

}  // namespace

bool recognize_composite(Graph& graph, NodeId end) { return recognize_activation(graph, end) || recognize_normalization(graph, end); }

bool recognize_activation(Graph& graph, NodeId end) {
  if (graph.value(graph.node(end).outputs[0]).dtype != DType::kF32) return false;
  static const std::vector<float> kPoints = sample_points();
  const Tensor points = Tensor::of<float>({static_cast<std::int64_t>(kPoints.size())}, kPoints);
  const auto shape_of = [&](const Value& v) { return v.is_constant() ? Shape{1} : points.shape(); };
  for (const ValueId x : possible_sources(graph, end, kParts)) {
    const std::vector<NodeId> nodes = nodes_between(graph, x, end, kParts);
    if (nodes.size() < 2) continue;
    const Tensor values = evaluate(graph, nodes, x, points, shape_of);
    for (const Candidate& candidate : candidates()) {
      Attrs attrs;
      for (const auto& [key, value] : candidate.attrs) attrs.set(key, value);
      if (!same_function(points, values, *find_op(candidate.op)->activation, attrs)) continue;
      become(graph, nodes, candidate.op, {x}, std::move(attrs));
      return true;
    }
  }
  return false;
}

}  // namespace narrow
