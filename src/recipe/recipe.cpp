#include "recipe/recipe.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/strict_map.h"
#include "base/text.h"

namespace narrow {
namespace {

using Color = InputRecipe::Color;
using Resize = InputRecipe::Resize;
using Filter = InputRecipe::Filter;

const StrictMap::Choices<Color> kColors = {{"rgb", Color::kRgb}, {"bgr", Color::kBgr}, {"gray", Color::kGray}};
const StrictMap::Choices<Resize> kResizes = {{"stretch", Resize::kStretch},
                                             {"center_crop", Resize::kCenterCrop},
                                             {"letterbox", Resize::kLetterbox},
                                             {"short_side", Resize::kShortSide},
                                             {"none", Resize::kNone}};
const StrictMap::Choices<Filter> kFilters = {{"bilinear", Filter::kBilinear}, {"bicubic", Filter::kBicubic}, {"nearest", Filter::kNearest}};
const StrictMap::Choices<bool> kAlignments = {{"top_left", true}, {"center", false}};
const StrictMap::Choices<std::string> kLayouts = {{"nchw", "nchw"}, {"nhwc", "nhwc"}};
const StrictMap::Choices<DType> kActivationTypes = {{"int8", DType::kI8}, {"uint8", DType::kU8}, {"int16", DType::kI16}};
const StrictMap::Choices<DType> kRawTypes = {{"float32", DType::kF32}, {"float64", DType::kF64}, {"int64", DType::kI64},
                                             {"int32", DType::kI32},   {"int16", DType::kI16},   {"uint16", DType::kU16},
                                             {"int8", DType::kI8},     {"uint8", DType::kU8},    {"bool", DType::kBool}};
const StrictMap::Choices<std::string> kCalibrators = {{"max", "max"}, {"percentile", "percentile"}, {"moving_average", "moving_average"},
                                                      {"kl", "kl"},   {"mse", "mse"},               {"sqnr", "sqnr"},
                                                      {"output_mse", "output_mse"}};
const StrictMap::Choices<std::string> kTasks = {{"classify", "classify"}, {"detect", "detect"}, {"anomaly", "anomaly"}, {"read", "read"}};
const StrictMap::Choices<std::string> kDecoders = {{"yolox", "yolox"}, {"fastestdet", "fastestdet"}, {"ssd", "ssd"}};

// (x / divide - mean) / std, or (x / divide - mean) * scale, becomes (x - mean') * scale'.
Status read_normalisation(StrictMap& map, InputRecipe* input) {
  std::vector<double> std_deviation;
  NARROW_TRY(map.read("divide", &input->divide));
  NARROW_TRY(map.read("mean", &input->mean));
  NARROW_TRY(map.read("scale", &input->scale));
  NARROW_TRY(map.read("std", &std_deviation));
  const double divide = input->divide;
  if (divide == 0) return map.wrong_kind("divide", *map.find("divide"), "a number other than 0");
  if (!std_deviation.empty() && !input->scale.empty()) {
    return error("both 'scale' and 'std' are given; one multiplies, the other divides").at(map.find("std")->where).with_help("remove one of the two");
  }
  for (const double x : std_deviation) {
    if (x == 0) return error("'std' contains 0, wanted numbers to divide by").at(map.find("std")->where).with_help("use 1 for channels that are not scaled");
    input->scale.push_back(1 / x);
  }
  if (divide != 1) {
    for (double& x : input->mean) x *= divide;
    if (input->scale.empty()) input->scale = {1};
    for (double& x : input->scale) x /= divide;
  }
  return {};
}

Result<InputRecipe> read_input(const Json& node, const std::string& name) {
  InputRecipe input;
  input.name = name;
  input.where = node.key_where != nullptr ? *node.key_where : node.where;
  StrictMap map = NARROW_TRY(StrictMap::open(node, name.empty() ? "'input'" : fmt::format("input '{}'", name)));
  NARROW_TRY(map.choose("color", kColors, &input.color));
  NARROW_TRY(map.choose("resize", kResizes, &input.resize));
  NARROW_TRY(map.read("crop_fraction", &input.crop_fraction, 0.01, 1.0));
  NARROW_TRY(map.read("short_side", &input.short_side, 1, 65536));
  NARROW_TRY(map.choose("filter", kFilters, &input.filter));
  NARROW_TRY(map.read("antialias", &input.antialias));
  NARROW_TRY(map.read("fill", &input.fill, 0, 255));
  NARROW_TRY(map.choose("align", kAlignments, &input.letterbox_top_left));
  NARROW_TRY(read_normalisation(map, &input));
  NARROW_TRY(map.choose("dtype", kRawTypes, &input.dtype));
  NARROW_TRY(map.choose("layout", kLayouts, &input.layout));
  NARROW_TRY(map.read("window_stride", &input.window_stride, 1, std::int64_t{1} << 40));
  NARROW_TRY(map.finish());
  // A key that could have no effect is a mistake, not a wish.
  const auto only_with = [&](std::string_view key, Resize mode, std::string_view mode_name) -> Status {
    const Json* given = map.find(key);
    if (given == nullptr || input.resize == mode) return {};
    return error("'{}' has no effect without 'resize: {}'", key, mode_name).at(given->where).with_help(fmt::format("add 'resize: {}' or remove '{}'", mode_name, key));
  };
  NARROW_TRY(only_with("crop_fraction", Resize::kCenterCrop, "center_crop"));
  NARROW_TRY(only_with("short_side", Resize::kShortSide, "short_side"));
  NARROW_TRY(only_with("fill", Resize::kLetterbox, "letterbox"));
  NARROW_TRY(only_with("align", Resize::kLetterbox, "letterbox"));
  if (input.resize == Resize::kShortSide && input.short_side == 0) {
    return error("'resize: short_side' needs the length of that side").at(map.find("resize")->where).with_help("add e.g. 'short_side: 256'");
  }
  return input;
}

Status read_weights(const Json& node, const std::string& what, std::optional<int>* bits, std::optional<bool>* per_channel) {
  StrictMap map = NARROW_TRY(StrictMap::open(node, what));
  NARROW_TRY(map.read("bits", bits, 2, 8));
  NARROW_TRY(map.read("per_channel", per_channel));
  return map.finish();
}

Result<LayerRecipe> read_layer(const Json& node) {
  LayerRecipe layer;
  layer.where = node.where;
  StrictMap map = NARROW_TRY(StrictMap::open(node, "an entry of 'layers'"));
  NARROW_TRY(map.read("match", &layer.match));
  if (layer.match.empty()) return error("an entry of 'layers' has no 'match'").at(node.where).with_help("write e.g. 'match: conv_1*'");
  if (const Json* match = map.find("match")) layer.where = match->where;
  NARROW_TRY(map.choose("activations", kActivationTypes, &layer.activations));
  const StrictMap::Choices<bool> kKeep = {{"float", true}, {"integer", false}};
  NARROW_TRY(map.choose("keep", kKeep, &layer.keep_float));
  if (const Json* weights = map.find("weights")) NARROW_TRY(read_weights(*weights, "'weights'", &layer.weight_bits, &layer.per_channel));
  NARROW_TRY(map.choose("calibration", kCalibrators, &layer.calibrator));
  std::optional<std::vector<double>> range;
  std::optional<double> scale;
  std::optional<std::int64_t> zero_point;
  NARROW_TRY(map.read("range", &range));
  NARROW_TRY(map.read("scale", &scale));
  NARROW_TRY(map.read("zero_point", &zero_point, INT32_MIN, INT32_MAX));
  NARROW_TRY(map.finish());
  if (range) {
    if (range->size() != 2 || !((*range)[0] < (*range)[1])) return map.wrong_kind("range", *map.find("range"), "two numbers [lowest, highest], the first below the second");
    layer.range = {(*range)[0], (*range)[1]};
  }
  if (scale && !(*scale > 0)) return map.wrong_kind("scale", *map.find("scale"), "a number above 0");
  if (range && scale) return error("both 'range' and 'scale' are given").at(map.find("scale")->where).with_help("remove one of the two");
  if (zero_point && !scale) return error("'zero_point' needs 'scale'").at(map.find("zero_point")->where).with_help("add the scale of the output");
  if (scale) layer.scale = {*scale, zero_point.value_or(0)};
  return layer;
}

Status read_eval(const Json& node, const std::string& file, Recipe::Eval* eval) {
  StrictMap map = NARROW_TRY(StrictMap::open(node, "'eval'"));
  NARROW_TRY(map.choose("task", kTasks, &eval->task));
  NARROW_TRY(map.choose("decoder", kDecoders, &eval->decoder));
  NARROW_TRY(map.read("dictionary", &eval->dictionary));
  NARROW_TRY(map.read("label_offset", &eval->label_offset, -1000000, 1000000));
  NARROW_TRY(map.finish());
  if (eval->task.empty()) return error("'eval' has no 'task'").at(node.where).with_help("write 'task: classify', 'task: detect', 'task: anomaly' or 'task: read'");
  if (eval->task == "detect" && eval->decoder.empty()) {
    return error("'task: detect' needs a 'decoder'").at(map.find("task")->where).with_help("write 'decoder: yolox', 'fastestdet' or 'ssd'");
  }
  if (eval->task != "detect" && !eval->decoder.empty()) {
    return error("'decoder' has no effect without 'task: detect'").at(map.find("decoder")->where).with_help("remove it");
  }
  if (const Json* offset = map.find("label_offset"); offset != nullptr && (eval->task == "anomaly" || eval->task == "read")) {
    return error("'label_offset' has no effect with 'task: {}'", eval->task).at(offset->where).with_help("remove it");
  }
  if (const Json* dictionary = map.find("dictionary"); dictionary != nullptr && eval->task != "read") {
    return error("'dictionary' has no effect without 'task: read'").at(dictionary->where).with_help("remove it");
  }
  if (!eval->dictionary.empty()) eval->dictionary = (std::filesystem::path(file).parent_path() / eval->dictionary).string();
  return {};
}

}  // namespace

Result<Recipe> parse_recipe(std::string_view yaml, const std::string& file) {
  const Json root = NARROW_TRY(parse_yaml(yaml, file));
  Recipe recipe;
  recipe.file = file;
  StrictMap map = NARROW_TRY(StrictMap::open(root, "the recipe"));
  NARROW_TRY(map.read("target", &recipe.target));
  if (const Json* input = map.find("input")) recipe.inputs.push_back(NARROW_TRY(read_input(*input, "")));
  if (const Json* inputs = map.find("inputs")) {
    if (!recipe.inputs.empty()) return error("both 'input' and 'inputs' are given").at(inputs->where).with_help("list every input under 'inputs'");
    if (!inputs->is_object()) return map.wrong_kind("inputs", *inputs, "a map from input names to descriptions");
    for (const auto& [name, node] : inputs->members()) {
      if (!node.is_object() && !node.is_null()) {
        return error("'{}' in 'inputs' is no description of an input", name).at(node.where).with_help("'inputs' maps names to descriptions, as images: {divide: 255}; for a network with one input write 'input' and no name");
      }
      recipe.inputs.push_back(NARROW_TRY(read_input(node, name)));
    }
  }
  const Json* percentile = nullptr;
  if (const Json* node = map.find("calibration")) {
    StrictMap calibration = NARROW_TRY(StrictMap::open(*node, "'calibration'"));
    NARROW_TRY(calibration.choose("method", kCalibrators, &recipe.calibrator));
    NARROW_TRY(calibration.read("percentile", &recipe.percentile, 50.0, 100.0));
    NARROW_TRY(calibration.read("samples", &recipe.samples, 1));
    NARROW_TRY(calibration.finish());
    percentile = calibration.find("percentile");
  }
  if (const Json* node = map.find("quantization")) {
    StrictMap quantization = NARROW_TRY(StrictMap::open(*node, "'quantization'"));
    NARROW_TRY(quantization.choose("activations", kActivationTypes, &recipe.activations));
    NARROW_TRY(quantization.read("symmetric_activations", &recipe.symmetric_activations));
    if (const Json* weights = quantization.find("weights")) NARROW_TRY(read_weights(*weights, "'weights'", &recipe.weight_bits, &recipe.per_channel_weights));
    NARROW_TRY(quantization.read("untie_ratio", &recipe.untie_ratio, 1.0));
    NARROW_TRY(quantization.finish());
  }
  if (const Json* layers = map.find("layers")) {
    if (!layers->is_array()) return map.wrong_kind("layers", *layers, "a list of entries '- match: ...'");
    for (const Json& layer : layers->items()) recipe.layers.push_back(NARROW_TRY(read_layer(layer)));
  }
  const bool by_percentile = recipe.calibrator == "percentile" || std::any_of(recipe.layers.begin(), recipe.layers.end(), [](const LayerRecipe& l) { return l.calibrator == "percentile"; });
  if (percentile != nullptr && !by_percentile) return error("'percentile' has no effect without 'method: percentile'").at(percentile->where).with_help("add 'method: percentile' or remove 'percentile'");
  if (const Json* eval = map.find("eval")) NARROW_TRY(read_eval(*eval, file, &recipe.eval));
  NARROW_TRY(map.finish());
  return recipe;
}

Result<Recipe> load_recipe(const std::string& file) { return parse_recipe(NARROW_TRY(read_file(file)), file); }

std::vector<std::string> Recipe::drop_decisions() {
  std::vector<std::string> dropped;
  const auto drop = [&]<typename T>(const char* key, bool given, T* value) {
    if (given) dropped.emplace_back(key);
    *value = T{};
  };
  drop("calibration.method", !calibrator.empty(), &calibrator);
  drop("calibration.percentile", percentile.has_value(), &percentile);
  drop("quantization.activations", activations.has_value(), &activations);
  drop("quantization.symmetric_activations", symmetric_activations.has_value(), &symmetric_activations);
  drop("quantization.weights.bits", weight_bits.has_value(), &weight_bits);
  drop("quantization.weights.per_channel", per_channel_weights.has_value(), &per_channel_weights);
  drop("quantization.untie_ratio", untie_ratio.has_value(), &untie_ratio);
  drop("layers", !layers.empty(), &layers);
  return dropped;
}

const InputRecipe* Recipe::input(std::string_view name) const {
  for (const InputRecipe& input : inputs) {
    if (input.name == name) return &input;
  }
  return inputs.size() == 1 && inputs[0].name.empty() ? &inputs[0] : nullptr;
}

}  // namespace narrow
