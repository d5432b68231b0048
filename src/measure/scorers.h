// Scores of a task: what the outputs of a network say of each sample, held against the truth.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/dataset.h"
#include "measure/truth.h"
#include "tensor/tensor.h"

namespace narrow {

struct Metric {
  std::string name;     // "top-1", "top-5", "mAP@.5", "AUC", "lines", "characters"
  double value = 0;
  std::string unit;     // "%" or ""
  int digits = 2;       // to print
};

// Collects outputs of samples in any order and scores them.
class Scorer {
 public:
  virtual ~Scorer() = default;
  // Holds what these outputs say for true. Error: the outputs do not fit the task.
  virtual Status teach(std::int64_t index, const Sample& sample, std::span<const Tensor> outputs, Truth& truth) const = 0;
  // outputs: real numbers. Error: the outputs do not fit the task.
  virtual Status add(std::int64_t index, const Sample& sample, std::span<const Tensor> outputs) = 0;
  virtual std::vector<Metric> metrics() const = 0;  // the first is the one that gates compare
};

// Names of the metrics that the task gives for networks with such a first output; none for an unknown task.
std::vector<std::string> metric_names(const Task& task, const Shape& first_output);
std::vector<std::string> task_names();
// Can the answers of a network stand in for labels?
bool teaches(const Task& task);
// input_shape: of the network's first input. Errors: unknown task or decoder, an input that does not fit, a
// dictionary that cannot be read.
Result<std::unique_ptr<Scorer>> make_scorer(const Task& task, std::shared_ptr<const Truth> truth, const Shape& input_shape);

}  // namespace narrow
