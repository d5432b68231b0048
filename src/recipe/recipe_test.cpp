#include "recipe/recipe.h"

#include <filesystem>
#include <set>

#include "base/text.h"
#include "calibrate/calibrators.h"
#include "measure/decoders.h"
#include "measure/scorers.h"
#include "support.h"

namespace narrow {
namespace {

std::string error_of(const std::string& yaml) {
  const auto recipe = parse_recipe(yaml, "r.yaml");
  return recipe ? "no error" : recipe.error().to_string();
}

TEST(Recipe, EmptyTextIsAllDefaults) {
  const Recipe recipe = test::must(parse_recipe("", "r.yaml"));
  EXPECT_EQ(recipe.target, "");
  EXPECT_EQ(recipe.samples, 128);
  EXPECT_FALSE(recipe.percentile.has_value());
  EXPECT_TRUE(recipe.inputs.empty());
  EXPECT_EQ(recipe.input("x"), nullptr);
}

TEST(Recipe, ReadsEveryKey) {
  const Recipe recipe = test::must(parse_recipe(R"(target: ort
inputs:
  images: {color: bgr, resize: letterbox, fill: 114, align: center, filter: bicubic, antialias: false, mean: [1, 2, 3], scale: 0.5}
  state: {dtype: int8, layout: nhwc, mean: 83, std: 2}
calibration: {method: percentile, percentile: 99.9, samples: 64}
quantization:
  activations: uint8
  symmetric_activations: true
  weights: {bits: 4, per_channel: false}
  untie_ratio: 16
layers:
  - match: "conv_1*"
    activations: int16
    weights: {bits: 8, per_channel: true}
    calibration: max
  - {match: head, keep: float}
  - {match: sum, range: [-1, 3.5]}
  - {match: out, scale: 0.25, zero_point: -7, keep: integer}
eval: {task: detect, decoder: yolox, label_offset: -1}
)", "r.yaml"));
  EXPECT_EQ(recipe.target, "ort");
  ASSERT_EQ(recipe.inputs.size(), 2U);
  const InputRecipe& images = recipe.inputs[0];
  EXPECT_EQ(images.name, "images");
  EXPECT_EQ(images.color, InputRecipe::Color::kBgr);
  EXPECT_EQ(images.resize, InputRecipe::Resize::kLetterbox);
  EXPECT_EQ(images.fill, 114);
  EXPECT_FALSE(images.letterbox_top_left);
  EXPECT_EQ(images.filter, InputRecipe::Filter::kBicubic);
  EXPECT_FALSE(images.antialias);
  EXPECT_EQ(images.mean, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(images.scale, (std::vector<double>{0.5}));
  EXPECT_EQ(images.where.line, 3);
  EXPECT_EQ(recipe.inputs[1].dtype, DType::kI8);
  EXPECT_EQ(recipe.inputs[1].layout, "nhwc");
  EXPECT_EQ(recipe.inputs[1].scale, (std::vector<double>{0.5}));
  EXPECT_EQ(recipe.calibrator, "percentile");
  EXPECT_EQ(recipe.percentile, 99.9);
  EXPECT_EQ(recipe.samples, 64);
  EXPECT_EQ(recipe.activations, DType::kU8);
  EXPECT_EQ(recipe.symmetric_activations, true);
  EXPECT_EQ(recipe.weight_bits, 4);
  EXPECT_EQ(recipe.per_channel_weights, false);
  EXPECT_EQ(recipe.untie_ratio, 16);
  ASSERT_EQ(recipe.layers.size(), 4U);
  EXPECT_EQ(recipe.layers[0].match, "conv_1*");
  EXPECT_EQ(recipe.layers[0].activations, DType::kI16);
  EXPECT_EQ(recipe.layers[0].weight_bits, 8);
  EXPECT_EQ(recipe.layers[0].per_channel, true);
  EXPECT_EQ(recipe.layers[0].calibrator, "max");
  EXPECT_EQ(recipe.layers[0].where.line, 12);
  EXPECT_EQ(recipe.layers[1].keep_float, true);
  EXPECT_EQ(recipe.layers[2].range, std::make_pair(-1.0, 3.5));
  EXPECT_EQ(recipe.layers[3].scale, std::make_pair(0.25, std::int64_t{-7}));
  EXPECT_EQ(recipe.layers[3].keep_float, false);
  EXPECT_EQ(recipe.eval.task, "detect");
  EXPECT_EQ(recipe.eval.decoder, "yolox");
  EXPECT_EQ(recipe.eval.label_offset, -1);
  EXPECT_EQ(recipe.input("state"), &recipe.inputs[1]);
  EXPECT_EQ(recipe.input("other"), nullptr);
}

TEST(Recipe, DivideComesBeforeMeanAndStd) {
  const Recipe recipe = test::must(parse_recipe("input: {divide: 255, mean: [0.5, 0.25, 0.125], std: [0.5, 0.25, 1]}", "r.yaml"));
  ASSERT_EQ(recipe.inputs.size(), 1U);
  EXPECT_EQ(recipe.inputs[0].mean, (std::vector<double>{127.5, 63.75, 31.875}));
  EXPECT_EQ(recipe.inputs[0].scale, (std::vector<double>{2.0 / 255, 4.0 / 255, 1.0 / 255}));
  EXPECT_EQ(recipe.input("whatever the only input is called"), &recipe.inputs[0]);

  const Recipe plain = test::must(parse_recipe("input: {divide: 256}", "r.yaml"));
  EXPECT_TRUE(plain.inputs[0].mean.empty());
  EXPECT_EQ(plain.inputs[0].scale, (std::vector<double>{1.0 / 256}));
}

TEST(Recipe, MistakesPointAtThePlace) {
  EXPECT_EQ(error_of("inputs:\n  images:\n    colour: bgr\n"),
            "error: unknown key 'colour' in input 'images'\n"
            "  --> r.yaml:3:5\n"
            "   |      colour: bgr\n"
            "   |      ^^^^^^\n"
            "  help: did you mean 'color'?");
  EXPECT_EQ(error_of("input: {resize: leterbox}"),
            "error: 'resize' of 'input' is 'leterbox', wanted one of: stretch, center_crop, letterbox, short_side, none\n"
            "  --> r.yaml:1:17\n"
            "   |  input: {resize: leterbox}\n"
            "   |                  ^^^^^^^^\n"
            "  help: did you mean 'letterbox'?");
  EXPECT_EQ(error_of("calibration:\n  samples: many\n"),
            "error: 'samples' of 'calibration' is 'many', wanted an integer of at least 1\n"
            "  --> r.yaml:2:12\n"
            "   |    samples: many\n"
            "   |             ^^^^");
  EXPECT_EQ(error_of("input: {scale: 2, std: 3}"),
            "error: both 'scale' and 'std' are given; one multiplies, the other divides\n"
            "  --> r.yaml:1:24\n"
            "   |  input: {scale: 2, std: 3}\n"
            "   |                         ^\n"
            "  help: remove one of the two");
  EXPECT_EQ(error_of("layers:\n  - activations: int16\n"),
            "error: an entry of 'layers' has no 'match'\n"
            "  --> r.yaml:2:5\n"
            "   |    - activations: int16\n"
            "   |      ^\n"
            "  help: write e.g. 'match: conv_1*'");
  EXPECT_EQ(error_of("layers:\n  - {match: a, keep: floats}\n"),
            "error: 'keep' of an entry of 'layers' is 'floats', wanted one of: float, integer\n"
            "  --> r.yaml:2:22\n"
            "   |    - {match: a, keep: floats}\n"
            "   |                       ^^^^^^\n"
            "  help: did you mean 'float'?");
  EXPECT_EQ(error_of("input: {fill: 114}"),
            "error: 'fill' has no effect without 'resize: letterbox'\n"
            "  --> r.yaml:1:15\n"
            "   |  input: {fill: 114}\n"
            "   |                ^^^\n"
            "  help: add 'resize: letterbox' or remove 'fill'");
  EXPECT_EQ(error_of("eval: {task: anomaly, label_offset: 1}"),
            "error: 'label_offset' has no effect with 'task: anomaly'\n"
            "  --> r.yaml:1:37\n"
            "   |  eval: {task: anomaly, label_offset: 1}\n"
            "   |                                      ^\n"
            "  help: remove it");
  EXPECT_EQ(error_of("eval: {task: detect}"),
            "error: 'task: detect' needs a 'decoder'\n"
            "  --> r.yaml:1:14\n"
            "   |  eval: {task: detect}\n"
            "   |               ^^^^^^\n"
            "  help: write 'decoder: yolox', 'fastestdet' or 'ssd'");
  EXPECT_EQ(error_of("input: {mean: [1, x, 3]}"),
            "error: 'mean' of 'input' is 'x', wanted a finite number\n"
            "  --> r.yaml:1:19\n"
            "   |  input: {mean: [1, x, 3]}\n"
            "   |                    ^");
  EXPECT_EQ(error_of("- a\n- b\n"),
            "error: the recipe is a list, wanted a map\n"
            "  --> r.yaml:1:1\n"
            "   |  - a\n"
            "   |  ^\n"
            "  help: write 'key: value' lines");
}

TEST(Recipe, ImpossibleValuesAreRejected) {
  const auto first_line = [](const std::string& yaml) { return error_of(yaml).substr(0, error_of(yaml).find('\n')); };
  EXPECT_EQ(first_line("input: {std: [1, 0]}"), "error: 'std' contains 0, wanted numbers to divide by");
  EXPECT_EQ(first_line("input: {divide: 0}"), "error: 'divide' of 'input' is 0, wanted a number other than 0");
  EXPECT_EQ(first_line("input: {resize: short_side}"), "error: 'resize: short_side' needs the length of that side");
  EXPECT_EQ(first_line("input: {resize: center_crop, crop_fraction: 1.5}"), "error: 'crop_fraction' of 'input' is 1.5, wanted a number in [0.01, 1]");
  EXPECT_EQ(first_line("input: {mean: .nan}"), "error: 'mean' of 'input' is .nan, wanted a finite number or a list of them");
  EXPECT_EQ(first_line("input: {mean: [1, .nan, 2]}"), "error: 'mean' of 'input' is .nan, wanted a finite number");
  EXPECT_EQ(first_line("layers: [{match: a, range: [1, 1]}]"), "error: 'range' of an entry of 'layers' is [1,1], wanted two numbers [lowest, highest], the first below the second");
  EXPECT_EQ(first_line("layers: [{match: a, range: [4, -4]}]"), "error: 'range' of an entry of 'layers' is [4,-4], wanted two numbers [lowest, highest], the first below the second");
  EXPECT_EQ(first_line("layers: [{match: a, range: [a, b]}]"), "error: 'range' of an entry of 'layers' is 'a', wanted a finite number");
  EXPECT_EQ(first_line("inputs: {divide: 255}"), "error: 'divide' in 'inputs' is no description of an input");
  EXPECT_EQ(first_line("layers: [{match: a, zero_point: 1}]"), "error: 'zero_point' needs 'scale'");
  EXPECT_EQ(first_line("layers: [{match: a, range: [0, 1], scale: 1}]"), "error: both 'range' and 'scale' are given");
  EXPECT_EQ(first_line("layers: {match: a}"), "error: 'layers' of the recipe is a map, wanted a list of entries '- match: ...'");
  EXPECT_EQ(first_line("calibration: {method: entropie}"),
            "error: 'method' of 'calibration' is 'entropie', wanted one of: max, percentile, moving_average, kl, mse, sqnr, output_mse");
  EXPECT_EQ(first_line("eval: {task: read, label_offset: 1}"), "error: 'label_offset' has no effect with 'task: read'");
  EXPECT_EQ(first_line("eval: {task: classify, dictionary: keys.txt}"), "error: 'dictionary' has no effect without 'task: read'");
  EXPECT_EQ(test::must(parse_recipe("eval: {task: read, dictionary: keys.txt}", "nets/r.yaml")).eval.dictionary, "nets/keys.txt") << "beside the recipe";
  EXPECT_EQ(test::must(parse_recipe("eval: {task: read, dictionary: /keys.txt}", "nets/r.yaml")).eval.dictionary, "/keys.txt");
  EXPECT_EQ(first_line("target: ort\ntarget: tflite\n"), "error: key 'target' stands twice in the same map");
  EXPECT_EQ(first_line("input: [\n").substr(0, 32), "error: 'r.yaml' is not valid YAM");
}

TEST(Recipe, APercentileNeedsSomethingThatReadsIt) {
  EXPECT_EQ(error_of("calibration: {method: mse, percentile: 99}"),
            "error: 'percentile' has no effect without 'method: percentile'\n"
            "  --> r.yaml:1:40\n"
            "   |  calibration: {method: mse, percentile: 99}\n"
            "   |                                         ^^\n"
            "  help: add 'method: percentile' or remove 'percentile'");
  EXPECT_EQ(error_of("calibration: {percentile: 99}").substr(0, 63), "error: 'percentile' has no effect without 'method: percentile'\n");
  EXPECT_EQ(test::must(parse_recipe("calibration: {method: percentile, percentile: 99}", "r.yaml")).percentile, 99);
  EXPECT_EQ(test::must(parse_recipe("calibration: {method: mse, percentile: 99}\nlayers: [{match: a, calibration: percentile}]", "r.yaml")).percentile, 99);
}

TEST(Recipe, DropsWhatAPlanHasDecided) {
  constexpr const char* kKept = "target: ort\ninput: {divide: 255}\ncalibration: {samples: 7}\neval: {task: classify}\n";
  Recipe recipe = test::must(parse_recipe(kKept, "r.yaml"));
  EXPECT_TRUE(recipe.drop_decisions().empty());
  EXPECT_EQ(recipe.target, "ort");
  EXPECT_EQ(recipe.inputs.size(), 1U);
  EXPECT_EQ(recipe.samples, 7);
  EXPECT_EQ(recipe.eval.task, "classify");
  recipe = test::must(parse_recipe(R"(calibration: {method: percentile, percentile: 99, samples: 7}
quantization: {activations: int16, symmetric_activations: true, weights: {bits: 8, per_channel: true}, untie_ratio: 8}
layers: [{match: a, keep: float}]
)", "r.yaml"));
  EXPECT_EQ(recipe.drop_decisions(), (std::vector<std::string>{"calibration.method", "calibration.percentile", "quantization.activations", "quantization.symmetric_activations", "quantization.weights.bits",
                                                               "quantization.weights.per_channel", "quantization.untie_ratio", "layers"}));
  EXPECT_TRUE(recipe.drop_decisions().empty());
  EXPECT_EQ(recipe.samples, 7);
}

// What the error of a wrong choice lists.
std::set<std::string> choices_in(const std::string& yaml) {
  const std::string error = error_of(yaml), before = "wanted one of: ";
  const std::size_t begin = error.find(before);
  if (begin == std::string::npos) return {};
  const std::vector<std::string> names = split(std::string_view(error).substr(begin + before.size(), error.find('\n', begin) - begin - before.size()), ',');
  std::set<std::string> choices;
  for (const std::string& name : names) choices.emplace(trim(name));
  return choices;
}

// The recipe stands below the stages that own these names; this keeps them in step.
TEST(Recipe, KnowsEveryCalibratorTaskAndDecoderAndNoOther) {
  std::set<std::string> methods;
  for (const Calibrator& calibrator : calibrators()) methods.emplace(calibrator.name);
  EXPECT_EQ(choices_in("calibration: {method: none}"), methods);
  const std::vector<std::string> tasks = task_names(), decoders = decoder_names();
  EXPECT_EQ(choices_in("eval: {task: none}"), std::set(tasks.begin(), tasks.end()));
  EXPECT_EQ(choices_in("eval: {task: detect, decoder: none}"), std::set(decoders.begin(), decoders.end()));
}

TEST(Recipe, EveryShippedExampleReads) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_folder() + "/examples/recipes")) {
    const Recipe recipe = test::must(load_recipe(entry.path().string()));
    EXPECT_FALSE(recipe.inputs.empty()) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 12);
}

}  // namespace
}  // namespace narrow
