#include "plan/importance.h"

#include <algorithm>

namespace narrow {
namespace {

// Sums of squares of a weight by (output channel, input channel of the group), row-major.
std::vector<double> squared_kernels(const Tensor& weight, const LinearForm& form) {
  const Shape& shape = weight.shape();
  const std::vector<std::int64_t> strides = strides_of(shape);
  const auto out_axis = static_cast<std::size_t>(form.out_axis), in_axis = static_cast<std::size_t>(form.in_axis);
  const std::int64_t outputs = shape[out_axis], inputs = shape[in_axis];
  std::vector<double> sums(static_cast<std::size_t>(outputs * inputs));
  const float* w = weight.data<float>();
  const bool rows = out_axis == 0 && in_axis + 1 == shape.size();  // [O, ..., I]: whole rows of inputs
  for (std::int64_t i = 0, n = weight.elements(); i < n; i += rows ? inputs : 1) {
    const std::int64_t o = i / strides[out_axis] % outputs, c = rows ? 0 : i / strides[in_axis] % inputs;
    double* sum = sums.data() + o * inputs + c;
    for (std::int64_t k = 0, count = rows ? inputs : 1; k < count; ++k) sum[k] += static_cast<double>(w[i + k]) * static_cast<double>(w[i + k]);
  }
  return sums;
}

}  // namespace

std::vector<double> channel_importance(const Graph& graph, ValueId value, const ValueStats& stats, const std::vector<NodeChoice>& choices) {
  const std::size_t channels = stats.channel_min.size();
  std::vector<double> variances(channels), importance(channels);
  double mean = 0;
  for (std::size_t c = 0; c < channels; ++c) {
    variances[c] = stats.channel_variance(c);
    mean += variances[c] / static_cast<double>(channels);
  }
  if (channels < 2 || !(mean > 0)) return {};
  std::int64_t linear_readers = 0, other_readers = 0;
  for (const NodeId user : graph.value(value).users) {
    const Node& node = graph.node(user);
    const LinearForm* form = op_of(node).linear;
    const bool linear = form != nullptr && choices[user.index].integer && node.inputs[0] == value && graph.value(node.inputs[static_cast<std::size_t>(form->weight)]).is_constant();
    if (!linear) {
      ++other_readers;
      continue;
    }
    ++linear_readers;
    const Tensor& weight = graph.value(node.inputs[static_cast<std::size_t>(form->weight)]).constant;
    const auto outputs = static_cast<std::size_t>(weight.shape()[static_cast<std::size_t>(form->out_axis)]);
    const auto inputs = static_cast<std::size_t>(weight.shape()[static_cast<std::size_t>(form->in_axis)]);  // per group
    if (inputs == 0 || channels % inputs != 0) return {};
    const std::size_t groups = channels / inputs, outputs_per_group = outputs / groups;
    const std::vector<double> squares = squared_kernels(weight, *form);
    for (std::size_t o = 0; o < outputs; ++o) {
      const std::size_t first = o / outputs_per_group * inputs;
      double variance = 0;
      for (std::size_t c = 0; c < inputs; ++c) variance += squares[o * inputs + c] * variances[first + c];
      if (!(variance > 0)) continue;
      for (std::size_t c = 0; c < inputs; ++c) importance[first + c] += squares[o * inputs + c] / variance / static_cast<double>(outputs);
    }
  }
  if (linear_readers == 0) return {};
  for (double& l : importance) l = l / static_cast<double>(linear_readers) + (other_readers > 0 ? 1 / mean / static_cast<double>(channels) : 0);
  return importance;
}

}  // namespace narrow
