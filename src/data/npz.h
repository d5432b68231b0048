// NumPy's .npz files: zip archives of .npy members, stored or deflated. Members are named by their key (without ".npy"),
// in the archive's order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/zip.h"
#include "tensor/npy.h"

namespace narrow {

// Errors name the file and the member: not a zip archive, truncated, checksum differs, unknown compression, not a .npy member.
class NpzFile {
 public:
  static Result<NpzFile> open(const std::string& path);
  std::size_t size() const { return zip_.members().size(); }
  std::string key(std::size_t i) const;
  std::optional<std::size_t> find(std::string_view key) const;
  // From the member's header; the rest is not looked at.
  Result<TensorType> type(std::size_t i) const;
  // The whole member: a view of the mapped file when stored, else in memory.
  Result<Tensor> read(std::size_t i) const;
  // A member of many samples: in its place when stored, else unpacked to a temporary file. Error: no room for that.
  Result<NpyArray> array(std::size_t i) const;

 private:
  NpzFile(std::string path, ZipFile zip) : path_(std::move(path)), zip_(std::move(zip)) {}
  std::string name_of(std::size_t i) const { return fmt::format("{}:{}", path_, zip_.members()[i].name); }
  std::string path_;
  ZipFile zip_;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Every member, by its key. Errors: those of NpzFile.
Result<NamedTensors> read_npz(const std::string& path);
// Stored, not compressed.
Status write_npz(const std::string& path, const NamedTensors& tensors);

}  // namespace narrow
