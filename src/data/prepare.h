// What stands between a file's contents and a graph input: resize, channel order, (x - mean) * scale, layout, dtype.
// Everything that can be wrong with a recipe for this input is found when the InputSpec is made, not at the first sample.
#pragma once

#include <optional>
#include <string>

#include "data/image.h"
#include "graph/graph.h"
#include "recipe/recipe.h"
#include "tensor/tensor.h"

namespace narrow {

// Where the axes of a picture stand in the input.
struct ImageAxes {
  std::int64_t channels = 3, height = 0, width = 0;
  bool channels_last = false;
};

struct InputSpec {
  std::string name;
  TensorType type;                  // of the graph input
  InputRecipe recipe;
  std::optional<ImageAxes> image;   // absent when the shape is not that of one picture
  int channel_axis = -1;            // of `type`, for per-channel mean and scale; -1: unknown
  bool normalised() const { return !recipe.mean.empty() || !recipe.scale.empty(); }
  double mean(std::int64_t channel) const;
  double scale(std::int64_t channel) const;
  Shape sample_shape() const;       // without a leading batch of 1
};
// Errors point into the recipe: mean of a wrong length, grey into a network that wants colour, a shape that is no picture…
Result<InputSpec> make_input_spec(const Value& input, const Recipe& recipe);

struct PreparedImage {
  Tensor tensor;
  double scale_x = 1, scale_y = 1, offset_x = 0, offset_y = 0;  // model = image * scale + offset
};
// The spec has an image. `name` is for messages. Error: 'resize: none' and another size.
Result<PreparedImage> prepare_image(const InputSpec& spec, const Image& rgb, const std::string& name);

// The recipe says that array data come in the other layout than the input's.
bool layouts_differ(const InputSpec& spec);

// How many samples an array of this shape holds: 1 when the shape is that of the input, else the first axis counts them. Extents of 1
// are ignored; with the recipe's `layout` the data may be NHWC for an NCHW input and the reverse. Errors: found and wanted.
struct ArrayFit {
  std::int64_t samples = 1;
  bool permuted = false;  // layouts differ
};
Result<ArrayFit> fit_array(const InputSpec& spec, const TensorType& array, const std::string& name);
// One sample, as a view into the array: to the input's layout, normalised, in its dtype and shape.
Tensor prepare_array(const InputSpec& spec, const Tensor& sample, bool permuted);

// "input = (rgb image resized to 224x224 by antialiased bilinear - 128) * 0.0078125, f32 NHWC"
std::string formula_of_image(const InputSpec& spec);
std::string formula_of_array(const InputSpec& spec, DType stored, bool permuted);

}  // namespace narrow
