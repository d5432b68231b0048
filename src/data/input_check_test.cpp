#include "data/input_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support.h"
#include "tensor/npy.h"

namespace narrow {
namespace {

struct Checked {
  std::vector<InputStatistics> statistics;
  std::vector<std::string> warnings, helps;
};

Checked check(const Tensor& data, const Shape& input, const std::string& yaml) {
  const std::string file = test::temporary_folder() + "/a.npy";
  test::must(write_npy(file, data));
  Graph graph;
  graph.add_input("x", DType::kF32, input);
  const Recipe recipe = test::must(parse_recipe(yaml, "r.yaml"));
  const auto dataset = test::must(open_dataset({.paths = {file}}, graph, recipe));
  Checked out{test::must(measure_inputs(*dataset, graph, recipe)), {}, {}};
  Diagnostics diagnostics;
  check_inputs(out.statistics, graph, recipe, diagnostics);
  for (const Diagnostic& d : diagnostics.all()) {
    out.warnings.push_back(d.message);
    out.helps.push_back(d.help);
  }
  return out;
}

// Two pictures of 2 x 2 pixels, NHWC.
const Tensor kPixels = Tensor::of<std::uint8_t>({2, 2, 2, 3}, {0, 10, 20, 255, 10, 21, 0, 10, 22, 255, 10, 23, 100, 10, 24, 200, 10, 25, 100, 10, 26, 200, 10, 27});

TEST(InputCheck, MomentsPerChannel) {
  const Checked checked = check(kPixels, {1, 2, 2, 3}, "");
  ASSERT_EQ(checked.statistics.size(), 1U);
  const InputStatistics& s = checked.statistics[0];
  EXPECT_EQ(s.name, "x");
  EXPECT_EQ(s.samples, 2);
  EXPECT_EQ(s.elements, 24);
  EXPECT_EQ(s.all.min, 0);
  EXPECT_EQ(s.all.max, 255);
  ASSERT_EQ(s.channels.size(), 3U);
  EXPECT_EQ(s.channels[0].mean, 1110.0 / 8);
  EXPECT_EQ(s.channels[1].deviation, 0);
  EXPECT_EQ(s.channels[2].mean, 23.5);
  EXPECT_NEAR(s.channels[2].deviation, std::sqrt(5.25), 1e-12);
  EXPECT_EQ(to_string(checked.statistics),
            "input        min  max   mean    std\n"
            "x              0  255  57.42  80.67\n"
            "  channel 0    0  255  138.8  97.49\n"
            "  channel 1   10   10     10      0\n"
            "  channel 2   20   27   23.5  2.291\n");
}

TEST(InputCheck, LooksAtTheFirstSamplesThatCanBeRead) {
  // Of twelve samples, those with these numbers can be read; each holds its number.
  class Some : public Dataset {
   public:
    std::vector<std::int64_t> readable;
    std::int64_t size() const override { return 12; }
    Result<Sample> load(std::int64_t index) const override {
      if (std::find(readable.begin(), readable.end(), index) == readable.end()) return error("'{}' is damaged", name_of(index));
      return Sample{.name = name_of(index), .inputs = {Tensor::of<float>({1}, {static_cast<float>(index)})}};
    }
    std::string name_of(std::int64_t index) const override { return fmt::format("s{}", index); }
    std::string formula() const override { return ""; }
  };
  Graph graph;
  graph.add_input("x", DType::kF32, {1});
  Some data;
  data.readable = {5, 7, 8, 10, 11};
  const InputStatistics seen = test::must(measure_inputs(data, graph, {}))[0];
  EXPECT_EQ(seen.samples, 4);
  EXPECT_EQ(seen.all.min, 5);
  EXPECT_EQ(seen.all.max, 10);
  data.readable = {11};
  EXPECT_EQ(test::must(measure_inputs(data, graph, {}))[0].all.mean, 11);
  data.readable.clear();
  EXPECT_EQ(measure_inputs(data, graph, {}).error().message, "'s0' is damaged");
}

TEST(InputCheck, RawPixelsWithoutAWordAreSuspicious) {
  EXPECT_EQ(check(kPixels, {1, 2, 2, 3}, "").warnings,
            (std::vector<std::string>{"input 'x' is fed values from 0 to 255 and the recipe has neither mean nor scale: the data look un-normalised"}));
  EXPECT_TRUE(check(kPixels, {1, 2, 2, 3}, "input: {scale: 1}").warnings.empty());
  EXPECT_TRUE(check(kPixels, {1, 2, 2, 3}, "input: {divide: 255}").warnings.empty());
  // The same numbers in a vector are no picture: nothing is known about them.
  EXPECT_TRUE(check(kPixels.reshaped({2, 12}), {1, 12}, "").warnings.empty());
}

// What files hold.
enum class Data { kCodes, kDark, kDigits, kUnit, kSigned, kImageNet, kWhitened, kInt8, kSpectrogram, kLoudness, kPressure, kSixteenBits, kAudio };

Tensor make(Data kind, const Shape& shape, std::mt19937_64& rng) {
  Tensor out(DType::kF64, shape);
  std::uniform_real_distribution<double> unit(0, 1);
  std::normal_distribution<double> normal;
  std::int64_t plane = 1;  // elements of a channel of [N,3,H,W]
  for (std::size_t a = 2; a < shape.size(); ++a) plane *= shape[a];
  constexpr double kMean[] = {0.485, 0.456, 0.406}, kStd[] = {0.229, 0.224, 0.225};
  for (std::int64_t i = 0; i < out.elements(); ++i) {
    const std::int64_t channel = i / plane % 3;
    double& x = out.data<double>()[i];
    switch (kind) {
      case Data::kCodes: x = std::floor(256 * unit(rng)); break;
      case Data::kDark: x = std::floor(21 * std::pow(unit(rng), 4)); break;  // most of it black
      case Data::kDigits: x = unit(rng) < 0.81 ? 0 : std::floor(256 * unit(rng)); break;
      case Data::kUnit: x = unit(rng); break;
      case Data::kSigned: x = 2 * unit(rng) - 1; break;
      case Data::kImageNet: x = (unit(rng) - kMean[channel]) / kStd[channel]; break;
      case Data::kWhitened: x = normal(rng); break;
      case Data::kInt8: x = std::clamp(std::floor(40 * normal(rng)), -128.0, 127.0); break;
      case Data::kSpectrogram: x = -25 + 5 * normal(rng); break;
      case Data::kLoudness: x = 6 + 6 * unit(rng); break;
      case Data::kPressure: x = 1000 + 5 * normal(rng); break;
      case Data::kSixteenBits: x = std::floor(65536 * unit(rng)); break;
      case Data::kAudio: x = std::floor(200 * normal(rng)); break;
    }
  }
  return out;
}

constexpr const char* kImageNetRecipe = "input: {divide: 255, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}";
constexpr const char* kUndividedRecipe = "input: {mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}";
constexpr const char* kCodeRecipe = "input: {mean: [123.7, 116.3, 103.5], std: [58.4, 57.1, 57.4]}";
constexpr const char* kDividedTwiceRecipe = "input: {divide: 255, mean: [123.7, 116.3, 103.5], std: [58.4, 57.1, 57.4]}";
constexpr const char* kSubtractRecipe = "input: {mean: [103.9, 116.8, 123.7]}";
const Shape kPicture{4, 3, 16, 16}, kGrey{4, 1, 28, 28}, kMany{4, 24, 6, 6}, kVector{4, 200};

struct Case {
  Data data;
  DType stored;
  Shape shape;
  const char* recipe;
  const char* ending = "";  // of the warning; "": none
  const char* help = "";
};

constexpr const char* kAlready = "; they look normalised already";
constexpr const char* kForUnit = "but 'mean' and 'std' are made for data in [0, 1]";
constexpr const char* kRemoveAll = "if they are, remove 'divide', 'mean', 'std' and 'scale' from the recipe";
constexpr const char* kRemove = "if they are, remove 'mean', 'std' and 'scale' from the recipe";
constexpr const char* kSayWhich = "if the network expects [0, 1], write 'divide: 255' for this input, or its 'mean' and 'std'; if it expects these values, write 'scale: 1' to say so";
constexpr const char* kDivide = "add 'divide: 255' to the recipe of this input";

const Case kCases[] = {
    // Normalised twice.
    {Data::kImageNet, DType::kF32, kPicture, kImageNetRecipe, kAlready, kRemoveAll},
    {Data::kUnit, DType::kF32, kPicture, kImageNetRecipe, kAlready, kRemoveAll},
    {Data::kSigned, DType::kF32, kPicture, kImageNetRecipe, kAlready, kRemoveAll},
    {Data::kImageNet, DType::kF64, kPicture, kCodeRecipe, kAlready, kRemoveAll},
    {Data::kUnit, DType::kF32, kPicture, "input: {divide: 255}", kAlready, kRemoveAll},
    {Data::kSigned, DType::kF32, kPicture, "input: {divide: 255}", kAlready, kRemoveAll},
    {Data::kImageNet, DType::kF32, kPicture, "input: {divide: 255}", kAlready, kRemoveAll},
    {Data::kUnit, DType::kF32, kPicture, "input: {mean: 127, scale: 0.0078}", kAlready, kRemoveAll},
    {Data::kImageNet, DType::kF32, kPicture, "input: {mean: 127.5, std: 127.5}", kAlready, kRemoveAll},
    {Data::kUnit, DType::kF32, kPicture, kSubtractRecipe, kAlready, kRemoveAll},
    {Data::kUnit, DType::kF32, kGrey, "input: {divide: 255, mean: 0.1307, std: 0.3081}", kAlready, kRemoveAll},
    {Data::kUnit, DType::kF32, kVector, "input: {divide: 255}", kAlready, kRemoveAll},
    {Data::kImageNet, DType::kF32, kPicture, kUndividedRecipe, kAlready, kRemove},
    {Data::kSigned, DType::kF32, kPicture, "input: {mean: 0.5, std: 0.5}", kAlready, kRemove},
    {Data::kWhitened, DType::kF32, kGrey, "input: {mean: 0.1307, std: 0.3081}", kAlready, kRemove},
    // 'divide' forgotten.
    {Data::kCodes, DType::kF32, kPicture, kUndividedRecipe, kForUnit, kDivide},
    {Data::kCodes, DType::kU8, kPicture, kUndividedRecipe, kForUnit, kDivide},
    {Data::kCodes, DType::kU8, kPicture, "input: {mean: 0.5, std: 0.5}", kForUnit, kDivide},
    {Data::kCodes, DType::kU8, kPicture, "input: {mean: [0.485, 0.456, 0.406]}", kForUnit, kDivide},
    {Data::kDigits, DType::kU8, kGrey, "input: {mean: 0.1307, std: 0.3081}", kForUnit, kDivide},
    {Data::kDigits, DType::kU8, kVector, "input: {mean: 0.1307, std: 0.3081}", kForUnit, kDivide},
    {Data::kSixteenBits, DType::kU16, kPicture, "input: {mean: 0.5, std: 0.5}", kForUnit, "add to the recipe of this input a 'divide' that brings them to [0, 1]"},
    // Mean and std of codes after a division.
    {Data::kCodes, DType::kU8, kPicture, kDividedTwiceRecipe, "the recipe is made for values up to 4.103e+04 at least",
     "'mean' and 'std' are those of the data after 'divide: 255', as 0.485 and 0.229 for pictures in [0, 1]; or leave 'divide' out"},
    {Data::kCodes, DType::kF32, kPicture, "input: {divide: 255, mean: 127.5, std: 0.5}", "the recipe is made for values up to 3.264e+04 at least",
     "'mean' and 'std' are those of the data after 'divide: 255', as 0.485 and 0.229 for pictures in [0, 1]; or leave 'divide' out"},
    {Data::kCodes, DType::kU8, kPicture, "input: {divide: 65535}", "the recipe is made for values up to 6.554e+04 at least", "check the units of 'divide', 'mean', 'std' and 'scale'"},
    // Nothing said.
    {Data::kCodes, DType::kU8, kPicture, "", "the recipe has neither mean nor scale: the data look un-normalised",
     kSayWhich},
    {Data::kCodes, DType::kF32, kPicture, "", "the recipe has neither mean nor scale: the data look un-normalised", kSayWhich},
    {Data::kDark, DType::kF32, kGrey, "", "the recipe has neither mean nor scale: the data look un-normalised", kSayWhich},

    // As it should be.
    {Data::kCodes, DType::kU8, kPicture, kImageNetRecipe},
    {Data::kCodes, DType::kF32, kPicture, kCodeRecipe},
    {Data::kCodes, DType::kU8, kPicture, kSubtractRecipe},
    {Data::kCodes, DType::kU8, kPicture, "input: {divide: 255}"},
    {Data::kCodes, DType::kU8, kPicture, "input: {scale: 1}"},
    {Data::kCodes, DType::kU8, kPicture, "input: {mean: 128, std: 128}"},
    {Data::kCodes, DType::kU8, kPicture, "input: {mean: 114, scale: 0.017}"},
    {Data::kDark, DType::kU8, kPicture, kImageNetRecipe},
    {Data::kDark, DType::kU8, kPicture, "input: {divide: 255}"},
    {Data::kDark, DType::kF32, kPicture, "input: {mean: 127.5, std: 127.5}"},
    {Data::kDark, DType::kU8, kPicture, "input: {scale: 1}"},
    {Data::kDigits, DType::kU8, kGrey, "input: {divide: 256}"},
    {Data::kDigits, DType::kU8, kGrey, "input: {divide: 255, mean: 0.1307, std: 0.3081}"},
    {Data::kDigits, DType::kU8, kGrey, "input: {scale: 1}"},
    {Data::kDigits, DType::kU8, kVector, "input: {divide: 255}"},
    {Data::kUnit, DType::kF32, kPicture, ""},
    {Data::kUnit, DType::kF32, kPicture, kUndividedRecipe},
    {Data::kUnit, DType::kF32, kPicture, "input: {mean: 0.5, std: 0.5}"},
    {Data::kUnit, DType::kF32, kPicture, "input: {scale: 255}"},
    {Data::kUnit, DType::kF32, kPicture, "input: {mean: 0.5, scale: 255}"},
    {Data::kSigned, DType::kF32, kPicture, ""},
    {Data::kImageNet, DType::kF32, kPicture, ""},
    {Data::kImageNet, DType::kF32, kPicture, "input: {scale: 1}"},
    {Data::kWhitened, DType::kF32, kGrey, ""},
    {Data::kSigned, DType::kF32, kPicture, "input: {mean: 0.1, std: 0.5}"},
    {Data::kWhitened, DType::kF32, kPicture, "input: {mean: 0.3, std: 0.8}"},
    {Data::kWhitened, DType::kF32, kGrey, "input: {mean: 0.3, std: 0.8}"},
    {Data::kWhitened, DType::kF32, kMany, "input: {mean: 0.1, std: 1.1}"},
    {Data::kWhitened, DType::kF32, kVector, "input: {mean: 0.3, std: 0.8}"},
    {Data::kInt8, DType::kI8, kVector, "input: {mean: 83, scale: 0.5847029}"},
    {Data::kInt8, DType::kI8, kVector, "input: {mean: 3, scale: 0.5}"},
    {Data::kInt8, DType::kI8, kVector, "input: {mean: -128, scale: 0.00002}"},
    {Data::kInt8, DType::kI8, kVector, "input: {scale: 0.0001}"},
    {Data::kInt8, DType::kI8, {4, 1, 49, 10}, "input: {mean: 3, scale: 0.5}"},
    {Data::kInt8, DType::kI8, kVector, ""},
    {Data::kSpectrogram, DType::kF32, {4, 640}, ""},
    {Data::kSpectrogram, DType::kF32, {4, 1, 64, 32}, ""},
    {Data::kSpectrogram, DType::kF32, {4, 1, 64, 32}, "input: {mean: -25, std: 5}"},
    {Data::kSpectrogram, DType::kF32, {4, 1, 64, 32}, "input: {scale: 0.01}"},
    {Data::kLoudness, DType::kF32, {4, 1, 76, 32}, ""},
    {Data::kPressure, DType::kF32, kVector, "input: {mean: 1000, std: 5}"},
    {Data::kPressure, DType::kF32, kVector, "input: {scale: 0.001}"},
    {Data::kSixteenBits, DType::kU16, kPicture, "input: {divide: 65535}"},
    {Data::kSixteenBits, DType::kU16, kPicture, "input: {divide: 65535, mean: 0.5, std: 0.5}"},
    {Data::kAudio, DType::kI16, {4, 1600}, "input: {divide: 32768}"},
};

TEST(InputCheck, TellsWrongNormalisationFromRight) {
  NARROW_SEEDED(rng);
  for (const Case& c : kCases) {
    SCOPED_TRACE(fmt::format("data {} as {} of {}, recipe '{}'", static_cast<int>(c.data), name_of(c.stored), to_string(c.shape), c.recipe));
    Shape input = c.shape;
    input[0] = 1;
    const Checked checked = check(make(c.data, c.shape, rng).cast(c.stored), input, c.recipe);
    if (*c.ending == '\0') {
      EXPECT_EQ(checked.warnings, (std::vector<std::string>{}));
      continue;
    }
    ASSERT_EQ(checked.warnings.size(), 1U);
    EXPECT_TRUE(checked.warnings[0].ends_with(c.ending)) << checked.warnings[0];
    EXPECT_EQ(checked.helps[0], c.help);
  }
}

TEST(InputCheck, WarningsSayWhatIsFedAndWhatTheFilesHold) {
  Tensor small(DType::kF32, {2, 2, 2, 3});
  for (std::int64_t i = 0; i < 24; ++i) small.data<float>()[i] = static_cast<float>(kPixels.data<std::uint8_t>()[i]) / 255.0F;
  EXPECT_TRUE(check(small, {1, 2, 2, 3}, "").warnings.empty());
  EXPECT_EQ(check(small, {1, 2, 2, 3}, "input: {divide: 255}").warnings,
            (std::vector<std::string>{"input 'x' is fed values from 0 to 0.003922: the data hold values from 0 to 1, the recipe is made for values up to 255 at least; they look normalised already"}));
  EXPECT_EQ(check(small, {1, 2, 2, 3}, "input: {mean: 127.5, std: [127.5, 127.5, -127.5]}").warnings,
            (std::vector<std::string>{"input 'x' is fed values from -1 to 0.9994: the data hold values from 0 to 1, the recipe is made for values up to 255 at least; they look normalised already"}));
  EXPECT_EQ(check(kPixels, {1, 2, 2, 3}, "input: {mean: 0.5, std: 0.25}").warnings,
            (std::vector<std::string>{"input 'x' is fed values from -2 to 1018: the data hold values from 0 to 255, but 'mean' and 'std' are made for data in [0, 1]"}));
}

TEST(InputCheck, ConstantsAndNansAreSaid) {
  EXPECT_EQ(check(Tensor::of<float>({1, 1, 1, 3}, {-0.0F, -0.0F, -0.0F}), {1, 1, 1, 3}, "").warnings, (std::vector<std::string>{"input 'x' is fed the constant 0"}));
  EXPECT_EQ(check(Tensor::zeros(DType::kF32, {1, 2, 2, 3}), {1, 2, 2, 3}, "").warnings, (std::vector<std::string>{"input 'x' is fed the constant 0"}));
  EXPECT_EQ(check(Tensor::zeros(DType::kU8, {1, 2, 2, 3}), {1, 2, 2, 3}, "input: {divide: 255, mean: [0.5, 0.25, 0.5], std: 0.5}").warnings,
            (std::vector<std::string>{"input 'x' is fed one constant per channel, from -1 to -0.5"}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Checked checked = check(Tensor::of<float>({1, 3}, {1, nan, 3}), {1, 3}, "");
  EXPECT_EQ(checked.statistics[0].not_finite, 1);
  EXPECT_EQ(checked.statistics[0].all.mean, 2);
  EXPECT_EQ(checked.warnings, (std::vector<std::string>{"input 'x' is fed 1 values that are NaN or infinite"}));
}

TEST(InputCheck, AnIntegerNetworkKnowsWhatItWasCalibratedFor) {
  Graph network;
  const ValueId id = network.add_input("x", DType::kU8, {1, 3, 2, 2});
  network.set_quant(id, QuantParams::per_tensor(DType::kU8, 0.02F, 100));  // [-2, 3.1]
  const auto warnings = [&](double low, double high) {
    InputStatistics s;
    s.name = "x";
    s.samples = 1;
    s.elements = 12;
    s.all = {low, high, 0, 1};
    Diagnostics diagnostics;
    check_against_grids({s}, network, diagnostics);
    std::vector<std::string> messages;
    for (const Diagnostic& d : diagnostics.all()) messages.push_back(d.message);
    return messages;
  };
  EXPECT_EQ(warnings(0, 255), (std::vector<std::string>{"input 'x' is fed values from 0 to 255, but the network was calibrated for [-2, 3.1]"}));
  EXPECT_EQ(warnings(-1.217, -1.162), (std::vector<std::string>{"input 'x' is fed values from -1.217 to -1.162, but the network was calibrated for [-2, 3.1]"}));
  EXPECT_TRUE(warnings(-2.5, 4).empty());
  EXPECT_TRUE(warnings(0, 1).empty());
}

TEST(InputCheck, LinesSayFormulaAndStatistics) {
  const std::string file = test::temporary_folder() + "/lines.npy";
  test::must(write_npy(file, Tensor::of<float>({2, 3}, {1, 2, 3, 1, 2, 3})));
  Graph graph;
  graph.add_input("x", DType::kF32, {1, 3});
  const Recipe recipe = test::must(parse_recipe("input: {mean: 1, scale: 1}", "r.yaml"));
  const auto dataset = test::must(open_dataset({.paths = {file}}, graph, recipe));
  EXPECT_EQ(describe_inputs(*dataset, test::must(measure_inputs(*dataset, graph, recipe))),
            (std::vector<std::string>{"x = (f32 array - 1), f32", "x as fed: min 0, max 2, mean 1, deviation 0.8165 over 2 samples"}));
}

}  // namespace
}  // namespace narrow
