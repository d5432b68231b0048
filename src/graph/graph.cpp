#include "graph/graph.h"

#include <algorithm>

namespace narrow {

std::vector<ValueId> Graph::live_values() const {
  std::vector<ValueId> out;
  for (std::uint32_t i = 0; i < values_.size(); ++i) {
    if (values_[i].alive) out.push_back({i});
  }
  return out;
}

bool Graph::is_output(ValueId id) const { return std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end(); }
bool Graph::is_input(ValueId id) const { return std::find(inputs_.begin(), inputs_.end(), id) != inputs_.end(); }

ValueId Graph::find_value(std::string_view name) const {
  const auto it = value_names_.find(std::string(name));
  return it == value_names_.end() ? ValueId{} : ValueId{it->second};
}

NodeId Graph::find_node(std::string_view name) const {
  const auto it = node_names_.find(std::string(name));
  return it == node_names_.end() ? NodeId{} : NodeId{it->second};
}

NodeId Graph::single_user(ValueId id) const {
  const Value& v = value(id);
  return v.users.size() == 1 && !is_output(id) ? v.users[0] : NodeId{};
}

const Node* Graph::producer(ValueId id) const {
  if (!id || !value(id).producer) return nullptr;
  return &node(value(id).producer);
}

std::string Graph::unique_value_name(std::string wanted) const {
  if (wanted.empty()) wanted = "value";
  if (!value_names_.contains(wanted)) return wanted;
  for (int i = 1;; ++i) {
    std::string candidate = fmt::format("{}_{}", wanted, i);
    if (!value_names_.contains(candidate)) return candidate;
  }
}

std::string Graph::unique_node_name(std::string wanted) const {
  if (wanted.empty()) wanted = "node";
  if (!node_names_.contains(wanted)) return wanted;
  for (int i = 1;; ++i) {
    std::string candidate = fmt::format("{}_{}", wanted, i);
    if (!node_names_.contains(candidate)) return candidate;
  }
}

ValueId Graph::add_input(std::string input_name, DType dtype, Shape shape) {
  const ValueId id{static_cast<std::uint32_t>(values_.size())};
  Value v;
  v.name = unique_value_name(std::move(input_name));
  v.dtype = dtype;
  v.shape = std::move(shape);
  value_names_[v.name] = id.index;
  values_.push_back(std::move(v));
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_constant(std::string constant_name, Tensor tensor) {
  NARROW_CHECK(tensor.has_data());
  const ValueId id{static_cast<std::uint32_t>(values_.size())};
  Value v;
  v.name = unique_value_name(std::move(constant_name));
  v.dtype = tensor.dtype();
  v.shape = tensor.shape();
  v.constant = std::move(tensor);
  value_names_[v.name] = id.index;
  values_.push_back(std::move(v));
  return id;
}

NodeId Graph::create(NodeSpec spec) {
  const NodeId id{static_cast<std::uint32_t>(nodes_.size())};
  Node n;
  n.name = unique_node_name(spec.name.empty() ? spec.op : std::move(spec.name));
  n.op = std::move(spec.op);
  n.inputs = std::move(spec.inputs);
  n.attrs = std::move(spec.attrs);
  n.origin = std::move(spec.origin);
  if (spec.output_names.empty()) spec.output_names.push_back(n.name);
  for (std::size_t i = 0; i < spec.output_names.size(); ++i) {
    const ValueId out{static_cast<std::uint32_t>(values_.size())};
    Value v;
    v.name = unique_value_name(spec.output_names[i]);
    v.producer = id;
    if (i < spec.output_types.size()) {
      v.dtype = spec.output_types[i].dtype;
      v.shape = spec.output_types[i].shape;
    }
    value_names_[v.name] = out.index;
    values_.push_back(std::move(v));
    n.outputs.push_back(out);
  }
  for (const ValueId in : n.inputs) {
    if (in) values_[in.index].users.push_back(id);
  }
  node_names_[n.name] = id.index;
  nodes_.push_back(std::move(n));
  return id;
}

std::size_t Graph::position(NodeId id) const {
  const auto it = std::find(order_.begin(), order_.end(), id);
  NARROW_CHECK(it != order_.end());
  return static_cast<std::size_t>(it - order_.begin());
}

NodeId Graph::append(NodeSpec spec) {
  const NodeId id = create(std::move(spec));
  order_.push_back(id);
  return id;
}

NodeId Graph::insert_before(NodeId at, NodeSpec spec) {
  const NodeId id = create(std::move(spec));
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(position(at)), id);
  return id;
}

NodeId Graph::insert_after(NodeId at, NodeSpec spec) {
  const NodeId id = create(std::move(spec));
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(position(at)) + 1, id);
  return id;
}

void Graph::set_input(NodeId id, std::size_t slot, ValueId to) {
  Node& n = nodes_[id.index];
  if (slot >= n.inputs.size()) n.inputs.resize(slot + 1);
  const ValueId from = n.inputs[slot];
  if (from == to) return;
  if (from) {
    auto& users = values_[from.index].users;
    users.erase(std::find(users.begin(), users.end(), id));
  }
  if (to) values_[to.index].users.push_back(id);
  n.inputs[slot] = to;
}

void Graph::set_inputs(NodeId id, std::vector<ValueId> inputs) {
  for (std::size_t i = 0; i < node(id).inputs.size(); ++i) set_input(id, i, ValueId{});
  nodes_[id.index].inputs.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i) set_input(id, i, inputs[i]);
  nodes_[id.index].inputs.resize(inputs.size());
}

void Graph::add_origin(NodeId id, const std::vector<std::string>& origin) {
  auto& mine = nodes_[id.index].origin;
  for (const std::string& o : origin) {
    if (std::find(mine.begin(), mine.end(), o) == mine.end()) mine.push_back(o);
  }
}

void Graph::set_type(ValueId id, TensorType type) {
  values_[id.index].dtype = type.dtype;
  values_[id.index].shape = std::move(type.shape);
}

void Graph::set_constant(ValueId id, Tensor tensor) {
  Value& v = values_[id.index];
  NARROW_CHECK(!v.producer && tensor.has_data(), "value '{}'", v.name);
  v.dtype = tensor.dtype();
  v.shape = tensor.shape();
  v.constant = std::move(tensor);
}

void Graph::rename(ValueId id, std::string new_name) {
  Value& v = values_[id.index];
  if (v.name == new_name) return;
  value_names_.erase(v.name);
  v.name = unique_value_name(std::move(new_name));
  value_names_[v.name] = id.index;
}

void Graph::rename(NodeId id, std::string new_name) {
  Node& n = nodes_[id.index];
  if (n.name == new_name) return;
  node_names_.erase(n.name);
  n.name = unique_node_name(std::move(new_name));
  node_names_[n.name] = id.index;
}

void Graph::add_output(ValueId id) { outputs_.push_back(id); }
void Graph::set_output(std::size_t index, ValueId id) { outputs_[index] = id; }

void Graph::replace_uses(ValueId from, ValueId to) {
  if (from == to) return;
  const std::vector<NodeId> users = value(from).users;
  for (const NodeId user : users) {
    for (std::size_t slot = 0; slot < node(user).inputs.size(); ++slot) {
      if (node(user).inputs[slot] == from) set_input(user, slot, to);
    }
  }
  if (!is_output(from)) return;
  if (value(to).producer && !is_output(to)) {
    std::swap(values_[from.index].name, values_[to.index].name);
    value_names_[value(from).name] = from.index;
    value_names_[value(to).name] = to.index;
  }
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::erase(NodeId id) {
  Node& n = nodes_[id.index];
  for (const ValueId out : n.outputs) {
    NARROW_CHECK(value(out).users.empty() && !is_output(out), "'{}' still has users", value(out).name);
  }
  set_inputs(id, {});
  for (const ValueId out : n.outputs) {
    values_[out.index].alive = false;
    value_names_.erase(value(out).name);
  }
  n.alive = false;
  node_names_.erase(n.name);
  order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(position(id)));
}

std::size_t Graph::remove_dead() {
  std::size_t removed = 0;
  for (std::size_t i = order_.size(); i-- > 0;) {
    const NodeId id = order_[i];
    const bool used = std::any_of(node(id).outputs.begin(), node(id).outputs.end(), [&](ValueId out) { return !value(out).users.empty() || is_output(out); });
    if (used) continue;
    erase(id);
    ++removed;
  }
  for (std::uint32_t i = 0; i < values_.size(); ++i) {
    Value& v = values_[i];
    if (v.alive && v.is_constant() && v.users.empty() && !is_output({i})) {
      v.alive = false;
      v.constant = Tensor();
      value_names_.erase(v.name);
    }
  }
  return removed;
}

void Graph::sort() {
  // Repeatedly takes, in the present order, what has all its producers placed: stable, and each node is visited once
  // per blocked producer.
  std::vector<NodeId> sorted;
  std::vector<char> state(nodes_.size(), 0);  // 0 new, 1 open, 2 placed
  for (const NodeId root : order_) {
    std::vector<std::pair<NodeId, std::size_t>> stack{{root, 0}};
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      if (state[id.index] == 2) {
        stack.pop_back();
        continue;
      }
      state[id.index] = 1;
      if (next == node(id).inputs.size()) {
        state[id.index] = 2;
        sorted.push_back(id);
        stack.pop_back();
        continue;
      }
      const ValueId in = node(id).inputs[next++];
      if (!in) continue;
      const NodeId p = value(in).producer;
      if (p && state[p.index] != 2) {
        NARROW_CHECK(state[p.index] == 0, "cycle through '{}'", node(p).name);
        stack.emplace_back(p, 0);
      }
    }
  }
  order_ = std::move(sorted);
}

}  // namespace narrow
