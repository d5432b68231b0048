#include <new>

#include "artifact/artifact.h"
#include "compile/compile.h"
#include "narrow/narrow.h"
#include "run/executor.h"

namespace narrow::api {
namespace {

template <typename T>
bool failed(const Result<T>& result, std::string* error) {
  if (!result && error != nullptr) *error = result.error().to_string();
  return !result;
}

// No exception leaves this interface; the one that ordinary use can cause is told.
template <typename Fn>
auto or_out_of_memory(std::string* error, const Fn& fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (const std::bad_alloc&) {
    if (error != nullptr) *error = "error: out of memory\n";
    return {};
  }
}

std::vector<Port> ports(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<Port> list;
  for (const ValueId id : ids) list.push_back({graph.value(id).name, graph.value(id).shape});
  return list;
}

class ArtifactNetwork : public Network {
 public:
  explicit ArtifactNetwork(Graph graph) : graph_(std::move(graph)), executor_(graph_), inputs_(ports(graph_, graph_.inputs())), outputs_(ports(graph_, graph_.outputs())) {}
  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<Port>& outputs() const override { return outputs_; }

  std::optional<std::vector<std::vector<float>>> run(const std::vector<std::vector<float>>& inputs, std::string* error) override {
    return or_out_of_memory(error, [&]() -> std::optional<std::vector<std::vector<float>>> {
      const Result<std::vector<Tensor>> outputs = run_tensors(inputs);
      if (failed(outputs, error)) return std::nullopt;
      std::vector<std::vector<float>> arrays;
      for (const Tensor& output : *outputs) {
        const Tensor real = output.cast(DType::kF32);
        arrays.emplace_back(real.span<float>().begin(), real.span<float>().end());
      }
      return arrays;
    });
  }

 private:
  Result<std::vector<Tensor>> run_tensors(const std::vector<std::vector<float>>& inputs) {
    if (inputs.size() != inputs_.size()) return error("the network has {} inputs, {} were given", inputs_.size(), inputs.size());
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Value& value = graph_.value(graph_.inputs()[i]);
      if (static_cast<std::int64_t>(inputs[i].size()) != element_count(value.shape)) {
        return error("input '{}' was given {} numbers, wanted {} for {}", value.name, inputs[i].size(), element_count(value.shape), to_string(value.shape));
      }
      const Tensor real = Tensor::of<float>(value.shape, inputs[i]);
      tensors.push_back(value.quant ? real : real.cast(value.dtype));
    }
    return run_real(executor_, tensors);
  }

  Graph graph_;
  Executor executor_;
  std::vector<Port> inputs_, outputs_;
};

}  // namespace

std::optional<std::string> compile(const CompileRequest& request, std::string* error) {
  return or_out_of_memory(error, [&]() -> std::optional<std::string> {
    Progress quiet;
    const auto result = narrow::compile({.model = request.model, .recipe = request.recipe, .target = request.target, .data = request.data, .output = request.output}, quiet);
    if (failed(result, error)) return std::nullopt;
    return result->report.dump();
  });
}

std::unique_ptr<Network> Network::open(const std::string& artifact, std::string* error) {
  return or_out_of_memory(error, [&]() -> std::unique_ptr<Network> {
    Result<Artifact> read = read_artifact(artifact);
    if (failed(read, error)) return nullptr;
    return std::make_unique<ArtifactNetwork>(std::move(read->contents.graph));
  });
}

}  // namespace narrow::api
