#include "measure/eval.h"

#include <charconv>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "data/sample_stream.h"
#include "measure/annotations.h"
#include "measure/decoders.h"
#include "measure/top_k.h"
#include "tensor/npy.h"

namespace narrow {

// One entry per sample of the data set.
class Truth {
 public:
  std::vector<std::int64_t> labels;
  std::vector<std::vector<TrueBox>> boxes;
};

namespace {

constexpr double kSuppressionIou = 0.45;

std::string stem_of(const std::string& name) { return std::filesystem::path(name).stem().string(); }
std::string base_of(const std::string& name) { return std::filesystem::path(name).filename().string(); }

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
    if (classes_ > 5) all.push_back({"top-5", score_.top5(), "%"});
    return all;
  }

 private:
  static Status check(std::span<const Tensor> outputs) {
    if (!outputs.empty() && outputs[0].dtype() == DType::kF32 && outputs[0].elements() >= 2) return {};
    return error("task 'classify' wants a first output of one score per class, found {}", outputs.empty() ? "none" : to_string(outputs[0].shape()));
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

Result<std::vector<std::int64_t>> labels_from_array(const Task& task, const Dataset& dataset) {
  const Tensor tensor = NARROW_TRY(read_npy(task.labels));
  if (is_float(tensor.dtype())) return error("labels '{}' are {}, wanted integers", task.labels, name_of(tensor.dtype())).with_help("give the class of every sample as a whole number");
  std::vector<std::int64_t> labels = tensor.to_ints();
  const auto wanted = static_cast<std::size_t>(task.first + dataset.size());
  if (labels.size() < wanted) {
    return error("labels '{}' hold {} entries, wanted one for each of the {} samples", task.labels, labels.size(), wanted)
        .with_help("give the labels of this data set, or fewer samples with --samples");
  }
  labels.erase(labels.begin(), labels.begin() + task.first);
  labels.resize(static_cast<std::size_t>(dataset.size()));
  return labels;
}

Result<std::vector<std::int64_t>> labels_from_list(const Task& task, const Dataset& dataset) {
  const std::string text = NARROW_TRY(read_file(task.labels));
  std::map<std::string, std::int64_t> by_name;
  int number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::string_view trimmed = trim(line);
    if (trimmed.empty()) continue;
    const std::size_t space = trimmed.find_last_of(" \t");
    std::int64_t label = 0;
    const std::string_view digits = space == std::string_view::npos ? std::string_view{} : trimmed.substr(space + 1);
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), label);
    if (digits.empty() || code != std::errc() || end != digits.data() + digits.size()) {
      return error("a line of labels reads '{}', wanted \"FILE LABEL\"", trimmed).at({.file = task.labels, .line = number, .text = {}}).with_help("one line for each sample, its class behind the file's name; or an .npy of integers");
    }
    by_name[base_of(std::string(trim(trimmed.substr(0, space))))] = label;
  }
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const auto found = by_name.find(base_of(dataset.name_of(i)));
    if (found == by_name.end()) return error("labels '{}' have no line for sample '{}'", task.labels, base_of(dataset.name_of(i))).with_help("one line \"FILE LABEL\" for each sample");
    labels.push_back(found->second);
  }
  return labels;
}

}  // namespace

Result<std::shared_ptr<Truth>> read_truth(const Task& task, const Dataset& dataset) {
  auto truth = std::make_shared<Truth>();
  if (task.labels.empty()) {
    return error("task '{}' needs labels, found none", task.kind)
        .with_help("--labels FILE.npy or a list of \"FILE LABEL\" lines for classify, --labels FOLDER of VOC annotations for detect; without labels, give two networks: the second is held against the first")
        .with_exit_code(ExitCode::kUsage);
  }
  if (task.kind == "classify") {
    const bool array = std::filesystem::path(task.labels).extension() == ".npy";
    truth->labels = NARROW_TRY(array ? labels_from_array(task, dataset) : labels_from_list(task, dataset));
  } else {
    for (std::int64_t i = 0; i < dataset.size(); ++i) {
      const std::string file = (std::filesystem::path(task.labels) / (stem_of(dataset.name_of(i)) + ".xml")).string();
      truth->boxes.push_back(NARROW_TRY(parse_voc_annotation(NARROW_TRY(read_file(file)), file)));
    }
  }
  return truth;
}

Result<std::unique_ptr<Scorer>> make_scorer(const Task& task, std::shared_ptr<const Truth> truth, const Shape& input_shape) {
  if (task.kind == "classify") return std::make_unique<ClassificationScorer>(task, std::move(truth));
  if (task.kind != "detect") {
    return error("unknown task '{}', wanted classify or detect", task.kind).with_help(did_you_mean(task.kind, {"classify", "detect"})).with_exit_code(ExitCode::kUsage);
  }
  const Decoder decoder = NARROW_TRY(find_decoder(task.decoder));
  if (input_shape.size() != 4) return error("task 'detect' wants an image input, found {}", to_string(input_shape));
  const bool first = input_shape[1] <= 4;  // channels first
  const ImageSize size = first ? ImageSize{input_shape[2], input_shape[3]} : ImageSize{input_shape[1], input_shape[2]};
  return std::make_unique<DetectionScorer>(decoder, std::move(truth), size);
}

Result<Evaluation> evaluate(const Dataset& dataset, const Task& task, const Shape& input_shape, const std::vector<Contender>& contenders,
                            Diagnostics& diagnostics, Progress& progress) {
  std::vector<std::unique_ptr<Scorer>> scorers;
  NARROW_TRY(make_scorer(task, nullptr, input_shape));  // an unknown task or decoder is said before anything is read
  Evaluation result;
  result.task = task.kind;
  result.agreement = task.labels.empty() && contenders.size() >= 2;
  auto truth = std::make_shared<Truth>();
  if (result.agreement) {
    truth->labels.resize(static_cast<std::size_t>(dataset.size()));
    truth->boxes.resize(static_cast<std::size_t>(dataset.size()));
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
      diagnostics.warn(fmt::format("sample skipped: {}", sample.error().message), sample.error().help);
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
