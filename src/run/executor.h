// Runs a graph, float or integer: nodes in order, activations in one arena planned from lifetimes, an observer hook.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "ops/op_def.h"

namespace narrow {

struct ExecutorOptions {
  bool normative = false;   // the plain loops instead of the prepared fast kernels
  // Values that must survive until run() returns in the observer's order; empty: only graph outputs.
  std::vector<ValueId> keep = {};
  // Called after the node that produced `value` and after its observer, before anything reads it; may change the contents.
  std::function<void(ValueId value, Tensor& tensor)> edit = {};
};

class Executor {
 public:
  // Called after the node that produced `value` (graph inputs first). The tensor is valid during the call only.
  using Observer = std::function<void(ValueId value, const Tensor& tensor)>;

  // The graph must outlive the executor and not change.
  explicit Executor(const Graph& graph, ExecutorOptions options = {});
  ~Executor();
  Executor(Executor&&) noexcept;
  Executor& operator=(Executor&&) noexcept;

  const Graph& graph() const;
  // inputs: one per graph input, exactly its type (error names the input, found and wanted). Outputs are copies that
  // the caller owns. Not re-entrant; to be called by the thread that made the executor.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, const Observer& observer = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// For integer graphs: quantizes f32 inputs and dequantizes quantized outputs around run(), so that float samples can be fed and scores read.
Result<std::vector<Tensor>> run_real(Executor& executor, std::span<const Tensor> inputs, const Executor::Observer& observer = {});

}  // namespace narrow
