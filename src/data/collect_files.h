// Which files, and which part of each, are the samples of every input: from paths, folders, lists and archives as the user names them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/prepare.h"
#include "tensor/npy.h"

namespace narrow {

enum class DataKind { kImage, kNpy, kNpz, kRaw, kDangling };  // kDangling: a link to nothing

// One input of one sample.
struct DataItem {
  DataKind kind = DataKind::kImage;
  std::string path;
  std::string key = {};      // of the array in an .npz
  std::shared_ptr<const NpyArray> array = {};  // stays open because it holds several samples; else read when asked for
  std::int64_t index = 0;    // of the sample in the file
  std::int64_t offset = 0;   // of its first element in the file's array
  bool alone = true;         // the file holds one sample
  bool permuted = false;
  DType dtype = DType::kU8;  // as stored
  std::string name() const {
    const std::string file = std::filesystem::path(path).filename().string();
    return alone ? file : fmt::format("{}[{}]", file, index);
  }
};

using DataColumns = std::vector<std::vector<DataItem>>;  // [input][sample]

// Collects the files of every input, in order. Errors name the file, or the line of a list, and what is wanted.
class FileCollector {
 public:
  explicit FileCollector(const std::vector<InputSpec>& specs) : specs_(specs), columns_(specs_.size()) {}
  Status add_entry(const std::string& entry);
  // As many items for every input. Error: the numbers differ, or nothing is there.
  Result<DataColumns> finish();

 private:
  static constexpr std::size_t kAllInputs = static_cast<std::size_t>(-1);
  std::optional<std::size_t> column_of(std::string_view name) const;
  std::string input_names() const;
  Status add_path(const std::filesystem::path& path, std::size_t column);
  Status add_folder(const std::filesystem::path& folder, std::size_t column);
  Status add_list(const std::filesystem::path& path, std::size_t column);
  Status add_dangling(const std::filesystem::path& path, std::size_t column);
  Status add_file(const std::filesystem::path& path, DataKind kind, std::size_t column);
  // `open` gives the array if it has to stay open.
  Status add_array(DataItem item, const Shape& shape, const std::function<Result<NpyArray>()>& open, std::size_t column);
  Status add_npz(const std::string& path, std::size_t column);
  Status add_raw(const std::string& path, std::size_t column);
  // The samples of one array of `elements`, where the recipe cuts arrays into overlapping windows.
  Status add_windows(DataItem item, std::int64_t elements, std::size_t column);

  const std::vector<InputSpec>& specs_;
  DataColumns columns_;
};

}  // namespace narrow
