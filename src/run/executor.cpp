#include "run/executor.h"

#include <algorithm>

#include "run/arena.h"

namespace narrow {

struct Executor::State {
  const Graph* graph = nullptr;
  ExecutorOptions options;
  struct Step {
    NodeId id;
    const OpDef* op = nullptr;
    std::unique_ptr<Kernel> kernel;  // nullptr: op->run
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
  };
  std::vector<Step> steps;
  // Where a graph input is read: the tensors below are replaced at every run.
  struct Patch { std::size_t step; std::size_t slot; bool output; };
  std::vector<std::vector<Patch>> input_patches;  // per graph input
  std::vector<Tensor> tensors;                    // by value index
  std::vector<std::uint32_t> root;                // by value index: the value whose bytes it shares
  Tensor arena;
};

Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;
const Graph& Executor::graph() const { return *state_->graph; }

Executor::Executor(const Graph& graph, ExecutorOptions options) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.graph = &graph;
  s.options = std::move(options);
  s.tensors.resize(graph.value_slots());
  s.root.resize(graph.value_slots());
  for (std::uint32_t i = 0; i < s.root.size(); ++i) s.root[i] = i;

  // Lifetimes of buffers in steps: produced at `first`, last read at `last`.
  std::vector<ArenaBlock> blocks(graph.value_slots());
  std::int64_t step = 0;
  const auto end = static_cast<std::int64_t>(graph.order().size());
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const OpDef& op = op_of(node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId out = node.outputs[i];
      const Value& v = graph.value(out);
      if (i == 0 && op.view) {
        s.root[out.index] = s.root[node.inputs[0].index];
      } else {
        blocks[out.index] = {.bytes = static_cast<std::size_t>(element_count(v.shape)) * size_of(v.dtype), .first = step, .last = step};
      }
    }
    for (const ValueId in : node.inputs) {
      if (in) blocks[s.root[in.index]].last = std::max(blocks[s.root[in.index]].last, step);
    }
    ++step;
  }
  for (const ValueId out : graph.outputs()) blocks[s.root[out.index]].last = end;
  for (const ValueId kept : s.options.keep) blocks[s.root[kept.index]].last = end;
  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    const Value& v = graph.value({i});
    if (!v.alive || !v.producer || s.root[i] != i) blocks[i].bytes = 0;
  }
  const std::size_t arena_size = plan_arena(blocks);
  // Never empty: a value without elements also points somewhere.
  s.arena = Tensor::zeros(DType::kU8, {static_cast<std::int64_t>(std::max<std::size_t>(arena_size, 64))});

  for (std::uint32_t i = 0; i < blocks.size(); ++i) {
    const Value& v = graph.value({i});
    if (!v.alive) continue;
    if (v.is_constant()) {
      s.tensors[i] = v.constant;
    } else if (v.producer && s.root[i] == i) {
      s.tensors[i] = Tensor::view(v.dtype, v.shape, static_cast<std::byte*>(s.arena.raw()) + blocks[i].offset);
    }
  }
  const auto alias_of = [&](ValueId id) {
    const Tensor& base = s.tensors[s.root[id.index]];
    return base.has_data() ? Tensor::view(graph.value(id).dtype, graph.value(id).shape, const_cast<void*>(base.raw())) : Tensor();
  };
  s.input_patches.resize(graph.inputs().size());
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    State::Step entry;
    entry.id = id;
    entry.op = &op_of(node);
    if (!s.options.normative && entry.op->prepare != nullptr) entry.kernel = entry.op->prepare(graph, node);
    NARROW_CHECK(entry.kernel || entry.op->run != nullptr || entry.op->view, "operator '{}' cannot run", entry.op->name);
    const auto bind = [&](ValueId value, bool output) {
      auto& list = output ? entry.outputs : entry.inputs;
      if (value) {
        for (std::size_t k = 0; k < graph.inputs().size(); ++k) {
          if (s.root[value.index] == graph.inputs()[k].index) s.input_patches[k].push_back({s.steps.size(), list.size(), output});
        }
      }
      list.push_back(!value ? Tensor() : graph.value(value).is_constant() ? graph.value(value).constant : alias_of(value));
    };
    for (const ValueId in : node.inputs) bind(in, false);
    for (const ValueId out : node.outputs) bind(out, true);
    s.steps.push_back(std::move(entry));
  }
}

Result<std::vector<Tensor>> Executor::run(std::span<const Tensor> inputs, const Observer& observer) {
  State& s = *state_;
  const Graph& graph = *s.graph;
  if (inputs.size() != graph.inputs().size()) return error("the model has {} inputs, {} were given", graph.inputs().size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& v = graph.value(graph.inputs()[i]);
    if (inputs[i].dtype() != v.dtype || inputs[i].shape() != v.shape) {
      return error("input '{}' is {}{}, wanted {}{}", v.name, name_of(inputs[i].dtype()), to_string(inputs[i].shape()), name_of(v.dtype), to_string(v.shape));
    }
    s.tensors[graph.inputs()[i].index] = Tensor::view(v.dtype, v.shape, const_cast<void*>(inputs[i].raw()));  // not kept alive behind this run
    for (const State::Patch& patch : s.input_patches[i]) {
      auto& list = patch.output ? s.steps[patch.step].outputs : s.steps[patch.step].inputs;
      const Node& node = graph.node(s.steps[patch.step].id);
      const Value& as = graph.value(patch.output ? node.outputs[patch.slot] : node.inputs[patch.slot]);
      list[patch.slot] = Tensor::view(as.dtype, as.shape, const_cast<void*>(inputs[i].raw()));
    }
    if (observer) observer(graph.inputs()[i], inputs[i]);
  }
  for (State::Step& step : s.steps) {
    const Node& node = graph.node(step.id);
    RunContext ctx{node, step.inputs, step.outputs};
    if (step.kernel) {
      step.kernel->run(ctx);
    } else if (!step.op->view) {
      step.op->run(ctx);
    }
    if (observer) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) observer(node.outputs[i], step.outputs[i]);
    }
    if (s.options.edit) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) s.options.edit(node.outputs[i], step.outputs[i]);
    }
  }
  std::vector<Tensor> outputs;
  for (const ValueId out : graph.outputs()) {
    const Value& v = graph.value(out);
    if (v.is_constant()) {
      outputs.push_back(v.constant);
    } else {
      const Tensor& base = s.tensors[s.root[out.index]];
      outputs.push_back(Tensor::view(v.dtype, v.shape, const_cast<void*>(base.raw())).clone());
    }
  }
  return outputs;
}

Result<std::vector<Tensor>> run_real(Executor& executor, std::span<const Tensor> inputs, const Executor::Observer& observer) {
  const Graph& graph = executor.graph();
  std::vector<Tensor> fed(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < fed.size() && i < graph.inputs().size(); ++i) {
    const Value& v = graph.value(graph.inputs()[i]);
    if (v.quant && fed[i].dtype() == DType::kF32) fed[i] = quantize(fed[i], *v.quant);
  }
  std::vector<Tensor> outputs = NARROW_TRY(executor.run(fed, observer));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Value& v = graph.value(graph.outputs()[i]);
    if (v.quant) outputs[i] = dequantize(outputs[i], *v.quant);
  }
  return outputs;
}

}  // namespace narrow
