#include "data/collect_files.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "data/image.h"
#include "data/npz.h"
#include "tensor/npy.h"

namespace narrow {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostWindows = 1000000;  // of one file
constexpr std::string_view kReadable = "jpg, jpeg, png, bmp, npy, npz, raw or bin";

constexpr const char* kSoundHelp =
    "sound is read as bare samples: `ffmpeg -i a.wav -ac 1 -f s16le a.raw` makes such a file; then 'dtype: int16', 'divide: 32768' and 'window_stride' in the recipe of this input";
bool is_sound(const fs::path& file) {
  const std::string extension = lower_case(file.extension().string());
  return extension == ".wav" || extension == ".flac" || extension == ".mp3" || extension == ".ogg";
}

std::optional<DataKind> kind_of(const fs::path& path) {
  if (is_image_name(path.string())) return DataKind::kImage;
  const std::string extension = lower_case(path.extension().string());
  if (extension == ".npy") return DataKind::kNpy;
  if (extension == ".npz") return DataKind::kNpz;
  if (extension == ".raw" || extension == ".bin") return DataKind::kRaw;
  return std::nullopt;
}

DType raw_dtype(const InputSpec& spec) { return spec.recipe.dtype.value_or(spec.type.dtype); }

bool is_dangling(const fs::path& path) {
  std::error_code code;
  return fs::is_symlink(path, code) && !fs::exists(path, code);
}

// The readable files of a folder by name, or, when it has none, those of its folders (one per class). Links count as what they
// point to; a dangling one is a file that cannot be read. Pipes and devices are none.
Status find_files(const fs::path& folder, std::vector<fs::path>* files) {
  std::vector<fs::path> folders;
  std::error_code code, unknown;
  const std::size_t before = files->size();
  for (fs::directory_iterator entry(folder, code); !code && entry != fs::directory_iterator(); entry.increment(code)) {
    const fs::path& path = entry->path();
    if (path.filename().string().starts_with(".")) continue;
    if (entry->is_directory(unknown)) folders.push_back(path);
    else if (kind_of(path) && (entry->is_regular_file(unknown) || is_dangling(path))) files->push_back(path);
  }
  if (code) return error("cannot read the folder '{}': {}", folder.string(), code.message()).with_help("check its permissions");
  std::sort(files->begin() + static_cast<std::ptrdiff_t>(before), files->end());
  std::sort(folders.begin(), folders.end());
  if (files->size() > before) return {};
  for (const fs::path& inner : folders) NARROW_TRY(find_files(inner, files));
  return {};
}

}  // namespace

std::optional<std::size_t> FileCollector::column_of(std::string_view name) const {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (specs_[i].name == name) return i;
  }
  return std::nullopt;
}

std::string FileCollector::input_names() const {
  std::vector<std::string> names;
  for (const InputSpec& spec : specs_) names.push_back(fmt::format("'{}'", spec.name));
  return join(names, ", ");
}

Status FileCollector::add_entry(const std::string& entry) {
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

Status FileCollector::add_path(const fs::path& path, std::size_t column) {
  std::error_code code;
  if (fs::is_directory(path, code)) return add_folder(path, column);
  if (!fs::exists(path, code)) return error("there is no file or folder '{}'", path.string()).with_help("check the path");
  if (lower_case(path.extension().string()) == ".txt") return add_list(path, column);
  const auto kind = kind_of(path);
  if (!kind) return error("'{}' is no data file that can be read", path.string()).with_help(is_sound(path) ? std::string(kSoundHelp) : fmt::format("wanted a folder, a .txt list, or a file {}", kReadable));
  return add_file(path, *kind, column);
}

Status FileCollector::add_folder(const fs::path& folder, std::size_t column) {
  std::vector<fs::path> files;
  NARROW_TRY(find_files(folder, &files));
  if (files.empty()) return error("the folder '{}' holds no data that can be read", folder.string()).with_help(fmt::format("wanted files {}", kReadable));
  for (const fs::path& file : files) NARROW_TRY(is_dangling(file) ? add_dangling(file, column) : add_file(file, *kind_of(file), column));
  return {};
}

// A sample that fails when it is loaded, so that those behind it keep their places.
Status FileCollector::add_dangling(const fs::path& path, std::size_t column) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (column == i || column == kAllInputs) columns_[i].push_back({.kind = DataKind::kDangling, .path = path.string()});
  }
  return {};
}

// One sample a line: a path, or as many as there are inputs, in order or as NAME:=PATH. Relative to the list, else to
// the working folder. Lines that begin with # or % are comments.
Status FileCollector::add_list(const fs::path& path, std::size_t column) {
  const std::string text = NARROW_TRY(read_file(path.string()));
  const auto resolve = [&](const std::string& name) {
    std::error_code code;
    const fs::path beside = path.parent_path() / name;
    return fs::exists(beside, code) ? beside : fs::path(name);
  };
  const std::size_t wanted = column == kAllInputs ? specs_.size() : 1;
  const std::vector<std::string> lines = split(text, '\n');
  bool empty = true;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line(trim(lines[i]));
    if (line.empty() || line[0] == '#' || line[0] == '%') continue;
    empty = false;
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
      if (!kind) return error("'{}' is no data file that can be read", name).at(span).with_help(is_sound(name) ? std::string(kSoundHelp) : fmt::format("wanted {}", kReadable));
      if (auto status = add_file(file, *kind, to); !status) {
        if (status.error().where.file.empty()) status.error().where = span;
        return status;
      }
    }
  }
  if (empty) return error("the list '{}' names no samples", path.string()).with_help("write one sample a line: 'a.raw', or 'a.raw b.raw' for two inputs");
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

Status FileCollector::add_file(const fs::path& path, DataKind kind, std::size_t column) {
  if (kind == DataKind::kNpz) return add_npz(path.string(), column);
  if (column == kAllInputs) {
    return error("'{}' is data for one input, but the network has {}: {}", path.string(), specs_.size(), input_names())
        .with_help(fmt::format("say which: {}=PATH, or give a .npz with their names as keys", specs_[0].name));
  }
  switch (kind) {
    case DataKind::kNpy: {
      const NpyArray array = NARROW_TRY(NpyArray::open(path.string()));
      return add_array({.kind = kind, .path = path.string(), .dtype = array.type().dtype}, array.type().shape, [&] { return Result<NpyArray>(array); }, column);
    }
    case DataKind::kRaw: return add_raw(path.string(), column);
    default: break;
  }
  const InputSpec& spec = specs_[column];
  if (!spec.image) {
    return error("'{}' is a picture, but input '{}' has shape {}", path.string(), spec.name, to_string(spec.type.shape))
        .with_help(picture_help(spec));
  }
  if (spec.recipe.window_stride > 0) return error("'{}' is a picture, but 'window_stride' cuts arrays", path.string()).at(spec.recipe.where).with_help("remove 'window_stride' from the recipe, or give arrays");
  columns_[column].push_back({.kind = DataKind::kImage, .path = path.string(), .dtype = DType::kU8});
  return {};
}

Status FileCollector::add_array(DataItem item, const Shape& shape, const std::function<Result<NpyArray>()>& open, std::size_t column) {
  const auto keep_open = [&]() -> Status {
    item.array = std::make_shared<NpyArray>(NARROW_TRY(NARROW_TRY(open()).row_major()));
    return {};
  };
  if (specs_[column].recipe.window_stride > 0) {
    NARROW_TRY(keep_open());
    return add_windows(std::move(item), element_count(shape), column);
  }
  const ArrayFit fit = NARROW_TRY(fit_array(specs_[column], {item.dtype, shape}, item.path));
  item.alone = fit.samples == 1;
  item.permuted = fit.permuted;
  if (!item.alone) NARROW_TRY(keep_open());
  for (; item.index < fit.samples; ++item.index) {
    item.offset = item.index * element_count(specs_[column].type.shape);
    columns_[column].push_back(item);
  }
  return {};
}

Status FileCollector::add_windows(DataItem item, std::int64_t elements, std::size_t column) {
  const InputSpec& spec = specs_[column];
  const std::int64_t window = element_count(spec.type.shape), stride = spec.recipe.window_stride;
  if (elements < window) {
    return error("'{}' holds {} elements, fewer than one window of {} for input '{}' of shape {}", item.path, elements, window, spec.name, to_string(spec.type.shape))
        .with_help("leave the file out, or check 'dtype' in the recipe of this input");
  }
  if (const std::int64_t count = (elements - window) / stride + 1; count > kMostWindows) {
    return error("'{}' would be cut into {} windows, wanted at most {}", item.path, count, kMostWindows).with_help(fmt::format("raise 'window_stride' ({}) in the recipe of this input", stride));
  }
  item.alone = false;
  item.permuted = layouts_differ(spec);
  for (; item.offset + window <= elements; item.offset += stride, ++item.index) columns_[column].push_back(item);
  return {};
}

Status FileCollector::add_npz(const std::string& path, std::size_t column) {
  const NpzFile file = NARROW_TRY(NpzFile::open(path));
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (column != kAllInputs && column != i) continue;
    auto member = file.find(specs_[i].name);
    if (!member && file.size() == 1 && (column == i || specs_.size() == 1)) member = 0;
    if (!member) {
      std::vector<std::string> keys;
      for (std::size_t k = 0; k < file.size(); ++k) keys.push_back(fmt::format("'{}'", file.key(k)));
      return error("'{}' has no array named '{}'", path, specs_[i].name).with_help(fmt::format("its arrays: {}; name them as the inputs: {}", join(keys, ", "), input_names()));
    }
    const TensorType type = NARROW_TRY(file.type(*member));
    NARROW_TRY(add_array({.kind = DataKind::kNpz, .path = path, .key = file.key(*member), .dtype = type.dtype}, type.shape, [&] { return file.array(*member); }, i));
  }
  return {};
}

Status FileCollector::add_raw(const std::string& path, std::size_t column) {
  const InputSpec& spec = specs_[column];
  const DType dtype = raw_dtype(spec);
  const auto file = NARROW_TRY(MappedFile::open(path));
  DataItem item{.kind = DataKind::kRaw, .path = path, .permuted = layouts_differ(spec), .dtype = dtype};
  if (spec.recipe.window_stride > 0) {
    const std::size_t size = size_of(dtype);
    if (file->bytes().size() % size != 0) return error("'{}' has {} bytes, wanted whole elements of {} ({} bytes each)", path, file->bytes().size(), name_of(dtype), size).with_help("set 'dtype' in the recipe of this input to what the file holds");
    return add_windows(std::move(item), static_cast<std::int64_t>(file->bytes().size() / size), column);
  }
  const std::size_t wanted = static_cast<std::size_t>(element_count(spec.type.shape)) * size_of(dtype);
  if (file->bytes().size() != wanted) {
    return error("'{}' has {} bytes, wanted {}: input '{}' of shape {} as {}", path, file->bytes().size(), wanted, spec.name, to_string(spec.type.shape), name_of(dtype))
        .with_help("a raw file is one sample; set 'dtype' in the recipe of this input if it holds another type, or 'window_stride' if it is to be cut into several");
  }
  columns_[column].push_back(std::move(item));
  return {};
}

Result<DataColumns> FileCollector::finish() {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    if (columns_[i].empty()) return error("no data for input '{}'", specs_[i].name).with_help(fmt::format("add {}=PATH", specs_[i].name));
    if (columns_[i].size() != columns_[0].size()) {
      return error("input '{}' has {} samples, input '{}' {}", specs_[0].name, columns_[0].size(), specs_[i].name, columns_[i].size())
          .with_help("every input needs the same number of samples, in the same order");
    }
  }
  return std::move(columns_);
}

}  // namespace narrow
