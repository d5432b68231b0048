#include "data/dataset.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "data/npz.h"
#include "data/prepare.h"
#include "tensor/npy.h"

namespace narrow {
namespace {

namespace fs = std::filesystem;

enum class Kind { kImage, kNpy, kNpz, kRaw };
constexpr std::string_view kReadable = "jpg, jpeg, png, bmp, npy, npz, raw or bin";

std::optional<Kind> kind_of(const fs::path& path) {
  if (is_image_name(path.string())) return Kind::kImage;
  const std::string extension = lower_case(path.extension().string());
  if (extension == ".npy") return Kind::kNpy;
  if (extension == ".npz") return Kind::kNpz;
  if (extension == ".raw" || extension == ".bin") return Kind::kRaw;
  return std::nullopt;
}

// One input of one sample.
struct Item {
  Kind kind = Kind::kImage;
  std::string path;
  Tensor array;              // an array that stays open because it holds several samples; else read when asked for
  std::int64_t index = 0;    // of the sample in the file
  bool alone = true;         // the file holds one sample
  bool permuted = false;
  DType dtype = DType::kU8;  // as stored
  std::string name() const {
    const std::string file = fs::path(path).filename().string();
    return alone ? file : fmt::format("{}[{}]", file, index);
  }
};

DType raw_dtype(const InputSpec& spec) { return spec.recipe.dtype.value_or(spec.type.dtype); }

// Sample `index` of an array whose first axis may count samples.
Tensor slice(const Tensor& array, std::int64_t index, std::int64_t elements) {
  auto* bytes = static_cast<std::byte*>(const_cast<void*>(array.raw())) + static_cast<std::size_t>(index * elements) * size_of(array.dtype());
  return Tensor::view(array.dtype(), {elements}, bytes, std::make_shared<Tensor>(array));
}

class FileDataset : public Dataset {
 public:
  FileDataset(std::vector<InputSpec> specs, std::vector<std::vector<Item>> columns) : specs_(std::move(specs)), columns_(std::move(columns)) {}
  std::int64_t size() const override { return static_cast<std::int64_t>(columns_[0].size()); }
  std::string name_of(std::int64_t index) const override { return columns_[0][static_cast<std::size_t>(index)].name(); }
  Result<Sample> load(std::int64_t index) const override;
  std::string formula() const override;

 private:
  static Result<Tensor> load_array(const InputSpec& spec, const Item& item);
  std::vector<InputSpec> specs_;
  std::vector<std::vector<Item>> columns_;  // [input][sample]
};

Result<Tensor> FileDataset::load_array(const InputSpec& spec, const Item& item) {
  const std::int64_t elements = element_count(spec.type.shape);
  Tensor array = item.array;
  if (item.kind == Kind::kRaw) {
    const auto file = NARROW_TRY(MappedFile::open(item.path));
    const std::size_t wanted = static_cast<std::size_t>(elements) * size_of(item.dtype);
    if (file->bytes().size() != wanted) return error("'{}' changed while it was in use: {} bytes, wanted {}", item.path, file->bytes().size(), wanted);
    array = Tensor(item.dtype, {elements});
    std::memcpy(array.raw(), file->bytes().data(), wanted);
  } else if (!array.has_data()) {
    array = NARROW_TRY(read_npy(item.path));
    if (array.elements() != elements || array.dtype() != item.dtype) return error("'{}' changed while it was in use", item.path);
  }
  const Tensor sample = slice(array, item.index, elements);
  Tensor prepared = prepare_array(spec, sample, item.permuted);
  if (item.kind == Kind::kNpy) {  // read_npy maps; what was read maps its neighbours with it (64 KB at a time), so those in front go, too
    constexpr std::ptrdiff_t kNeighbours = 1 << 20;
    const auto *begin = static_cast<const std::byte*>(sample.raw()), *first = static_cast<const std::byte*>(array.raw());
    MappedFile::release({begin - std::min(begin - first, kNeighbours), begin + sample.bytes()});
  }
  return prepared;
}

Result<Sample> FileDataset::load(std::int64_t index) const {
  NARROW_CHECK(index >= 0 && index < size());
  Sample sample;
  sample.name = name_of(index);
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const Item& item = columns_[i][static_cast<std::size_t>(index)];
    if (item.kind != Kind::kImage) {
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
    const Item& first = columns_[i][0];
    lines.push_back(first.kind == Kind::kImage ? formula_of_image(specs_[i]) : formula_of_array(specs_[i], first.dtype, first.permuted));
  }
  return join(lines, "\n");
}

// The readable files of a folder by name, or, when it has none, those of its folders (one per class).
Status find_files(const fs::path& folder, std::vector<fs::path>* files) {
  std::vector<fs::path> folders;
  std::error_code code;
  const std::size_t before = files->size();
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    if (entry.path().filename().string().starts_with(".")) continue;
    if (entry.is_directory(code)) folders.push_back(entry.path());
    else if (kind_of(entry.path())) files->push_back(entry.path());
  }
  if (code) return error("cannot read the folder '{}': {}", folder.string(), code.message()).with_help("check its permissions");
  std::sort(files->begin() + static_cast<std::ptrdiff_t>(before), files->end());
  std::sort(folders.begin(), folders.end());
  if (files->size() > before) return {};
  for (const fs::path& inner : folders) NARROW_TRY(find_files(inner, files));
  return {};
}

// Collects the files of every input, in order.
class Collector {
 public:
  explicit Collector(std::vector<InputSpec> specs) : specs_(std::move(specs)), columns_(specs_.size()) {}
  Status add_entry(const std::string& entry);
  Result<std::unique_ptr<Dataset>> finish(const DatasetOptions& options);

 private:
  static constexpr std::size_t kAllInputs = static_cast<std::size_t>(-1);
  std::optional<std::size_t> column_of(std::string_view name) const;
  std::string input_names() const;
  Status add_path(const fs::path& path, std::size_t column);
  Status add_folder(const fs::path& folder, std::size_t column);
  Status add_list(const fs::path& path, std::size_t column);
  Status add_file(const fs::path& path, Kind kind, std::size_t column);
  Status add_array(Kind kind, const std::string& path, Tensor array, std::size_t column);
  Status add_npz(const std::string& path, std::size_t column);
  Status add_raw(const std::string& path, std::size_t column);

  std::vector<InputSpec> specs_;
  std::vector<std::vector<Item>> columns_;
};

std::optional<std::size_t> Collector::column_of(std::string_view name) const {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].name == name) return i;
  }
  return std::nullopt;
}

std::string Collector::input_names() const {
  std::vector<std::string> names;
  for (const InputSpec& spec : specs_) names.push_back(fmt::format("'{}'", spec.name));
  return join(names, ", ");
}

Status Collector::add_entry(const std::string& entry) {
  // Both names may contain '=': the longest prefix that names an input wins.
  for (std::size_t at = entry.rfind('='); at != std::string::npos && at > 0; at = entry.rfind('=', at - 1)) {
    if (const auto column = column_of(std::string_view(entry).substr(0, at))) return add_path(entry.substr(at + 1), *column);
  }
  std::error_code code;
  if (!fs::exists(entry, code)) {
    const std::size_t at = entry.find('=');
    if (at == std::string::npos) return error("there is no file or folder '{}'", entry).with_help("check the path");
    std::vector<std::string> names;
    for (const InputSpec& spec : specs_) names.push_back(spec.name);
    const std::string near = did_you_mean(entry.substr(0, at), names);
    return error("the network has no input '{}'", entry.substr(0, at)).with_help(near.empty() ? fmt::format("inputs: {}", input_names()) : near);
  }
  return add_path(entry, specs_.size() == 1 ? 0 : kAllInputs);
}

Status Collector::add_path(const fs::path& path, std::size_t column) {
  std::error_code code;
  if (fs::is_directory(path, code)) return add_folder(path, column);
  if (!fs::exists(path, code)) return error("there is no file or folder '{}'", path.string()).with_help("check the path");
  if (lower_case(path.extension().string()) == ".txt") return add_list(path, column);
  const auto kind = kind_of(path);
  if (!kind) return error("'{}' is no data file that can be read", path.string()).with_help(fmt::format("wanted a folder, a .txt list, or a file {}", kReadable));
  return add_file(path, *kind, column);
}

Status Collector::add_folder(const fs::path& folder, std::size_t column) {
  std::vector<fs::path> files;
  NARROW_TRY(find_files(folder, &files));
  if (files.empty()) return error("the folder '{}' holds no data that can be read", folder.string()).with_help(fmt::format("wanted files {}", kReadable));
  for (const fs::path& file : files) NARROW_TRY(add_file(file, *kind_of(file), column));
  return {};
}

// One sample a line: a path, or as many as there are inputs, in order or as NAME:=PATH. Relative to the list, else to
// the working folder. Lines that begin with # or % are comments.
Status Collector::add_list(const fs::path& path, std::size_t column) {
  const std::string text = NARROW_TRY(read_file(path.string()));
  const auto resolve = [&](const std::string& name) {
    std::error_code code;
    const fs::path beside = path.parent_path() / name;
    return fs::exists(beside, code) ? beside : fs::path(name);
  };
  const std::size_t wanted = column == kAllInputs ? specs_.size() : 1;
  const std::vector<std::string> lines = split(text, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line(trim(lines[i]));
    if (line.empty() || line[0] == '#' || line[0] == '%') continue;
    const SourceSpan span{path.string(), static_cast<int>(i) + 1, 1, static_cast<int>(line.size()), line};
    std::error_code code;
    std::vector<std::string> words;
    if (wanted == 1 && fs::exists(resolve(line), code)) {
      words = {line};  // a name with blanks
    } else {
      for (const std::string& word : split(line, ' ')) {
        if (!trim(word).empty()) words.emplace_back(trim(word));
      }
    }
    if (words.size() != wanted) {
      return error("a line of the list has {} entries, wanted {} ({})", words.size(), wanted, wanted == 1 ? "one input" : input_names())
          .at(span)
          .with_help("write one sample a line: 'a.raw b.raw' or 'in:=a.raw other:=b.raw'");
    }
    for (std::size_t k = 0; k < words.size(); ++k) {
      std::size_t to = column == kAllInputs ? k : column;
      std::string name = words[k];
      if (const std::size_t at = name.find(":="); at != std::string::npos) {
        const auto named = column_of(std::string_view(name).substr(0, at));
        if (!named) return error("the network has no input '{}'", name.substr(0, at)).at(span).with_help(fmt::format("inputs: {}", input_names()));
        to = *named;
        name = name.substr(at + 2);
      }
      const fs::path file = resolve(name);
      const auto kind = kind_of(file);
      if (!kind) return error("'{}' is no data file that can be read", name).at(span).with_help(fmt::format("wanted {}", kReadable));
      if (auto status = add_file(file, *kind, to); !status) {
        if (status.error().where.file.empty()) status.error().where = span;
        return status;
      }
    }
  }
  return {};
}

// What to do when an input is not one picture.
std::string picture_help(const InputSpec& spec) {
  Shape one = spec.type.shape;
  if (one.size() == 4 && one[0] > 1) {
    one[0] = 1;
    std::vector<std::string> extents;
    for (const std::int64_t extent : one) extents.push_back(std::to_string(extent));
    return fmt::format("that is {} pictures at a time; take the model for one: --input-shape {}={}", spec.type.shape[0], spec.name, join(extents, "x"));
  }
  return "wanted one picture of 1 or 3 channels, e.g. [1,3,224,224]; give arrays (.npy) instead";
}

Status Collector::add_file(const fs::path& path, Kind kind, std::size_t column) {
  if (kind == Kind::kNpz) return add_npz(path.string(), column);
  if (column == kAllInputs) {
    return error("'{}' is data for one input, but the network has {}: {}", path.string(), specs_.size(), input_names())
        .with_help(fmt::format("say which: {}=PATH, or give a .npz with their names as keys", specs_[0].name));
  }
  switch (kind) {
    case Kind::kNpy: return add_array(kind, path.string(), NARROW_TRY(read_npy(path.string())), column);
    case Kind::kRaw: return add_raw(path.string(), column);
    default: break;
  }
  const InputSpec& spec = specs_[column];
  if (!spec.image) {
    return error("'{}' is a picture, but input '{}' has shape {}", path.string(), spec.name, to_string(spec.type.shape))
        .with_help(picture_help(spec));
  }
  columns_[column].push_back({Kind::kImage, path.string(), {}, 0, true, false, DType::kU8});
  return {};
}

Status Collector::add_array(Kind kind, const std::string& path, Tensor array, std::size_t column) {
  const ArrayFit fit = NARROW_TRY(fit_array(specs_[column], array.type(), path));
  Item item{kind, path, {}, 0, fit.samples == 1, fit.permuted, array.dtype()};
  if (kind == Kind::kNpz || !item.alone) item.array = std::move(array);
  for (; item.index < fit.samples; ++item.index) columns_[column].push_back(item);
  return {};
}

Status Collector::add_npz(const std::string& path, std::size_t column) {
  NamedTensors members = NARROW_TRY(read_npz(path));
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (column != kAllInputs && column != i) continue;
    auto member = std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.first == specs_[i].name; });
    if (member == members.end() && members.size() == 1 && (column == i || specs_.size() == 1)) member = members.begin();
    if (member == members.end()) {
      std::vector<std::string> keys;
      for (const auto& [key, tensor] : members) keys.push_back(fmt::format("'{}'", key));
      return error("'{}' has no array named '{}'", path, specs_[i].name).with_help(fmt::format("its arrays: {}; name them as the inputs: {}", join(keys, ", "), input_names()));
    }
    NARROW_TRY(add_array(Kind::kNpz, path, member->second, i));
  }
  return {};
}

Status Collector::add_raw(const std::string& path, std::size_t column) {
  const InputSpec& spec = specs_[column];
  const DType dtype = raw_dtype(spec);
  const auto file = NARROW_TRY(MappedFile::open(path));
  const std::size_t wanted = static_cast<std::size_t>(element_count(spec.type.shape)) * size_of(dtype);
  if (file->bytes().size() != wanted) {
    return error("'{}' has {} bytes, wanted {}: input '{}' of shape {} as {}", path, file->bytes().size(), wanted, spec.name, to_string(spec.type.shape), name_of(dtype))
        .with_help("a raw file is one sample; set 'dtype' in the recipe of this input if it holds another type");
  }
  columns_[column].push_back({Kind::kRaw, path, {}, 0, true, layouts_differ(spec), dtype});
  return {};
}

Result<std::unique_ptr<Dataset>> Collector::finish(const DatasetOptions& options) {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (columns_[i].empty()) return error("no data for input '{}'", specs_[i].name).with_help(fmt::format("add {}=PATH", specs_[i].name));
    if (columns_[i].size() != columns_[0].size()) {
      return error("input '{}' has {} samples, input '{}' {}", specs_[0].name, columns_[0].size(), specs_[i].name, columns_[i].size())
          .with_help("every input needs the same number of samples, in the same order");
    }
  }
  const auto total = static_cast<std::int64_t>(columns_[0].size());
  if (options.first >= total) return error("the data hold {} samples, but the first {} are to be skipped", total, options.first).with_help("skip fewer");
  const std::int64_t count = options.limit < 0 ? total - options.first : std::min(options.limit, total - options.first);
  if (count == 0) return error("0 samples are to be used, wanted at least 1").with_help("raise the limit");
  for (auto& items : columns_) {
    items.erase(items.begin(), items.begin() + options.first);
    items.resize(static_cast<std::size_t>(count));
  }
  return std::make_unique<FileDataset>(std::move(specs_), std::move(columns_));
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
  Collector collector(std::move(specs));
  for (const std::string& entry : options.paths) NARROW_TRY(collector.add_entry(entry));
  return collector.finish(options);
}

}  // namespace narrow
