#include "measure/eval.h"

#include <chrono>

#include "data/sample_stream.h"
#include "measure/top_k.h"

namespace narrow {

Result<Evaluation> evaluate(const Dataset& dataset, const Task& task, const Shape& input_shape, const std::vector<Contender>& contenders,
                            Diagnostics& diagnostics, Progress& progress) {
  std::vector<std::unique_ptr<Scorer>> scorers;
  NARROW_TRY(make_scorer(task, nullptr, input_shape));  // an unknown task or decoder is said before anything is read
  Evaluation result;
  result.task = task.kind;
  result.agreement = task.labels.empty() && contenders.size() >= 2 && teaches(task);
  auto truth = std::make_shared<Truth>();
  if (result.agreement) {
    truth->labels.resize(static_cast<std::size_t>(dataset.size()));
    truth->boxes.resize(static_cast<std::size_t>(dataset.size()));
    truth->texts.resize(static_cast<std::size_t>(dataset.size()));
  } else {
    truth = NARROW_TRY(read_truth(task, dataset));
  }
  for (const Contender& contender : contenders) {
    scorers.push_back(NARROW_TRY(make_scorer(task, truth, input_shape)));
    result.columns.push_back({.name = contender.name, .metrics = {}});
  }
  for (SampleStream stream(dataset, 0, dataset.size()); !stream.done();) {
    NARROW_TRY(check_cancelled());
    const std::int64_t i = stream.index();
    const Result<Sample> sample = stream.next();
    if (!sample) {
      warn_left_out(dataset, i, sample.error(), diagnostics);
      ++result.skipped;
      continue;
    }
    std::vector<std::int64_t> largest;
    for (std::size_t k = 0; k < contenders.size(); ++k) {
      const auto begin = std::chrono::steady_clock::now();
      const std::vector<Tensor> outputs = NARROW_TRY(contenders[k].run(*sample));
      result.columns[k].seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (result.agreement && k == 0) NARROW_TRY(scorers[0]->teach(i, *sample, outputs, *truth));
      NARROW_TRY(scorers[k]->add(i, *sample, outputs));
      if (!outputs.empty() && outputs[0].dtype() == DType::kF32) largest.push_back(argmax(outputs[0].span<float>()));
    }
    result.same_argmax += largest.size() >= 2 && largest[0] == largest[1] ? 1 : 0;
    ++result.samples;
    progress.step(i + 1, dataset.size(), "samples");
  }
  if (result.samples == 0) return error("none of the {} samples could be read", dataset.size());
  for (std::size_t k = 0; k < scorers.size(); ++k) result.columns[k].metrics = scorers[k]->metrics();
  return result;
}

}  // namespace narrow
