#include "measure/sources.h"

#include "base/progress.h"
#include "lower/grids.h"
#include "ops/op_def.h"
#include "run/executor.h"

namespace narrow {
namespace {

Tensor on_grid(const Tensor& real, const QuantParams& params) { return dequantize(quantize(real, params), params); }

// Every layer twice, each copy with inputs of its own.
class ProbeNetwork {
 public:
  ProbeNetwork(const Graph& source, const Grids& grids) : source_(source), grids_(grids) {}

  Status add(NodeId id, bool round_weights, ErrorMetrics* metrics) {
    const Node& node = source_.node(id);
    NodeSpec spec{.name = node.name, .op = node.op, .attrs = node.attrs};
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
      const Grids::Role role = grids_.role(id, slot);
      spec.inputs.push_back(role == Grids::Role::kAbsent ? ValueId{} : source_.value(node.inputs[slot]).is_constant() ? constant(id, slot, round_weights) : feed(id, slot, !round_weights));
    }
    graph_.add_output(NARROW_TRY(append_inferred(graph_, std::move(spec))));
    outputs_.push_back({node.outputs[0], metrics});
    return {};
  }

  Status run(std::span<const Sample> samples) {
    if (outputs_.empty()) return {};
    std::map<ValueId, Tensor> values;
    for (const Feed& feed : feeds_) values[feed.from];
    for (const Output& output : outputs_) values[output.from];
    Executor reference(source_), probe(graph_);
    for (const Sample& sample : samples) {
      NARROW_TRY(check_cancelled());
      NARROW_TRY(reference.run(sample.inputs, [&](ValueId id, const Tensor& tensor) {
        if (const auto wanted = values.find(id); wanted != values.end()) wanted->second = tensor.clone();
      }));
      std::vector<Tensor> fed;
      for (const Feed& feed : feeds_) fed.push_back(feed.grid == nullptr ? values.at(feed.from) : on_grid(values.at(feed.from), *feed.grid));
      const std::vector<Tensor> found = NARROW_TRY(probe.run(fed));
      for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i].metrics->add(values.at(outputs_[i].from), found[i]);
    }
    return {};
  }

 private:
  ValueId constant(NodeId id, std::size_t slot, bool round) {
    const Value& v = source_.value(source_.node(id).inputs[slot]);
    const bool weight = grids_.role(id, slot) == Grids::Role::kWeight;
    return graph_.add_constant(v.name, round && weight ? on_grid(v.constant, grids_.constant(id, slot)) : v.constant);
  }
  ValueId feed(NodeId id, std::size_t slot, bool round) {
    const ValueId from = source_.node(id).inputs[slot];
    const Value& v = source_.value(from);
    feeds_.push_back({from, round && grids_.role(id, slot) == Grids::Role::kActivation ? &grids_.wanted(id, slot) : nullptr});
    return graph_.add_input(fmt::format("fed:{}", feeds_.size()), v.dtype, v.shape);
  }

  struct Feed { ValueId from; const QuantParams* grid; };
  struct Output { ValueId from; ErrorMetrics* metrics; };
  const Graph& source_;
  const Grids& grids_;
  Graph graph_;
  std::vector<Feed> feeds_;
  std::vector<Output> outputs_;
};

}  // namespace

Result<SourcesByLayer> measure_sources(const Graph& graph, const Plan& plan, std::span<const std::string> layers, std::span<const Sample> samples) {
  SourcesByLayer result;
  const Grids grids = NARROW_TRY(Grids::make(graph, plan));
  ProbeNetwork probe(graph, grids);
  for (const std::string& layer : layers) {
    const NodeId id = graph.find_node(layer);
    if (!id || !grids.integer(id) || op_of(graph.node(id)).linear == nullptr) continue;
    NoiseSources& sources = result[layer];
    NARROW_TRY(probe.add(id, false, &sources.inputs));
    NARROW_TRY(probe.add(id, true, &sources.weights));
  }
  NARROW_TRY(probe.run(samples));
  return result;
}

}  // namespace narrow
