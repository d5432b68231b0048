#include "measure/scorers.h"

#include <algorithm>

#include "base/text.h"
#include "measure/auc.h"
#include "measure/decoders.h"
#include "measure/reading.h"
#include "measure/top_k.h"

namespace narrow {
namespace {

constexpr double kSuppressionIou = 0.45;

bool has_top5(std::int64_t classes) { return classes > 5; }

class ClassificationScorer : public Scorer {
 public:
  ClassificationScorer(const Task& task, std::shared_ptr<const Truth> truth) : truth_(std::move(truth)), offset_(task.label_offset) {}
  Status teach(std::int64_t index, const Sample&, std::span<const Tensor> outputs, Truth& truth) const override {
    NARROW_TRY(check(outputs));
    truth.labels[static_cast<std::size_t>(index)] = argmax(outputs[0].span<float>()) + offset_;
    return {};
  }
  Status add(std::int64_t index, const Sample&, std::span<const Tensor> outputs) override {
    NARROW_TRY(check(outputs));
    score_.add(outputs[0], std::span(&truth_->labels[static_cast<std::size_t>(index)], 1), offset_);
    classes_ = outputs[0].elements();
    return {};
  }
  std::vector<Metric> metrics() const override {
    std::vector<Metric> all{{"top-1", score_.top1(), "%"}};
    if (has_top5(classes_)) all.push_back({"top-5", score_.top5(), "%"});
    return all;
  }

 private:
  static Status check(std::span<const Tensor> outputs) {
    if (!outputs.empty() && outputs[0].dtype() == DType::kF32) {
      const Shape& shape = outputs[0].shape();  // one axis of classes; [1,1000,1,1] has one as well
      if (std::count_if(shape.begin(), shape.end(), [](std::int64_t extent) { return extent != 1; }) == 1 && outputs[0].elements() >= 2) return {};
    }
    return error("task 'classify' wants a first output of one score per class, found {}", outputs.empty() ? "none" : to_string(outputs[0].shape()))
        .with_help("--task detect or read if it holds boxes or lines of text; `narrow compare` measures any output against the float one");
  }
  std::shared_ptr<const Truth> truth_;
  std::int64_t offset_;
  std::int64_t classes_ = 0;
  TopK score_;
};

class DetectionScorer : public Scorer {
 public:
  DetectionScorer(Decoder decode, std::shared_ptr<const Truth> truth, ImageSize input) : decode_(decode), truth_(std::move(truth)), input_(input) {}
  Status teach(std::int64_t index, const Sample& sample, std::span<const Tensor> outputs, Truth& truth) const override {
    for (const Detection& d : NARROW_TRY(detections(sample, outputs))) {
      if (d.score >= kCertain) truth.boxes[static_cast<std::size_t>(index)].push_back({d.box, d.label});
    }
    return {};
  }
  Status add(std::int64_t index, const Sample& sample, std::span<const Tensor> outputs) override {
    score_.add_image(NARROW_TRY(detections(sample, outputs)), truth_->boxes[static_cast<std::size_t>(index)]);
    return {};
  }
  std::vector<Metric> metrics() const override { return {{"mAP@.5", score_.mean_average_precision(), "", 4}}; }

 private:
  static constexpr double kCertain = 0.5;
  // In pixels of the picture.
  Result<std::vector<Detection>> detections(const Sample& sample, std::span<const Tensor> outputs) const {
    std::vector<Detection> all = suppress(NARROW_TRY(decode_(outputs, input_)), kSuppressionIou);
    for (Detection& d : all) {
      d.box = {(d.box.x0 - sample.offset_x) / sample.scale_x, (d.box.y0 - sample.offset_y) / sample.scale_y, (d.box.x1 - sample.offset_x) / sample.scale_x,
               (d.box.y1 - sample.offset_y) / sample.scale_y};
    }
    return all;
  }
  Decoder decode_;
  std::shared_ptr<const Truth> truth_;
  ImageSize input_;
  DetectionScore score_;
};

// A network that rebuilds its input: the score of a recording is the mean over its windows of the mean squared error.
class AnomalyScorer : public Scorer {
 public:
  explicit AnomalyScorer(std::shared_ptr<const Truth> truth) : truth_(std::move(truth)) {}
  Status teach(std::int64_t, const Sample&, std::span<const Tensor>, Truth&) const override { return error("task 'anomaly' cannot be taught"); }
  Status add(std::int64_t index, const Sample& sample, std::span<const Tensor> outputs) override {
    const Tensor& x = sample.inputs[0];
    if (outputs.empty() || outputs[0].dtype() != DType::kF32 || x.dtype() != DType::kF32 || outputs[0].elements() != x.elements() || x.elements() == 0) {
      return error("task 'anomaly' wants a first output of as many numbers as the first input {}, found {}", to_string(x.shape()), outputs.empty() ? "none" : to_string(outputs[0].shape()));
    }
    double sum = 0;
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const double difference = static_cast<double>(outputs[0].data<float>()[i]) - static_cast<double>(x.data<float>()[i]);
      sum += difference * difference;
    }
    const std::size_t recording = truth_->recordings[static_cast<std::size_t>(index)];
    if (recording >= recordings_.size()) recordings_.resize(recording + 1);
    recordings_[recording].sum += sum / static_cast<double>(x.elements());
    ++recordings_[recording].windows;
    recordings_[recording].anomalous = truth_->labels[static_cast<std::size_t>(index)] != 0;
    return {};
  }
  std::vector<Metric> metrics() const override {
    std::vector<double> scores;
    std::vector<bool> anomalous;
    for (const Recording& recording : recordings_) {
      if (recording.windows == 0) continue;  // none of its windows could be read
      scores.push_back(recording.sum / static_cast<double>(recording.windows));
      anomalous.push_back(recording.anomalous);
    }
    return {{"AUC", area_under_roc(scores, anomalous), "", 4}};
  }

 private:
  struct Recording { double sum = 0; std::int64_t windows = 0; bool anomalous = false; };
  std::shared_ptr<const Truth> truth_;
  std::vector<Recording> recordings_;
};

// A reader of text lines: the share of lines without a fault, and one less the edits that the texts need per true character.
class ReadingScorer : public Scorer {
 public:
  ReadingScorer(Alphabet alphabet, std::shared_ptr<const Truth> truth) : alphabet_(std::move(alphabet)), truth_(std::move(truth)) {}
  Status teach(std::int64_t index, const Sample&, std::span<const Tensor> outputs, Truth& truth) const override {
    truth.texts[static_cast<std::size_t>(index)] = NARROW_TRY(text_of(outputs));
    return {};
  }
  Status add(std::int64_t index, const Sample&, std::span<const Tensor> outputs) override {
    const std::u32string text = NARROW_TRY(text_of(outputs));
    const std::u32string& truth = truth_->texts[static_cast<std::size_t>(index)];
    ++lines_;
    right_ += text == truth ? 1 : 0;
    characters_ += static_cast<std::int64_t>(truth.size());
    edits_ += edit_distance(text, truth);
    return {};
  }
  std::vector<Metric> metrics() const override { return {{"lines", percent(right_, lines_), "%"}, {"characters", percent(std::max<std::int64_t>(0, characters_ - edits_), characters_), "%"}}; }

 private:
  static double percent(std::int64_t part, std::int64_t whole) { return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole); }
  Result<std::u32string> text_of(std::span<const Tensor> outputs) const {
    const Shape shape = outputs.empty() ? Shape{} : outputs[0].shape();
    if (shape.size() < 2 || shape.back() < 2 || outputs[0].dtype() != DType::kF32 || (shape.size() > 2 && shape[0] != 1)) {
      return error("task 'read' wants a first output of [1, steps, classes], found {}", outputs.empty() ? "none" : to_string(shape));
    }
    NARROW_TRY(alphabet_.check(shape.back()));
    const std::u32string text = read_line(outputs[0].span<float>(), shape.back(), alphabet_);
    return alphabet_.empty() ? text : std::u32string(trim_spaces(text));
  }
  Alphabet alphabet_;
  std::shared_ptr<const Truth> truth_;
  std::int64_t lines_ = 0, right_ = 0, characters_ = 0, edits_ = 0;
};

}  // namespace

std::vector<std::string> task_names() { return {"classify", "detect", "anomaly", "read"}; }

std::vector<std::string> metric_names(const Task& task, const Shape& first_output) {
  if (task.kind == "detect") return {"mAP@.5"};
  if (task.kind == "anomaly") return {"AUC"};
  if (task.kind == "read") return {"lines", "characters"};
  if (task.kind != "classify") return {};
  return has_top5(element_count(first_output)) ? std::vector<std::string>{"top-1", "top-5"} : std::vector<std::string>{"top-1"};
}

bool teaches(const Task& task) { return task.kind != "anomaly"; }

Result<std::unique_ptr<Scorer>> make_scorer(const Task& task, std::shared_ptr<const Truth> truth, const Shape& input_shape) {
  if (task.kind == "classify") return std::make_unique<ClassificationScorer>(task, std::move(truth));
  if (task.kind == "anomaly") return std::make_unique<AnomalyScorer>(std::move(truth));
  if (task.kind == "read") {
    if (task.dictionary.empty() && !task.labels.empty()) {
      return error("task 'read' needs a dictionary to hold texts against labels").with_help("--dictionary FILE, one character a line in the order of the classes; or eval: {task: read, dictionary: FILE} in the recipe").with_exit_code(ExitCode::kUsage);
    }
    return std::make_unique<ReadingScorer>(task.dictionary.empty() ? Alphabet() : NARROW_TRY(Alphabet::read(task.dictionary)), std::move(truth));
  }
  if (task.kind != "detect") {
    return error("unknown task '{}', wanted {}", task.kind, join(task_names(), ", ")).with_help(did_you_mean(task.kind, task_names())).with_exit_code(ExitCode::kUsage);
  }
  const Decoder decoder = NARROW_TRY(find_decoder(task.decoder));
  if (input_shape.size() != 4) return error("task 'detect' wants an image input, found {}", to_string(input_shape));
  const bool first = input_shape[1] <= 4;  // channels first
  const ImageSize size = first ? ImageSize{input_shape[2], input_shape[3]} : ImageSize{input_shape[1], input_shape[2]};
  return std::make_unique<DetectionScorer>(decoder, std::move(truth), size);
}

}  // namespace narrow
