// What the user wants, with the source span of every wish. narrow's own YAML, and later every vendor language, lower to
// this; nothing below knows that vendors exist.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/dtype.h"

namespace narrow {

// How a file becomes an input tensor: decode -> resize -> crop -> channel order -> (x - mean) * scale -> layout -> dtype.
struct InputRecipe {
  std::string name;                        // of the graph input; empty: the only one
  enum class Color { kRgb, kBgr, kGray };
  Color color = Color::kRgb;
  enum class Resize { kNone, kStretch, kCenterCrop, kLetterbox, kShortSide };
  Resize resize = Resize::kStretch;        // to the input's H x W
  double crop_fraction = 1.0;              // kCenterCrop: the centre square of side fraction * min(W, H), then resized;
  int short_side = 0;                      // kShortSide: the short side becomes this, then the centre H x W is cut
  enum class Filter { kBilinear, kNearest, kBicubic };
  Filter filter = Filter::kBilinear;       // antialiased when shrinking, as Pillow does
  bool antialias = true;
  double fill = 0;                         // kLetterbox: value of the border, before normalisation
  bool letterbox_top_left = true;          // kLetterbox: image at the top left (YOLOX) or in the middle
  std::vector<double> mean;                // per channel in the order fed; empty: 0
  std::vector<double> scale;               // multiplies after the mean; empty: 1. "std" in YAML is stored as 1/std
  double divide = 1;                       // as written; mean and scale have it in them already
  std::optional<DType> dtype;              // of raw files; npy knows its own
  std::string layout;                      // of array data: "nchw" or "nhwc" when it differs from the graph's input; empty: as the graph
  std::int64_t window_stride = 0;          // array data: a file is cut into windows of the input's size, this many elements apart; 0: it is not
  SourceSpan where;
};

struct LayerRecipe {
  std::string match;                       // glob over node names, value names and origins
  std::optional<DType> activations;        // dtype of the outputs
  std::optional<bool> keep_float;
  std::optional<bool> per_channel;         // weights
  std::optional<int> weight_bits;
  std::optional<std::string> calibrator;
  std::optional<std::pair<double, double>> range;  // fixed real range of output 0
  std::optional<std::pair<double, std::int64_t>> scale;  // fixed scale and zero point of output 0
  SourceSpan where;
};

struct Recipe {
  std::string file;                        // empty: all defaults
  std::string target;                      // empty: generic-int8
  std::string calibrator;                  // empty: the default of calibrate/calibrators.h
  std::optional<double> percentile;        // 99.99
  std::int64_t samples = 128;              // at most this many calibration samples
  std::optional<DType> activations;
  std::optional<bool> symmetric_activations;
  std::optional<bool> per_channel_weights;
  std::optional<int> weight_bits;
  std::optional<double> untie_ratio;       // 8: a Concat branch whose range is this many times smaller keeps its own scale
  std::vector<InputRecipe> inputs;
  std::vector<LayerRecipe> layers;         // later entries win
  struct Eval {                            // for `narrow eval`
    std::string task;                      // classify, detect, anomaly, read
    std::string decoder;                   // detect: yolox, fastestdet, ssd
    std::string dictionary;                // read: file of the characters, as seen from the working folder
    std::int64_t label_offset = 0;         // class = argmax + offset
  } eval;
  const InputRecipe* input(std::string_view name) const;  // by name, or the only unnamed one
  // Takes out what only the planner asks for, when a plan is there already; returns the keys that were given.
  std::vector<std::string> drop_decisions();
};

// Unknown keys and values are errors with line, caret and a suggestion. docs/recipe.md is the reference.
Result<Recipe> parse_recipe(std::string_view yaml, const std::string& file);
Result<Recipe> load_recipe(const std::string& file);

}  // namespace narrow
