// Accuracy on labelled data: the same samples and the same scoring for every network (float, fake-quantized, integer), one sample at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/progress.h"
#include "data/dataset.h"
#include "recipe/recipe.h"
#include "tensor/tensor.h"

namespace narrow {

struct Metric {
  std::string name;     // "top-1", "top-5", "mAP@.5"
  double value = 0;
  std::string unit;     // "%" or ""
  int digits = 2;       // to print
};

// Collects outputs of samples in any order and scores them.
class Truth;
class Scorer {
 public:
  virtual ~Scorer() = default;
  // Holds what these outputs say for true.
  virtual Status teach(std::int64_t index, const Sample& sample, std::span<const Tensor> outputs, Truth& truth) const = 0;
  // outputs: real numbers. Error: the outputs do not fit the task.
  virtual Status add(std::int64_t index, const Sample& sample, std::span<const Tensor> outputs) = 0;
  virtual std::vector<Metric> metrics() const = 0;  // the first is the one that gates compare
};

struct Task {
  std::string kind;               // classify, detect
  std::string decoder;            // detect
  std::int64_t label_offset = 0;  // class = argmax + offset
  // classify: an .npy of integers, one per sample of the whole data set, or a text file of lines "FILE LABEL";
  // detect: a folder of VOC annotations, NAME.xml beside every NAME.jpg. Empty: the answers of the first network are held for true
  // (its best class; its boxes that score at least 0.5), so that the others are measured by their agreement with it.
  std::string labels;
  std::int64_t first = 0;         // samples skipped in front; labels in an array are skipped too
};

// Reads the labels of all samples at once, so that a missing one is reported before work is done.
Result<std::shared_ptr<Truth>> read_truth(const Task& task, const Dataset& dataset);
Result<std::unique_ptr<Scorer>> make_scorer(const Task& task, std::shared_ptr<const Truth> truth, const Shape& input_shape);

struct Contender {
  std::string name;  // "float", "integer"
  std::function<Result<std::vector<Tensor>>(const Sample&)> run;
};
struct Evaluation {
  std::int64_t samples = 0;
  std::int64_t skipped = 0;       // could not be read; named in diagnostics
  struct Column { std::string name; std::vector<Metric> metrics; double seconds = 0; };
  std::vector<Column> columns;    // as the contenders
  std::string task;               // classify, detect
  bool agreement = false;         // there were no labels: scores are against the first column
  std::int64_t same_argmax = 0;   // samples whose first output has its largest element at the same place in the first two columns
};
// A sample that cannot be read is skipped with a warning while others remain.
Result<Evaluation> evaluate(const Dataset& dataset, const Task& task, const Shape& input_shape, const std::vector<Contender>& contenders,
                            Diagnostics& diagnostics, Progress& progress);

}  // namespace narrow
