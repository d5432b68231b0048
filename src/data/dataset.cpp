#include "data/dataset.h"

#include <algorithm>
#include <cstring>

#include "base/file.h"
#include "base/text.h"
#include "data/collect_files.h"
#include "data/npz.h"
#include "data/prepare.h"
#include "tensor/npy.h"

namespace narrow {
namespace {

Error changed(const DataItem& item) { return error("'{}' changed while it was in use", item.path); }

Result<Tensor> read_raw(const DataItem& item, std::int64_t elements) {
  const auto file = NARROW_TRY(MappedFile::open(item.path));
  const std::size_t first = static_cast<std::size_t>(item.offset) * size_of(item.dtype), count = static_cast<std::size_t>(elements) * size_of(item.dtype);
  const std::size_t found = file->bytes().size();
  if (item.alone ? found != count : found < first + count) return error("'{}' changed while it was in use: {} bytes, wanted {}", item.path, found, first + count);
  Tensor array(item.dtype, {elements});
  std::memcpy(array.raw(), file->bytes().data() + first, count);
  return array;
}

// A file that holds one sample.
Result<Tensor> read_npz_array(const DataItem& item) {
  const NpzFile file = NARROW_TRY(NpzFile::open(item.path));
  const auto member = file.find(item.key);
  if (!member) return tl::unexpected<Error>(changed(item));
  return file.read(*member);
}

class FileDataset : public Dataset {
 public:
  FileDataset(std::vector<InputSpec> specs, DataColumns columns, std::int64_t total) : specs_(std::move(specs)), columns_(std::move(columns)), total_(total) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(columns_[0].size()); }
  std::string name_of(std::int64_t index) const override { return columns_[0][static_cast<std::size_t>(index)].name(); }
  std::string file_of(std::int64_t index) const override { return columns_[0][static_cast<std::size_t>(index)].path; }
  std::optional<DType> stored_type(std::size_t input) const override { return columns_[input][0].dtype; }
  std::vector<std::string> files() const override;
  std::int64_t total() const override { return total_; }
  Result<Sample> load(std::int64_t index) const override;
  std::string formula() const override;

 private:
  static Result<Tensor> load_array(const InputSpec& spec, const DataItem& item);
  std::vector<InputSpec> specs_;
  DataColumns columns_;  // [input][sample]
  std::int64_t total_;
};

std::vector<std::string> FileDataset::files() const {
  std::vector<std::string> paths;
  for (const auto& items : columns_) {
    for (const DataItem& item : items) {
      if (paths.empty() || paths.back() != item.path) paths.push_back(item.path);
    }
  }
  return paths;
}

Result<Tensor> FileDataset::load_array(const InputSpec& spec, const DataItem& item) {
  const std::int64_t elements = element_count(spec.type.shape);
  if (item.kind == DataKind::kRaw) return prepare_array(spec, NARROW_TRY(read_raw(item, elements)), item.permuted);
  if (item.array == nullptr) {
    const Tensor array = NARROW_TRY(item.kind == DataKind::kNpz ? read_npz_array(item) : read_npy(item.path));
    if (array.elements() != elements || array.dtype() != item.dtype) return tl::unexpected<Error>(changed(item));
    return prepare_array(spec, array, item.permuted);
  }
  Tensor prepared = prepare_array(spec, item.array->part(item.offset, elements), item.permuted);
  item.array->release(item.offset, elements);
  return prepared;
}

Result<Sample> FileDataset::load(std::int64_t index) const {
  NARROW_CHECK(index >= 0 && index < size());
  Sample sample;
  sample.name = name_of(index);
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const DataItem& item = columns_[i][static_cast<std::size_t>(index)];
    if (item.kind == DataKind::kDangling) return error("cannot open '{}': it is a link to a file that does not exist", item.path).with_help("repair or remove the link");
    if (item.kind != DataKind::kImage) {
      sample.inputs.push_back(NARROW_TRY(load_array(specs_[i], item)));
      continue;
    }
    const Image image = NARROW_TRY(decode_image(item.path));
    PreparedImage prepared = NARROW_TRY(prepare_image(specs_[i], image, item.path));
    sample.inputs.push_back(std::move(prepared.tensor));
    if (sample.image_width > 0) continue;  // boxes refer to the first picture
    sample.scale_x = prepared.scale_x;
    sample.scale_y = prepared.scale_y;
    sample.offset_x = prepared.offset_x;
    sample.offset_y = prepared.offset_y;
    sample.image_width = image.width;
    sample.image_height = image.height;
  }
  return sample;
}

std::string FileDataset::formula() const {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const auto readable = std::find_if(columns_[i].begin(), columns_[i].end(), [](const DataItem& item) { return item.kind != DataKind::kDangling; });
    if (readable == columns_[i].end()) continue;
    const DataItem& first = *readable;
    lines.push_back(first.kind == DataKind::kImage ? formula_of_image(specs_[i]) : formula_of_array(specs_[i], first.dtype, first.permuted));
  }
  return join(lines, "\n");
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_dataset(const DatasetOptions& options, const Graph& graph, const Recipe& recipe) {
  std::vector<InputSpec> specs;
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs()) names.push_back(graph.value(id).name);
  if (graph.inputs().size() > 1 && recipe.inputs.size() == 1 && recipe.inputs[0].name.empty()) {
    return error("'input' describes the only input, but the network has {}: {}", graph.inputs().size(), join(names, ", ")).at(recipe.inputs[0].where).with_help("describe them under 'inputs', by name");
  }
  for (const ValueId id : graph.inputs()) specs.push_back(NARROW_TRY(make_input_spec(graph.value(id), recipe)));
  for (const InputRecipe& input : recipe.inputs) {
    if (input.name.empty() || std::find(names.begin(), names.end(), input.name) != names.end()) continue;
    const std::string near = did_you_mean(input.name, names);
    return error("the network has no input '{}'", input.name).at(input.where).with_help(near.empty() ? fmt::format("inputs: {}", join(names, ", ")) : near);
  }
  if (specs.empty()) return error("the network '{}' has no inputs, so there is nothing to feed", graph.name);
  if (options.paths.empty()) return error("no data are given").with_help("name a folder, a list or files with --data");
  FileCollector collector(specs);
  for (const std::string& entry : options.paths) NARROW_TRY(collector.add_entry(entry));
  DataColumns columns = NARROW_TRY(collector.finish());
  const auto total = static_cast<std::int64_t>(columns[0].size());
  if (options.first >= total) return error("the data hold {} samples, but the first {} are to be skipped", total, options.first).with_help("skip fewer");
  const std::int64_t count = options.limit < 0 ? total - options.first : std::min(options.limit, total - options.first);
  if (count == 0) return error("0 samples are to be used, wanted at least 1").with_help("raise the limit");
  for (auto& items : columns) {
    items.erase(items.begin(), items.begin() + options.first);
    items.resize(static_cast<std::size_t>(count));
  }
  return std::make_unique<FileDataset>(std::move(specs), std::move(columns), total);
}

}  // namespace narrow
