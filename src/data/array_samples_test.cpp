// Samples out of arrays: .npy, .npz and raw files in every form in which they can be stored, whole or cut into windows.
#include <numeric>

#include "array_files.h"
#include "base/file.h"
#include "base/parallel.h"
#include "datasets.h"
#include "tensor/npy.h"

namespace narrow {
namespace {

using test::graph_of;
using test::message;
using test::open;
using test::values;

TEST(ArraySamples, ArraysCountSamplesByTheirFirstAxis) {
  const std::string file = test::temporary_folder() + "/a.npy";
  std::vector<std::uint8_t> codes(2 * 1 * 2 * 3);
  std::iota(codes.begin(), codes.end(), std::uint8_t{0});
  test::must(write_npy(file, Tensor::of<std::uint8_t>({2, 1, 2, 3}, codes)));
  // NHWC as the network wants it.
  const auto same = test::must(open(file, graph_of({{"x", {1, 1, 2, 3}}}), "input: {divide: 2, mean: [0, 1, 2], std: [1, 2, 4]}"));
  ASSERT_EQ(same->size(), 2);
  EXPECT_EQ(same->name_of(1), "a.npy[1]");
  EXPECT_EQ(values(test::must(same->load(1))), (std::vector<float>{3, 1.25F, 0.5F, 4.5F, 2, 0.875F}));
  EXPECT_EQ(same->formula(), "x = (u8 array - [0, 2, 4]) * [0.5, 0.25, 0.125], f32 NHWC");
  // NHWC for a network that wants NCHW.
  const auto turned = test::must(open(file, graph_of({{"x", {1, 3, 1, 2}}}), "input: {layout: nhwc, mean: [0, 10, 20]}"));
  EXPECT_EQ(values(test::must(turned->load(1))), (std::vector<float>{6, 9, -3, 0, -12, -9}));
  EXPECT_EQ(turned->formula(), "x = (u8 array in nhwc - [0, 10, 20]), f32 NCHW");
  // One sample when the shape is the input's own.
  const auto single = test::must(open(file, graph_of({{"x", {2, 1, 2, 3}}})));
  EXPECT_EQ(single->size(), 1);
  EXPECT_EQ(single->name_of(0), "a.npy");
  EXPECT_EQ(values(test::must(single->load(0))).back(), 11);
  // Forgotten layout, and another shape.
  const auto forgotten = open(file, graph_of({{"x", {1, 3, 1, 2}}}));
  EXPECT_EQ(message(forgotten), "'" + file + "' has shape [2,1,2,3], input 'x' wants [N,3,1,2]");
  EXPECT_EQ(forgotten.error().help, "add 'layout: nhwc' to the recipe of this input");
  EXPECT_EQ(message(open(file, graph_of({{"x", {1, 5}}}))), "'" + file + "' has shape [2,1,2,3], input 'x' wants [N,5]");
}

TEST(ArraySamples, PlanarArraysForAnInterleavedNetwork) {
  const std::string file = test::temporary_folder() + "/a.npy";
  test::must(write_npy(file, Tensor::of<float>({1, 3, 1, 2}, {0, 1, 10, 11, 20, 21})));
  const auto data = test::must(open(file, graph_of({{"x", {1, 1, 2, 3}}}), "input: {layout: nchw}"));
  EXPECT_EQ(values(test::must(data->load(0))), (std::vector<float>{0, 10, 20, 1, 11, 21}));
}

TEST(ArraySamples, MissingUnitAxesDoNotMatter) {
  const std::string file = test::temporary_folder() + "/a.npy";
  test::must(write_npy(file, Tensor::of<std::uint8_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})));
  for (const Shape& shape : {Shape{1, 1, 2, 2}, Shape{1, 2, 2, 1}, Shape{1, 2, 2}}) {
    const auto data = test::must(open(file, graph_of({{"x", shape}})));
    ASSERT_EQ(data->size(), 2);
    const Sample sample = test::must(data->load(1));
    EXPECT_EQ(sample.inputs[0].shape(), shape);
    EXPECT_EQ(values(sample), (std::vector<float>{5, 6, 7, 8}));
  }
}

TEST(ArraySamples, RawFilesHaveTheRecipesType) {
  const std::string file = test::temporary_folder() + "/a.raw";
  const float reals[] = {0.5F, -1.5F};
  test::must(write_file(file, {reinterpret_cast<const char*>(reals), sizeof reals}));
  EXPECT_EQ(values(test::must(test::must(open(file, graph_of({{"x", {1, 2}}})))->load(0))), (std::vector<float>{0.5F, -1.5F}));
  const auto bytes = test::must(open(file, graph_of({{"x", {1, 8}}}), "input: {dtype: uint8, scale: 2}"));
  EXPECT_EQ(values(test::must(bytes->load(0))), (std::vector<float>{0, 0, 0, 126, 0, 0, 384, 382}));
  EXPECT_EQ(message(open(file, graph_of({{"x", {1, 3}}}))), "'" + file + "' has 8 bytes, wanted 12: input 'x' of shape [1,3] as f32");
}

TEST(ArraySamples, CutsArraysIntoWindows) {
  const std::string folder = test::temporary_folder();
  const Graph graph = graph_of({{"x", {1, 4}}});
  std::vector<float> counting(11);
  std::iota(counting.begin(), counting.end(), 0.0F);
  const std::string bytes(reinterpret_cast<const char*>(counting.data()), counting.size() * sizeof(float));
  test::must(write_file(folder + "/a.bin", bytes));
  test::must(write_npy(folder + "/b.npy", Tensor::of<float>({11}, counting)));
  for (const std::string name : {"a.bin", "b.npy"}) {
    const auto data = test::must(open(folder + "/" + name, graph, "input: {window_stride: 3, mean: 1}"));
    ASSERT_EQ(data->size(), 3) << "elements 0, 3 and 6; the window at 9 would be cut short";
    EXPECT_EQ(data->name_of(1), name + "[1]");
    EXPECT_EQ(data->file_of(1), folder + "/" + name);
    EXPECT_EQ(data->formula(), "x = (f32 array cut into windows 3 apart - 1), f32");
    for (std::int64_t i : {2, 0, 1}) {
      const auto k = static_cast<float>(3 * i);
      EXPECT_EQ(values(test::must(data->load(i))), (std::vector<float>{k - 1, k, k + 1, k + 2}));
    }
  }
  test::must(write_file(folder + "/short.bin", bytes.substr(0, 12)));
  EXPECT_EQ(message(open(folder + "/short.bin", graph, "input: {window_stride: 3}")), "'" + (folder + "/short.bin") + "' holds 3 elements, fewer than one window of 4 for input 'x' of shape [1,4]");
  test::must(write_file(folder + "/odd.bin", bytes.substr(0, 21)));
  EXPECT_EQ(message(open(folder + "/odd.bin", graph, "input: {window_stride: 3}")), "'" + (folder + "/odd.bin") + "' has 21 bytes, wanted whole elements of f32 (4 bytes each)");
  EXPECT_NE(message(open(folder + "/a.bin", graph)).find("has 44 bytes, wanted 16"), std::string::npos);
}

// Samples of many pages, which are given back after each; in an order that comes back to neighbours.
TEST(ArraySamples, EveryStorageFormInAnyOrder) {
  const std::string folder = test::temporary_folder();
  NARROW_SEEDED(rng);
  const Shape sample{3, 32, 32};
  const Graph graph = graph_of({{"x", {1, 3, 32, 32}}});
  for (const std::int64_t count : {9, 1}) {
    const Shape shape{count, 3, 32, 32};
    const std::int64_t elements = element_count(sample);
    const std::vector<std::int64_t> numbers = test::random_ints<std::int64_t>(shape, rng, 0, 100).to_ints();
    std::vector<std::int64_t> order;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t i = 0; i < count; ++i) order.push_back(i * 4 % count);
    }
    for (const test::NpyForm& form : test::npy_forms()) {
      const std::string array = test::npy_bytes(form, shape, numbers);
      test::must(write_file(folder + "/a.npy", array));
      test::must(write_file(folder + "/s.npz", test::npz_bytes({{"other.npy", "?"}, {"x.npy", array}}, false)));
      test::must(write_file(folder + "/d.npz", test::npz_bytes({{"other.npy", "?"}, {"x.npy", array}}, true)));
      const std::vector<std::int64_t> wanted = test::npy_values(form, shape, numbers).to_ints();
      for (const char* file : {"/a.npy", "/s.npz", "/d.npz"}) {
        SCOPED_TRACE(form.name() + " in " + file);
        const auto data = test::must(open(folder + file, graph));
        ASSERT_EQ(data->size(), count);
        for (const std::int64_t i : order) {
          const std::vector<float> found = values(test::must(data->load(i)));
          ASSERT_TRUE(std::equal(found.begin(), found.end(), wanted.begin() + i * elements)) << i;
        }
        // Samples that are read side by side share pages.
        std::vector<std::vector<float>> found(order.size());
        parallel_for(static_cast<std::int64_t>(order.size()), [&](std::int64_t k) { found[static_cast<std::size_t>(k)] = values(*data->load(order[static_cast<std::size_t>(k)])); });
        for (std::size_t k = 0; k < order.size(); ++k) ASSERT_TRUE(std::equal(found[k].begin(), found[k].end(), wanted.begin() + order[k] * elements)) << k;
      }
    }
  }
}

TEST(ArraySamples, EveryStorageFormIsCutIntoWindows) {
  const std::string folder = test::temporary_folder();
  NARROW_SEEDED(rng);
  const Shape shape{1, 50, 4};
  const std::vector<std::int64_t> numbers = test::random_ints<std::int64_t>(shape, rng, 0, 100).to_ints();
  for (const test::NpyForm& form : test::npy_forms()) {
    const std::string array = test::npy_bytes(form, shape, numbers);
    test::must(write_file(folder + "/a.npy", array));
    test::must(write_file(folder + "/d.npz", test::npz_bytes({{"x.npy", array}}, true)));
    const std::vector<std::int64_t> wanted = test::npy_values(form, shape, numbers).to_ints();
    for (const char* file : {"/a.npy", "/d.npz"}) {
      SCOPED_TRACE(form.name() + " in " + file);
      const auto data = test::must(open(folder + file, graph_of({{"x", {1, 16}}}), "input: {window_stride: 8}"));
      ASSERT_EQ(data->size(), 24);
      for (const std::int64_t i : {23, 0, 11, 1}) {
        const std::vector<float> found = values(test::must(data->load(i)));
        EXPECT_TRUE(std::equal(found.begin(), found.end(), wanted.begin() + 8 * i)) << i;
      }
    }
  }
}

TEST(ArraySamples, ADamagedArchiveIsNamedAndTheOthersLoad) {
  const std::string folder = test::temporary_folder();
  const Graph graph = graph_of({{"x", {1, 4}}});
  const std::string one = test::npy_bytes({"f4", DType::kF32}, {1, 4}, {1, 2, 3, 4}), two = test::npy_bytes({"f4", DType::kF32}, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  std::string bad = test::npz_bytes({{"x.npy", one}}, false);
  bad[bad.find("NUMPY") + one.size() - 10] ^= 1;  // in the data
  test::must(write_file(folder + "/a.npz", bad));
  test::must(write_file(folder + "/b.npz", test::npz_bytes({{"x.npy", one}}, true)));
  const auto data = test::must(open(folder, graph));
  EXPECT_EQ(data->load(0).error().message, "'x.npy' in '" + folder + "/a.npz' is damaged: its checksum differs");
  EXPECT_EQ(values(test::must(data->load(1))), (std::vector<float>{1, 2, 3, 4}));
  // Many samples in one file: nothing is to be used of it.
  bad = test::npz_bytes({{"x.npy", two}}, false);
  bad[bad.find("NUMPY") + two.size() - 10] ^= 1;
  test::must(write_file(folder + "/c.npz", bad));
  EXPECT_EQ(message(open(folder + "/c.npz", graph)), "'x.npy' in '" + folder + "/c.npz' is damaged: its checksum differs");
}

}  // namespace
}  // namespace narrow
