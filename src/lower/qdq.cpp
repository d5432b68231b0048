#include "lower/qdq.h"

#include <algorithm>

#include "lower/constants.h"
#include "lower/grids.h"
#include "ops/op_def.h"
#include "ops/quantize_linear.h"

namespace narrow {
namespace {

class Builder {
 public:
  Builder(const Graph& source, const Grids& grids, const Graph* network) : source_(source), grids_(grids), network_(network), graph_(source), pairs_(source.value_slots()) {}

  Result<Graph> build() {
    if (graph_.order().empty()) return std::move(graph_);
    for (std::uint32_t i = 0; i < source_.value_slots(); ++i) {
      const ValueId id{i};
      if (source_.value(id).alive && grids_.carried(id) != nullptr) value(id);
    }
    const std::vector<NodeId> order(source_.order().begin(), source_.order().end());
    for (const NodeId id : order) {
      if (grids_.integer(id)) NARROW_TRY(inputs(id));
    }
    for (const NodeId id : order) NARROW_TRY(activation(id));
    graph_.remove_dead();
    NARROW_TRY(graph_.verify());
    return std::move(graph_);
  }

 private:
  using Users = std::vector<std::pair<NodeId, std::size_t>>;

  // All readers of a carried value read it through a pair.
  void value(ValueId id) {
    const std::string name = source_.value(id).name;
    Users users;
    for (const NodeId user : source_.value(id).users) {
      for (std::size_t slot = 0; slot < source_.node(user).inputs.size(); ++slot) {
        if (source_.node(user).inputs[slot] == id) users.emplace_back(user, slot);
      }
    }
    const bool input = source_.is_input(id);
    if (!input) graph_.rename(id, name + ".raw");
    const ValueId made = pair(id, *grids_.carried(id), name);
    if (!input) graph_.rename(made, name);
    for (const auto& [user, slot] : users) graph_.set_input(user, slot, made);
    for (std::size_t k = 0; k < source_.outputs().size(); ++k) {
      if (source_.outputs()[k] == id && !input) graph_.set_output(k, made);
    }
    pairs_[id.index].emplace_back(*grids_.carried(id), made);
  }

  Status inputs(NodeId id) {
    for (std::size_t slot = 0; slot < source_.node(id).inputs.size(); ++slot) {
      const ValueId from = source_.node(id).inputs[slot];
      const Grids::Role role = grids_.role(id, slot);
      if (role == Grids::Role::kAbsent || role == Grids::Role::kOther) continue;
      const Value& v = source_.value(from);
      if (role == Grids::Role::kBias && grids_.constant(id, slot).dtype == DType::kI64) continue;
      ValueId made;
      if (role == Grids::Role::kActivation && !v.is_constant()) {
        made = on_grid(from, grids_.wanted(id, slot));
      } else {
        const QuantParams& params = role == Grids::Role::kActivation ? grids_.wanted(id, slot) : grids_.constant(id, slot);
        const std::string context = fmt::format("node '{}' ({})", source_.node(id).name, source_.node(id).op);
        auto stored = role == Grids::Role::kBias ? quantize_bias(v.constant, params) : Result<Tensor>(quantize(v.constant, params));
        if (!stored) return tl::unexpected<Error>(std::move(stored.error()).in(context));
        made = dequantized(graph_.add_constant(v.name + ".quantized", std::move(*stored)), params, v.name + ".dequantized", id, true);
      }
      graph_.set_input(id, slot, made);
    }
    return {};
  }

  // An activation that the network runs as a table stands on its own, behind the codes that the table reads.
  Status activation(NodeId id) {
    const ValueId pre = network_ == nullptr ? ValueId{} : network_->find_value(source_.node(id).name + ".preactivation");
    const FusedActivation fused = fused_activation(source_.node(id));
    if (!pre || fused.op == nullptr || !grids_.integer(id)) return {};
    const ValueId y = source_.node(id).outputs[0];
    const QuantParams& grid = *network_->value(pre).quant;
    if (size_of(grid.dtype) > size_of(grids_.carried(y)->dtype)) return {};  // 16 bits in an 8-bit model: as good as real, and not every reader knows them
    const std::vector<NodeId> users = graph_.value(y).users;
    clear_fused_activation(graph_, id);
    const ValueId codes = pair(y, grid, source_.node(id).name + ".preactivation");
    NodeSpec spec{.name = source_.node(id).name + ".activation", .op = std::string(fused.op->name), .inputs = {codes}, .attrs = fused.attrs, .origin = source_.node(id).origin};
    const NodeId made = graph_.insert_after(graph_.value(codes).producer, std::move(spec));
    NARROW_TRY(infer_node(graph_, made));
    for (const NodeId user : users) {
      for (std::size_t slot = 0; slot < graph_.node(user).inputs.size(); ++slot) {
        if (graph_.node(user).inputs[slot] == y) graph_.set_input(user, slot, graph_.node(made).outputs[0]);
      }
    }
    return {};
  }

  ValueId on_grid(ValueId from, const QuantParams& params) {
    auto& have = pairs_[from.index];
    const auto found = std::find_if(have.begin(), have.end(), [&](const auto& p) { return p.first == params; });
    if (found != have.end()) return found->second;
    const ValueId base = grids_.carried(from) != nullptr ? have[0].second : from;
    const ValueId made = pair(base, params, source_.value(from).name + ".requantized");
    have.emplace_back(params, made);
    return made;
  }

  // Q and DQ right behind the producer of `from`; returns the dequantized value.
  ValueId pair(ValueId from, const QuantParams& params, const std::string& name) {
    NodeSpec spec = quantize_linear(graph_, name + ".quantize", from, params);
    const NodeId producer = graph_.value(from).producer;
    const NodeId q = producer ? graph_.insert_after(producer, std::move(spec)) : graph_.insert_before(graph_.order()[0], std::move(spec));
    return dequantized(graph_.node(q).outputs[0], params, name + ".dequantize", q, false);
  }

  ValueId dequantized(ValueId from, const QuantParams& params, const std::string& name, NodeId beside, bool before) {
    NodeSpec spec = dequantize_linear(graph_, name, from, params);
    const NodeId dq = before ? graph_.insert_before(beside, std::move(spec)) : graph_.insert_after(beside, std::move(spec));
    return graph_.node(dq).outputs[0];
  }

  const Graph& source_;
  const Grids& grids_;
  const Graph* network_;
  Graph graph_;
  // By value of the source: the grids on which it exists, and the dequantized value there. First the carried one.
  std::vector<std::vector<std::pair<QuantParams, ValueId>>> pairs_;
};

}  // namespace

Result<Graph> build_qdq(const Graph& graph, const Plan& plan, const Graph* network) {
  const Grids grids = NARROW_TRY(Grids::make(graph, plan));
  return Builder(graph, grids, network).build();
}

}  // namespace narrow
