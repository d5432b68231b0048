// LayerNormalization before operator set 17, by whatever exporter: found by evaluating the sub-graph on one row. It divides in any
// case; quantized piece by piece, its squares would also need far more than 8 bits where rows differ in size.
#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/op_def.h"
#include "ops/recognize.h"
#include "ops/reduction.h"
#include "ops/subgraph.h"

namespace narrow {
namespace {

constexpr int kMaxNodes = 14;         // with mean and deviation folded into scale and shift, as TensorFlow has it, there are 11
constexpr double kTolerance = 1e-4;   // of the largest value: what evaluation in float leaves
constexpr const char* kOp = "LayerNormalization";

bool is_reduction(const Node& node) { return op_of(node).permute == permute_reduction; }

bool is_part(const Graph&, const Node& node) {
  if (node.outputs.size() != 1 || fused_activation(node).op != nullptr) return false;
  return op_of(node).permute == permute_elementwise || is_reduction(node) || node.op == kOp;
}
bool is_real_constant(const Value& value) { return value.is_constant() && value.dtype == DType::kF32; }

constexpr Parts kParts{.most = kMaxNodes, .node = is_part, .constant = is_real_constant};

// The first of the trailing axes over which all of them normalize; -1 when they differ, or nothing is normalized.
std::int64_t common_axis(const Graph& graph, const std::vector<NodeId>& nodes, std::size_t rank) {
  std::int64_t axis = -1;
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    std::int64_t first = -1;
    if (is_reduction(node)) {
      const auto axes = node.attrs.get_ints("axes");
      if (axes.empty() || graph.value(node.inputs[0]).shape.size() != rank) return -1;
      first = axes[0];
      if (axes.back() + 1 != static_cast<std::int64_t>(rank) || axes.back() - first + 1 != static_cast<std::int64_t>(axes.size())) return -1;
    } else if (node.op == kOp) {
      first = node.attrs.get_int("axis");
    } else {
      continue;
    }
    if (axis >= 0 && axis != first) return -1;
    axis = first;
  }
  return axis;
}

// The epsilon is one of the numbers of the sub-graph.
std::vector<double> epsilons(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<double> out;
  for (const NodeId id : nodes) {
    if (graph.node(id).op == kOp) out.push_back(graph.node(id).attrs.get_float("epsilon"));
    for (const ValueId in : graph.node(id).inputs) {
      if (!in || !graph.value(in).is_constant() || graph.value(in).constant.elements() != 1) continue;
      const auto value = static_cast<double>(graph.value(in).constant.data<float>()[0]);
      if (value > 0 && value < 1) out.push_back(value);
    }
  }
  return out;
}

// A sub-graph as a function of one row.
class RowFunction {
 public:
  RowFunction(const Graph& graph, const std::vector<NodeId>& nodes, ValueId x, std::int64_t axis)
      : graph_(graph), nodes_(nodes), x_(x), row_axes_(graph.value(x).shape.size() - static_cast<std::size_t>(axis)), row_(row_of(graph.value(x))) {}

  // Rows do not differ in what is done to them.
  bool is_one() const {
    for (const NodeId id : nodes_) {
      for (const ValueId in : graph_.node(id).inputs) {
        if (in && graph_.value(in).is_constant() && row_of(graph_.value(in)) != graph_.value(in).shape) return false;
      }
    }
    return true;
  }
  // A limit or a bend would show only on rows that reach it: just the mean and the deviation may have some.
  bool is_arithmetic() const {
    return std::all_of(nodes_.begin(), nodes_.end(), [&](NodeId id) {
      const Node& node = graph_.node(id);
      const bool exact = op_of(node).affine != nullptr || is_reduction(node) || node.op == "Div" || node.op == "Neg" || node.op == "Pow" || node.op == kOp;
      return exact || element_count(row_of(graph_.value(node.outputs[0]))) == 1;
    });
  }
  std::vector<float> operator()(const std::vector<float>& row) const {
    const Tensor y = evaluate(graph_, nodes_, x_, Tensor::of(row_, row), [this](const Value& v) { return row_of(v); });
    return {y.data<float>(), y.data<float>() + y.elements()};
  }
  std::int64_t length() const { return element_count(row_); }
  Shape row_axes() const { return {row_.end() - static_cast<std::ptrdiff_t>(row_axes_), row_.end()}; }

 private:
  Shape row_of(const Value& v) const {
    Shape shape = v.shape;
    for (std::size_t i = 0; i + row_axes_ < shape.size(); ++i) shape[i] = 1;
    return shape;
  }

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  const ValueId x_;
  const std::size_t row_axes_;
  const Shape row_;
};

std::vector<double> normalized(const std::vector<float>& row, double epsilon) {
  const auto n = static_cast<double>(row.size());
  double mean = 0, squares = 0;
  for (const float x : row) mean += static_cast<double>(x) / n;
  for (const float x : row) squares += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
  std::vector<double> out;
  for (const float x : row) out.push_back((static_cast<double>(x) - mean) / std::sqrt(squares / n + epsilon));
  return out;
}

struct Normalization {
  std::vector<float> scale, bias;
  double epsilon = 0;
};

bool agrees(const RowFunction& f, const Normalization& norm) {
  std::uint32_t state = 1;
  for (const auto& [size, mean] : {std::pair{1.0F, 0.0F}, std::pair{0.003F, 0.001F}, std::pair{30.0F, -10.0F}}) {
    std::vector<float> row(norm.scale.size());
    for (float& x : row) {
      state = state * 1664525U + 1013904223U;
      x = mean + size * (static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1);
    }
    const std::vector<float> found = f(row);
    const std::vector<double> normal = normalized(row, norm.epsilon);
    double largest = 0, worst = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double want = normal[i] * static_cast<double>(norm.scale[i]) + static_cast<double>(norm.bias[i]), error = std::abs(static_cast<double>(found[i]) - want);
      largest = std::max(largest, std::abs(want));
      worst = std::isfinite(error) ? std::max(worst, error) : std::numeric_limits<double>::infinity();
    }
    if (!(worst <= kTolerance * largest)) return false;
  }
  return true;
}

std::optional<Normalization> normalization(const RowFunction& f, const std::vector<double>& epsilons) {
  // A row of zeros leaves the bias; one of large values, beside which the epsilon is nothing, the scale.
  std::vector<float> row(static_cast<std::size_t>(f.length()));
  Normalization out{.scale = {}, .bias = f(row)};
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = i % 2 == 0 ? 1000.0F : -1000.0F;
  const std::vector<float> y = f(row);
  const std::vector<double> normal = normalized(row, 0);
  for (std::size_t i = 0; i < row.size(); ++i) out.scale.push_back(static_cast<float>((static_cast<double>(y[i]) - static_cast<double>(out.bias[i])) / normal[i]));
  for (const double epsilon : epsilons) {
    out.epsilon = epsilon;
    if (agrees(f, out)) return out;
  }
  return std::nullopt;
}

}  // namespace

bool recognize_normalization(Graph& graph, NodeId end) {
  const Value& y = graph.value(graph.node(end).outputs[0]);
  if (y.dtype != DType::kF32) return false;
  for (const ValueId x : possible_sources(graph, end, kParts)) {
    const std::vector<NodeId> nodes = nodes_between(graph, x, end, kParts);
    const std::int64_t axis = common_axis(graph, nodes, y.shape.size());
    if (nodes.size() < 2 || axis < 0) continue;
    const RowFunction f(graph, nodes, x, axis);
    if (f.length() < 2 || !f.is_one() || !f.is_arithmetic()) continue;
    const auto found = normalization(f, epsilons(graph, nodes));
    if (!found) continue;
    const std::string name = graph.node(end).name;
    std::vector<ValueId> inputs{x, graph.add_constant(name + ".scale", Tensor::of(f.row_axes(), found->scale))};
    if (std::any_of(found->bias.begin(), found->bias.end(), [](float b) { return b != 0; })) inputs.push_back(graph.add_constant(name + ".bias", Tensor::of(f.row_axes(), found->bias)));
    Attrs attrs;
    attrs.set("axis", axis);
    attrs.set("epsilon", Attr(found->epsilon));
    become(graph, nodes, kOp, std::move(inputs), std::move(attrs));
    return true;
  }
  return false;
}

}  // namespace narrow
