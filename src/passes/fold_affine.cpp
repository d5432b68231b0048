// An affine node y = s x + t (batch normalization, multiplication or addition of constants) beside a linear operator goes
// into its weights and bias:
//   after it    s (W x + b) + t = (s W) x + (s b + t)
//   before it   W (s x + t) + b = (W s) x + (b + W t), the shift only where every output sees every tap of W: padding is
//               zero behind the affine node and would be t in front of it
#include <algorithm>

#include "ops/op_def.h"
#include "passes/channel_affine.h"
#include "passes/edits.h"
#include "passes/passes.h"

namespace narrow {
namespace {

bool constant_or_absent(const Graph& graph, const Node& node, int slot) {
  const auto s = static_cast<std::size_t>(slot);
  return s >= node.inputs.size() || !node.inputs[s] || graph.value(node.inputs[s]).is_constant();
}
// A linear operator whose weights and bias are known.
const LinearForm* linear_form(const Graph& graph, const Node& node) {
  const LinearForm* form = op_of(node).linear;
  if (form == nullptr || !graph.value(node.inputs[static_cast<std::size_t>(form->weight)]).is_constant()) return nullptr;
  return constant_or_absent(graph, node, form->bias) ? form : nullptr;
}

// Calls fn(weight element, output channel, input channel within its group).
template <typename Fn>
void for_weights(Tensor& weight, const LinearForm& form, const Fn& fn) {
  const std::vector<std::int64_t> strides = strides_of(weight.shape());
  const auto channel = [&](std::int64_t i, int axis) { return i / strides[static_cast<std::size_t>(axis)] % weight.shape()[static_cast<std::size_t>(axis)]; };
  float* w = weight.data<float>();
  for (std::int64_t i = 0, n = weight.elements(); i < n; ++i) fn(w[i], channel(i, form.out_axis), channel(i, form.in_axis));
}

std::vector<double> bias_of(const Graph& graph, const Node& node, const LinearForm& form, std::int64_t channels) {
  std::vector<double> bias(static_cast<std::size_t>(channels), 0.0);
  const auto slot = static_cast<std::size_t>(form.bias);
  if (slot < node.inputs.size() && node.inputs[slot]) {
    const auto values = graph.value(node.inputs[slot]).constant.span<float>();
    std::copy(values.begin(), values.end(), bias.begin());
  }
  return bias;
}

void set_linear(Graph& graph, NodeId id, const LinearForm& form, Tensor weight, const std::vector<double>& bias) {
  const bool has_bias = static_cast<std::size_t>(form.bias) < graph.node(id).inputs.size() && graph.node(id).inputs[static_cast<std::size_t>(form.bias)];
  set_parameter(graph, id, static_cast<std::size_t>(form.weight), std::move(weight), "");
  if (!has_bias && std::all_of(bias.begin(), bias.end(), [](double b) { return b == 0; })) return;
  const std::vector<float> single(bias.begin(), bias.end());
  set_parameter(graph, id, static_cast<std::size_t>(form.bias), Tensor::of({static_cast<std::int64_t>(single.size())}, single), graph.node(id).name + ".bias");
}

bool fold_after(Graph& graph, NodeId affine_id, const ChannelAffine& affine) {
  const NodeId id = graph.value(affine.x).producer;
  if (!id || graph.single_user(affine.x) != affine_id) return false;
  const LinearForm* form = linear_form(graph, graph.node(id));
  if (form == nullptr || fused_activation(graph.node(id)).op != nullptr) return false;
  const Tensor& old = graph.value(graph.node(id).inputs[static_cast<std::size_t>(form->weight)]).constant;
  const std::int64_t channels = old.shape()[static_cast<std::size_t>(form->out_axis)];
  if (graph.value(affine.x).shape.back() != channels) return false;
  Tensor weight = old.clone();
  for_weights(weight, *form, [&](float& w, std::int64_t o, std::int64_t) { w = static_cast<float>(w * affine.scale_at(o)); });
  std::vector<double> bias = bias_of(graph, graph.node(id), *form, channels);
  for (std::int64_t o = 0; o < channels; ++o) {
    double& b = bias[static_cast<std::size_t>(o)];
    b = b * affine.scale_at(o) + affine.shift_at(o);
  }
  set_linear(graph, id, *form, std::move(weight), bias);
  take_over(graph, affine.x, affine_id);
  return true;
}

// Can `user` take the affine node in front of its data input?
bool takes_before(const Graph& graph, const ChannelAffine& affine, ValueId y, NodeId user) {
  const Node& node = graph.node(user);
  const LinearForm* form = linear_form(graph, node);
  if (form == nullptr || node.inputs[0] != y || std::count(node.inputs.begin(), node.inputs.end(), y) != 1) return false;
  const Shape& weight = graph.value(node.inputs[static_cast<std::size_t>(form->weight)]).shape;
  if (graph.value(y).shape.back() % weight[static_cast<std::size_t>(form->in_axis)] != 0) return false;
  const bool shifts = std::any_of(affine.shift.begin(), affine.shift.end(), [](float t) { return t != 0; });
  return !shifts || form->partial == nullptr || !form->partial(node);
}

void fold_before(Graph& graph, NodeId affine_id, const ChannelAffine& affine, NodeId user) {
  const LinearForm& form = *linear_form(graph, graph.node(user));
  Tensor weight = graph.value(graph.node(user).inputs[static_cast<std::size_t>(form.weight)]).constant.clone();
  const std::int64_t out = weight.shape()[static_cast<std::size_t>(form.out_axis)], per_group = weight.shape()[static_cast<std::size_t>(form.in_axis)];
  const std::int64_t groups = graph.value(affine.x).shape.back() / per_group;
  std::vector<double> bias = bias_of(graph, graph.node(user), form, out);
  for_weights(weight, form, [&](float& w, std::int64_t o, std::int64_t i) {
    const std::int64_t channel = o / (out / groups) * per_group + i;
    bias[static_cast<std::size_t>(o)] += w * affine.shift_at(channel);
    w = static_cast<float>(w * affine.scale_at(channel));
  });
  set_linear(graph, user, form, std::move(weight), bias);
  graph.add_origin(user, graph.node(affine_id).origin);
  graph.set_input(user, 0, affine.x);
}

bool fold_before_all(Graph& graph, NodeId affine_id, const ChannelAffine& affine) {
  const ValueId y = graph.node(affine_id).outputs[0];
  const std::vector<NodeId> users = graph.value(y).users;
  if (users.empty() || graph.is_output(y)) return false;
  if (!std::all_of(users.begin(), users.end(), [&](NodeId user) { return takes_before(graph, affine, y, user); })) return false;
  for (const NodeId user : users) fold_before(graph, affine_id, affine, user);
  graph.erase(affine_id);
  return true;
}

}  // namespace

std::size_t fold_affine(Graph& graph) {
  return everywhere(graph, [](Graph& g, NodeId id) {
    const auto affine = channel_affine(g, id);
    return affine && (fold_after(g, id, *affine) || fold_before_all(g, id, *affine));
  });
}

}  // namespace narrow
