// The one graph structure: float networks after import, and integer networks after lowering (same nodes and values,
// other operators; values then carry QuantParams). SSA: every value has at most one producer; constants and graph
// inputs have none. Ids are indices that stay valid until compact(). Only the mutators below change the structure.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/error.h"
#include "tensor/quant_params.h"
#include "tensor/tensor.h"

namespace narrow {

template <typename Tag>
struct Id {
  static constexpr std::uint32_t kNone = 0xffffffffU;
  std::uint32_t index = kNone;
  explicit operator bool() const { return index != kNone; }
  auto operator<=>(const Id&) const = default;
};
using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;

// Attributes of a node. Lists of ints hold shapes, pads, axes; floats are double so that text round-trips exactly.
using Attr = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;
class Attrs {
 public:
  bool has(std::string_view key) const { return map_.find(key) != map_.end(); }
  std::int64_t get_int(std::string_view key, std::int64_t fallback = 0) const;
  double get_float(std::string_view key, double fallback = 0) const;  // an int is taken as a float
  std::string get_string(std::string_view key, std::string fallback = {}) const;
  std::vector<std::int64_t> get_ints(std::string_view key, std::vector<std::int64_t> fallback = {}) const;
  std::vector<double> get_floats(std::string_view key, std::vector<double> fallback = {}) const;
  void set(std::string key, Attr value) { map_.insert_or_assign(std::move(key), std::move(value)); }
  void set(std::string key, int value) { set(std::move(key), Attr(static_cast<std::int64_t>(value))); }
  void set(std::string key, const char* value) { set(std::move(key), Attr(std::string(value))); }
  void erase(std::string_view key);
  const std::map<std::string, Attr, std::less<>>& all() const { return map_; }
  bool operator==(const Attrs&) const = default;

 private:
  std::map<std::string, Attr, std::less<>> map_;
};

struct Value {
  std::string name;               // unique in the graph, never empty
  DType dtype = DType::kF32;
  Shape shape;
  std::optional<QuantParams> quant;  // integer graphs: what the integers mean
  Tensor constant;                // has_data(): a constant
  NodeId producer;                // none for inputs and constants
  std::vector<NodeId> users;      // nodes that read it, one entry per reading slot, in no particular order
  bool alive = true;
  bool is_constant() const { return constant.has_data(); }
};

struct Node {
  std::string name;  // unique in the graph, never empty
  std::string op;    // name of an OpDef (ops/op_def.h)
  std::vector<ValueId> inputs;  // an absent optional input is ValueId{}
  std::vector<ValueId> outputs;
  Attrs attrs;
  std::vector<std::string> origin;  // names of the original model's nodes that this one stands for, in order
  bool alive = true;
};

// What append()/insert_before() take. Output types may be left empty and set by ops::infer_node (ops/op_def.h).
struct NodeSpec {
  std::string name = {};  // made unique by a suffix
  std::string op = {};
  std::vector<ValueId> inputs = {};
  std::vector<std::string> output_names = {};  // made unique; default: one output named as the node
  std::vector<TensorType> output_types = {};
  Attrs attrs = {};
  std::vector<std::string> origin = {};
};

class Graph {
 public:
  std::string name;

  // --- reading
  const Value& value(ValueId id) const { return values_[id.index]; }
  const Node& node(NodeId id) const { return nodes_[id.index]; }
  std::span<const NodeId> order() const { return order_; }        // live nodes, producers before users
  std::size_t value_slots() const { return values_.size(); }      // ids are < this; some may be dead
  std::size_t node_slots() const { return nodes_.size(); }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  std::vector<ValueId> live_values() const;                       // in id order
  bool is_output(ValueId id) const;
  bool is_input(ValueId id) const;
  ValueId find_value(std::string_view name) const;                // ValueId{} when absent
  NodeId find_node(std::string_view name) const;
  // The only reader of `id`, if exactly one slot of one node reads it and it is not a graph output.
  NodeId single_user(ValueId id) const;
  const Node* producer(ValueId id) const;                         // nullptr for inputs and constants

  // --- changing
  ValueId add_input(std::string name, DType dtype, Shape shape);
  ValueId add_constant(std::string name, Tensor tensor);          // name made unique
  NodeId append(NodeSpec spec);
  NodeId insert_before(NodeId position, NodeSpec spec);
  NodeId insert_after(NodeId position, NodeSpec spec);
  void set_input(NodeId node, std::size_t slot, ValueId value);   // extends the list with absent inputs if needed
  void set_inputs(NodeId node, std::vector<ValueId> inputs);
  void set_op(NodeId node, std::string op) { nodes_[node.index].op = std::move(op); }
  Attrs& attrs(NodeId node) { return nodes_[node.index].attrs; }
  void add_origin(NodeId node, const std::vector<std::string>& origin);  // appends what is not there yet
  void set_type(ValueId value, TensorType type);
  void set_quant(ValueId value, std::optional<QuantParams> quant) { values_[value.index].quant = std::move(quant); }
  void set_constant(ValueId value, Tensor tensor);                // replaces the tensor of a constant, or makes a producer-less value one
  void rename(ValueId value, std::string name);                   // made unique
  void rename(NodeId node, std::string name);                     // made unique
  void add_output(ValueId value);
  void set_output(std::size_t index, ValueId value);
  // Every reader of `from`, graph outputs included, reads `to` instead. A graph output keeps its name: when `from` is an
  // output, the two values exchange names if `to` is produced by a node and is not an output itself.
  void replace_uses(ValueId from, ValueId to);
  void erase(NodeId node);                  // its outputs must have no users
  std::size_t remove_dead();                // nodes without a live output, and unused constants; returns nodes removed
  void sort();                              // re-establishes order() by a stable topological sort after rewiring

  // --- whole graph
  // Every broken invariant found, one Error note each: ids, producer/user links, order, unique names, outputs alive.
  Status verify() const;
  std::uint64_t hash() const;               // of structure, attributes, names, types, quant and constant contents

 private:
  std::string unique_value_name(std::string name) const;
  std::string unique_node_name(std::string name) const;
  NodeId create(NodeSpec spec);
  std::size_t position(NodeId node) const;

  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<NodeId> order_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::unordered_map<std::string, std::uint32_t> value_names_;
  std::unordered_map<std::string, std::uint32_t> node_names_;
};

}  // namespace narrow
