#include "measure/truth.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/text.h"
#include "measure/annotations.h"
#include "measure/reading.h"
#include "tensor/npy.h"

namespace narrow {
namespace {

std::string stem_of(const std::string& name) { return std::filesystem::path(name).stem().string(); }
std::string base_of(const std::string& name) { return std::filesystem::path(name).filename().string(); }

Result<std::vector<std::int64_t>> labels_from_array(const Task& task, const Dataset& dataset) {
  const Tensor tensor = NARROW_TRY(read_npy(task.labels));
  const Shape& shape = tensor.shape();
  if (is_float(tensor.dtype())) return error("labels '{}' are {}, wanted integers", task.labels, name_of(tensor.dtype())).with_help("give the class of every sample as a whole number");
  if (std::count_if(shape.begin(), shape.end(), [](std::int64_t extent) { return extent != 1; }) > 1) {
    return error("labels '{}' have shape {}, wanted one class for each sample: [{}]", task.labels, to_string(shape), dataset.total())
        .with_help(shape.size() == 2 && shape[0] == dataset.total() ? "if a row holds ones and zeros, the class is where its one stands: numpy.argmax(labels, axis=1)" : "is this the file of labels?");
  }
  std::vector<std::int64_t> labels = tensor.to_ints();
  const auto found = static_cast<std::int64_t>(labels.size()), wanted = task.first + dataset.size();
  if (found < wanted || found > dataset.total()) {
    return error("labels '{}' hold {} entries, wanted one for each of the {} samples", task.labels, found, found < wanted ? wanted : dataset.total())
        .with_help(found < wanted ? "give the labels of this data set, or fewer samples with --samples" : "give the labels of this data set");
  }
  const auto negative = std::find_if(labels.begin(), labels.end(), [](std::int64_t label) { return label < 0; });
  if (negative != labels.end()) {
    return error("labels '{}' hold the class {} for sample {}, wanted 0 or more", task.labels, *negative, negative - labels.begin())
        .with_help("classes are counted from 0; --label-offset shifts what the network answers");
  }
  labels.erase(labels.begin(), labels.begin() + task.first);
  labels.resize(static_cast<std::size_t>(dataset.size()));
  return labels;
}

using LabelsByName = std::map<std::string, std::int64_t>;  // by file name without folders
Result<LabelsByName> read_list(const Task& task) {
  const std::string& file = task.labels;
  const std::string text = NARROW_TRY(read_file(file, "--labels wants lines \"FILE LABEL\" or an .npy here; a folder of annotations is for task 'detect'"));
  LabelsByName by_name;
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
      return error("a line of labels reads '{}', wanted \"FILE LABEL\"", trimmed).at({.file = file, .line = number, .text = {}}).with_help("one line for each sample, its class behind the file's name; or an .npy of integers");
    }
    const SourceSpan where{.file = file, .line = number, .text = {}};
    if (label < 0 && task.kind == "classify") {
      return error("a line of labels reads '{}', wanted a class of 0 or more", trimmed).at(where).with_help("classes are counted from 0; --label-offset shifts what the network answers");
    }
    const std::string name = base_of(std::string(trim(trimmed.substr(0, space))));
    const auto [known, added] = by_name.emplace(name, label);
    if (!added && known->second != label) {
      return error("labels call '{}' both {} and {}", name, known->second, label).at(where).with_help("files are told apart by their names without folders: give each its own, or labels as an .npy in the order of the samples");
    }
  }
  return by_name;
}

// `name_of`: what the list calls a sample.
template <typename NameOf>
Result<std::vector<std::int64_t>> labels_from_list(const Task& task, const Dataset& dataset, const NameOf& name_of) {
  const LabelsByName by_name = NARROW_TRY(read_list(task));
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const auto found = by_name.find(base_of(name_of(i)));
    if (found == by_name.end()) return error("labels '{}' have no line for sample '{}'", task.labels, base_of(name_of(i))).with_help("one line \"FILE LABEL\" for each sample");
    labels.push_back(found->second);
  }
  return labels;
}

Status read_recordings(const Task& task, const Dataset& dataset, Truth& truth) {
  if (std::filesystem::path(task.labels).extension() == ".npy") {
    return error("labels '{}' are an array, but task 'anomaly' labels whole files", task.labels).with_help("give a text file of lines \"FILE LABEL\", 0 for a normal recording").with_exit_code(ExitCode::kUsage);
  }
  truth.labels = NARROW_TRY(labels_from_list(task, dataset, [&](std::int64_t i) { return dataset.file_of(i); }));
  const auto anomalous = static_cast<std::size_t>(std::count_if(truth.labels.begin(), truth.labels.end(), [](std::int64_t label) { return label != 0; }));
  if (anomalous == 0 || anomalous == truth.labels.size()) {
    return error("labels '{}' call every recording {}, wanted both kinds", task.labels, anomalous == 0 ? "normal (0)" : "anomalous (not 0)").with_help("the area under the ROC curve compares the two");
  }
  std::map<std::string, std::size_t> numbers;
  for (std::int64_t i = 0; i < dataset.size(); ++i) truth.recordings.push_back(numbers.emplace(dataset.file_of(i), numbers.size()).first->second);
  return {};
}

Result<std::vector<std::u32string>> read_texts(const Task& task, const Dataset& dataset) {
  const std::string list = NARROW_TRY(read_file(task.labels));
  std::map<std::string, std::u32string> by_name;
  int number = 0;
  for (const std::string& line : split(list, '\n')) {
    const SourceSpan where{.file = task.labels, .line = ++number, .text = {}};
    if (trim(line).empty()) continue;
    const std::string_view entry = std::string_view(line).substr(line.find_first_not_of(" \t"));
    const std::size_t tab = entry.find('\t'), gap = tab == std::string_view::npos ? entry.find(' ') : tab;
    const Result<std::u32string> text = gap == std::string_view::npos ? std::u32string() : from_utf8(trim(entry.substr(gap)));
    if (!text) return error("a line of labels is not UTF-8").at(where).with_help("write the file again as UTF-8");
    const std::string name = base_of(std::string(trim(entry.substr(0, gap))));
    const auto [known, added] = by_name.emplace(name, std::u32string(trim_spaces(*text)));
    if (!added && known->second != trim_spaces(*text)) {
      return error("labels give '{}' two different texts", name).at(where).with_help("files are told apart by their names without folders: give each its own");
    }
  }
  std::vector<std::u32string> texts;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const auto found = by_name.find(base_of(dataset.name_of(i)));
    if (found == by_name.end()) return error("labels '{}' have no line for sample '{}'", task.labels, base_of(dataset.name_of(i))).with_help("one line \"FILE TEXT\" for each sample, with a tab between the two");
    texts.push_back(found->second);
  }
  return texts;
}

}  // namespace

Result<std::shared_ptr<Truth>> read_truth(const Task& task, const Dataset& dataset) {
  auto truth = std::make_shared<Truth>();
  if (task.labels.empty()) {
    return error("task '{}' needs labels, found none", task.kind)
        .with_help(task.kind == "anomaly" ? "--labels LIST of \"FILE LABEL\" lines, 0 for a normal recording"
                                          : "--labels FILE.npy or a list of \"FILE LABEL\" lines for classify, of \"FILE TEXT\" lines for read, --labels FOLDER of VOC annotations for detect; without labels, give two networks: the second is held against the first")
        .with_exit_code(ExitCode::kUsage);
  }
  if (task.kind == "classify") {
    const bool array = std::filesystem::path(task.labels).extension() == ".npy";
    truth->labels = NARROW_TRY(array ? labels_from_array(task, dataset) : labels_from_list(task, dataset, [&](std::int64_t i) { return dataset.name_of(i); }));
  } else if (task.kind == "anomaly") {
    NARROW_TRY(read_recordings(task, dataset, *truth));
  } else if (task.kind == "read") {
    truth->texts = NARROW_TRY(read_texts(task, dataset));
  } else {
    for (std::int64_t i = 0; i < dataset.size(); ++i) {
      const std::string file = (std::filesystem::path(task.labels) / (stem_of(dataset.name_of(i)) + ".xml")).string();
      truth->boxes.push_back(NARROW_TRY(parse_voc_annotation(NARROW_TRY(read_file(file, "--labels wants the folder of VOC annotations, one .xml of the same name for each picture")), file)));
    }
  }
  return truth;
}

}  // namespace narrow
