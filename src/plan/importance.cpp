#include "plan/importance.h"

#include <iterator>

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

// A linear map of the value's channels: W^2 by (output, input of the group).
struct Reader {
  std::vector<double> squares;
  std::size_t outputs = 0, inputs = 0;
  bool depthwise() const { return inputs == 1; }
};

const Tensor* constant_weight(const Graph& graph, ValueId value, const Node& node) {
  const LinearForm* form = op_of(node).linear;
  if (form == nullptr || node.inputs[0] != value) return nullptr;
  const Value& weight = graph.value(node.inputs[static_cast<std::size_t>(form->weight)]);
  return weight.is_constant() ? &weight.constant : nullptr;
}

// The linear maps that read the value. A depthwise one only weighs the channels for those behind it: what these see counts.
// Returns the number of readers that are not linear.
std::int64_t find_readers(const Graph& graph, ValueId value, std::size_t channels, const std::vector<NodeChoice>& choices, const std::vector<double>& gains, std::vector<Reader>& readers) {
  std::int64_t others = graph.is_output(value) ? 1 : 0;
  for (const NodeId user : graph.value(value).users) {
    const Node& node = graph.node(user);
    const Tensor* weight = choices[user.index].integer ? constant_weight(graph, value, node) : nullptr;
    if (weight == nullptr) {
      ++others;
      continue;
    }
    const LinearForm& form = *op_of(node).linear;
    Reader reader{squared_kernels(*weight, form), static_cast<std::size_t>(weight->shape()[static_cast<std::size_t>(form.out_axis)]),
                  static_cast<std::size_t>(weight->shape()[static_cast<std::size_t>(form.in_axis)])};
    if (reader.inputs == 0 || channels % reader.inputs != 0 || reader.outputs % (channels / reader.inputs) != 0) {
      ++others;
      continue;
    }
    const std::size_t outputs_per_group = reader.outputs / (channels / reader.inputs);
    for (std::size_t o = 0; o < reader.outputs; ++o) {
      for (std::size_t c = 0; c < reader.inputs; ++c) reader.squares[o * reader.inputs + c] *= gains[o / outputs_per_group * reader.inputs + c];
    }
    std::vector<Reader> behind;
    if (reader.depthwise() && reader.outputs == channels && find_readers(graph, node.outputs[0], channels, choices, reader.squares, behind) == 0) {
      std::move(behind.begin(), behind.end(), std::back_inserter(readers));
    } else {
      readers.push_back(std::move(reader));
    }
  }
  return others;
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
  std::vector<Reader> readers;
  const std::int64_t others = find_readers(graph, value, channels, choices, std::vector<double>(channels, 1), readers);
  if (readers.empty()) return {};
  for (const Reader& reader : readers) {
    const std::size_t outputs_per_group = reader.outputs / (channels / reader.inputs);
    for (std::size_t o = 0; o < reader.outputs; ++o) {
      const std::size_t first = o / outputs_per_group * reader.inputs;
      const double* squares = reader.squares.data() + o * reader.inputs;
      double variance = 0;
      for (std::size_t c = 0; c < reader.inputs; ++c) variance += squares[c] * variances[first + c];
      if (!(variance > 0)) continue;
      for (std::size_t c = 0; c < reader.inputs; ++c) importance[first + c] += squares[c] / variance / static_cast<double>(reader.outputs);
    }
  }
  for (double& l : importance) l = l / static_cast<double>(readers.size()) + (others > 0 ? 1 / mean / static_cast<double>(channels) : 0);
  return importance;
}

}  // namespace narrow
