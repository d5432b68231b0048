#include "data/input_check.h"

#include <limits>

#include "support.h"
#include "tensor/npy.h"

namespace narrow {
namespace {

struct Checked {
  std::vector<InputStatistics> statistics;
  std::vector<std::string> warnings;
};

Checked check(const Tensor& data, const Shape& input, const std::string& yaml) {
  const std::string file = test::temporary_folder() + "/a.npy";
  test::must(write_npy(file, data));
  Graph graph;
  graph.add_input("x", DType::kF32, input);
  const Recipe recipe = test::must(parse_recipe(yaml, "r.yaml"));
  const auto dataset = test::must(open_dataset({.paths = {file}}, graph, recipe));
  Checked out{test::must(measure_inputs(*dataset, graph, recipe)), {}};
  Diagnostics diagnostics;
  check_inputs(out.statistics, graph, recipe, diagnostics);
  for (const Diagnostic& d : diagnostics.all()) out.warnings.push_back(d.message);
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

TEST(InputCheck, RawPixelsWithoutAWordAreSuspicious) {
  EXPECT_EQ(check(kPixels, {1, 2, 2, 3}, "").warnings,
            (std::vector<std::string>{"input 'x' is fed values from 0 to 255 and the recipe has neither mean nor scale: the data look un-normalised"}));
  EXPECT_TRUE(check(kPixels, {1, 2, 2, 3}, "input: {scale: 1}").warnings.empty());
  EXPECT_TRUE(check(kPixels, {1, 2, 2, 3}, "input: {divide: 255}").warnings.empty());
  // The same numbers in a vector are no picture: nothing is known about them.
  EXPECT_TRUE(check(kPixels.reshaped({2, 12}), {1, 12}, "").warnings.empty());
}

TEST(InputCheck, NormalisedTwiceIsSeen) {
  Tensor small(DType::kF32, {2, 2, 2, 3});
  for (std::int64_t i = 0; i < 24; ++i) small.data<float>()[i] = static_cast<float>(kPixels.data<std::uint8_t>()[i]) / 255.0F;
  EXPECT_TRUE(check(small, {1, 2, 2, 3}, "").warnings.empty());
  EXPECT_EQ(check(small, {1, 2, 2, 3}, "input: {divide: 255}").warnings,
            (std::vector<std::string>{"input 'x' is fed values from 0 to 0.003922 only, with a standard deviation of 0.001241: the data look normalised twice"}));
  EXPECT_EQ(check(small, {1, 2, 2, 3}, "input: {mean: 127.5, std: 127.5}").warnings,
            (std::vector<std::string>{"input 'x' is fed values from -1 to -0.9922 only, with a standard deviation of 0.002481: the data look normalised twice"}));
}

TEST(InputCheck, ConstantsAndNansAreSaid) {
  EXPECT_EQ(check(Tensor::zeros(DType::kF32, {1, 2, 2, 3}), {1, 2, 2, 3}, "").warnings, (std::vector<std::string>{"input 'x' is fed the constant 0"}));
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
