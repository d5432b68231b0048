// Accuracy on labelled data: the same samples and the same scoring for every network (float, fake-quantized, integer), one sample at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/error.h"
#include "base/progress.h"
#include "data/dataset.h"
#include "measure/scorers.h"
#include "tensor/tensor.h"

namespace narrow {

struct Contender {
  std::string name;  // "float", "integer"
  std::function<Result<std::vector<Tensor>>(const Sample&)> run;
};
struct Evaluation {
  std::int64_t samples = 0;
  std::int64_t skipped = 0;       // could not be read; named in diagnostics
  struct Column { std::string name; std::vector<Metric> metrics; double seconds = 0; };
  std::vector<Column> columns;    // as the contenders
  std::string task;               // classify, detect, anomaly, read
  bool agreement = false;         // there were no labels: scores are against the first column
  std::int64_t same_argmax = 0;   // samples whose first output has its largest element at the same place in the first two columns
};
// A sample that cannot be read is skipped with a warning while others remain.
Result<Evaluation> evaluate(const Dataset& dataset, const Task& task, const Shape& input_shape, const std::vector<Contender>& contenders,
                            Diagnostics& diagnostics, Progress& progress);

}  // namespace narrow
