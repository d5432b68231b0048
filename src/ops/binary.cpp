#include "ops/binary.h"

namespace narrow {

Result<std::vector<TensorType>> infer_binary(const Graph& graph, const Node& node) {
  NARROW_TRY(expect_inputs(node, 2));
  const Value &a = graph.value(node.inputs[0]), &b = graph.value(node.inputs[1]);
  if (a.dtype != b.dtype) return error("operands are {} and {}, wanted one element type", name_of(a.dtype), name_of(b.dtype));
  return std::vector<TensorType>{{a.dtype, NARROW_TRY(broadcast(a.shape, b.shape))}};
}

QuantRule binary_rule(const Graph& graph, const Node& node) {
  if (graph.value(node.inputs[0]).dtype != DType::kF32) return {.unquantized = "its element type is not f32"};
  return {};
}

BroadcastLoop broadcast_loop(const Shape& a, const Shape& b, const Shape& y) {
  const std::vector<std::int64_t> sa = broadcast_strides(a, y), sb = broadcast_strides(b, y);
  // Axes from the innermost outwards; one is merged into the previous when both operands step through it evenly.
  std::vector<std::int64_t> extents, as, bs;
  for (std::size_t d = y.size(); d-- > 0;) {
    if (y[d] == 1) continue;
    if (!extents.empty() && sa[d] == as.back() * extents.back() && sb[d] == bs.back() * extents.back()) {
      extents.back() *= y[d];
    } else {
      extents.push_back(y[d]);
      as.push_back(sa[d]);
      bs.push_back(sb[d]);
    }
  }
  BroadcastLoop loop;
  if (extents.empty()) return loop;
  loop.count = extents.front();
  loop.a_step = static_cast<int>(as.front());
  loop.b_step = static_cast<int>(bs.front());
  loop.extents.assign(extents.rbegin(), extents.rend() - 1);
  loop.a.assign(as.rbegin(), as.rend() - 1);
  loop.b.assign(bs.rbegin(), bs.rend() - 1);
  return loop;
}

std::optional<ConstantOperand> constant_operand(const Graph& graph, const Node& node) {
  const Value &a = graph.value(node.inputs[0]), &b = graph.value(node.inputs[1]);
  if (a.is_constant() == b.is_constant() || a.dtype != DType::kF32) return std::nullopt;
  ConstantOperand out;
  out.slot = a.is_constant() ? 0 : 1;
  const Value &constant = a.is_constant() ? a : b, &data = a.is_constant() ? b : a;
  if (graph.value(node.outputs[0]).shape != data.shape) return std::nullopt;
  const std::size_t missing = data.shape.size() - constant.shape.size();
  for (std::size_t d = 0; d < constant.shape.size(); ++d) {
    if (constant.shape[d] == 1) continue;
    if (out.axis >= 0) return std::nullopt;
    out.axis = static_cast<int>(missing + d);
  }
  const auto values = constant.constant.span<float>();
  out.values.assign(values.begin(), values.end());
  return out;
}

}  // namespace narrow
