// Samples for calibration, evaluation and runs: images (jpg png bmp), .npy, .npz, raw, folders of them, lists. Samples
// are read one at a time, so memory does not grow with their number: a file of many stays mapped, and what was read of it is
// given back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "recipe/recipe.h"
#include "tensor/tensor.h"

namespace narrow {

struct Sample {
  std::string name;            // file name or "FILE[index]"
  std::vector<Tensor> inputs;  // one per graph input, in the graph's type and shape
  // Where the image landed, for mapping boxes back: model = image * scale + offset (x, y).
  double scale_x = 1, scale_y = 1, offset_x = 0, offset_y = 0;
  std::int64_t image_width = 0, image_height = 0;
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  // Error names the file. Thread-safe.
  virtual Result<Sample> load(std::int64_t index) const = 0;
  virtual std::string name_of(std::int64_t index) const = 0;
  // The file it lies in (of the first input); several samples may share one.
  virtual std::string file_of(std::int64_t index) const { return name_of(index); }
  // What the files of an input hold, as far as it is known (pictures: u8).
  virtual std::optional<DType> stored_type(std::size_t) const { return std::nullopt; }
  // All files that are read, each at least once.
  virtual std::vector<std::string> files() const { return {}; }
  // Samples in the data, those before `first` and beyond `limit` included.
  virtual std::int64_t total() const { return size(); }
  // "input = (rgb image resized to 224x224 by antialiased bilinear - 128) * 0.0078125, NHWC"; one line per input.
  virtual std::string formula() const = 0;
};

struct DatasetOptions {
  // Each entry "PATH" or "INPUT=PATH". A path is an image, .npy/.npz (first axis = samples when its rank is that of the input with batch;
  // an .npz names inputs by its keys), a raw file (dtype from the recipe, else f32), a folder (sorted by name), or a .txt list of such files,
  // one sample a line ("a.raw b.raw" or "in:=a.raw other:=b.raw" for several inputs).
  std::vector<std::string> paths;
  std::int64_t first = 0;                  // skip this many samples
  std::int64_t limit = -1;                 // at most this many; -1: all. Fewer than there are: the first ones
};

// Types and shapes come from the graph's inputs. Errors: empty folder, no readable file type, wrong shape (found and wanted).
Result<std::unique_ptr<Dataset>> open_dataset(const DatasetOptions& options, const Graph& graph, const Recipe& recipe);

}  // namespace narrow
