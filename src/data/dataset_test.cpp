#include "data/dataset.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/file.h"
#include "data/image.h"
#include "data/npz.h"
#include "datasets.h"
#include "tensor/npy.h"

namespace narrow {
namespace {

namespace fs = std::filesystem;
using test::graph_of;
using test::message;
using test::open;
using test::values;

std::vector<float> first(const Sample& sample, std::ptrdiff_t count) {
  const std::vector<float> all = values(sample);
  return {all.begin(), all.begin() + count};
}

// A 24-bit bmp with red = 10 x + 1, green = 10 y + 2, blue = 3.
void write_bmp(const std::string& path, int width, int height) {
  const int line = (width * 3 + 3) / 4 * 4;
  std::string out = "BM";
  const auto put = [&](std::uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  };
  put(static_cast<std::uint32_t>(54 + line * height), 4);
  put(0, 4);
  put(54, 4);
  put(40, 4);
  put(static_cast<std::uint32_t>(width), 4);
  put(static_cast<std::uint32_t>(height), 4);
  put(1, 2);
  put(24, 2);
  for (int i = 0; i < 6; ++i) put(0, 4);
  for (int y = height - 1; y >= 0; --y) {
    for (int x = 0; x < width; ++x) {
      put(3, 1);
      put(static_cast<std::uint32_t>(10 * y + 2), 1);
      put(static_cast<std::uint32_t>(10 * x + 1), 1);
    }
    for (int i = width * 3; i < line; ++i) put(0, 1);
  }
  test::must(write_file(path, out));
}

TEST(Dataset, FolderIsReadByNameWithLimits) {
  const std::string folder = test::temporary_folder();
  for (const char* name : {"c.bmp", "a.bmp", "b.bmp", "d.bmp"}) write_bmp(folder + "/" + name, 2, 2);
  test::must(write_file(folder + "/labels.txt", "a 1\n"));
  test::must(write_file(folder + "/.hidden.bmp", "x"));
  const Graph graph = graph_of({{"x", {1, 3, 2, 2}}});
  const auto all = test::must(open(folder, graph));
  ASSERT_EQ(all->size(), 4);
  EXPECT_EQ(all->name_of(0), "a.bmp");
  EXPECT_EQ(all->name_of(3), "d.bmp");
  const auto some = test::must(open_dataset({.paths = {folder}, .first = 1, .limit = 2}, graph, {}));
  ASSERT_EQ(some->size(), 2);
  EXPECT_EQ(some->name_of(0), "b.bmp");
  EXPECT_EQ(test::must(some->load(1)).name, "c.bmp");
  EXPECT_EQ(test::must(open_dataset({.paths = {folder}, .limit = 100}, graph, {}))->size(), 4);
  EXPECT_EQ(message(open_dataset({.paths = {folder}, .first = 4}, graph, {})), "the data hold 4 samples, but the first 4 are to be skipped");
}

TEST(Dataset, ClassFoldersAreReadInOrder) {
  const std::string folder = test::temporary_folder();
  for (const char* name : {"dog", "cat"}) fs::create_directory(folder + "/" + name);
  write_bmp(folder + "/dog/1.bmp", 2, 2);
  write_bmp(folder + "/cat/2.bmp", 2, 2);
  const auto data = test::must(open(folder, graph_of({{"x", {1, 3, 2, 2}}})));
  ASSERT_EQ(data->size(), 2);
  EXPECT_EQ(data->name_of(0), "2.bmp");
  EXPECT_EQ(data->name_of(1), "1.bmp");
}

TEST(Dataset, PixelsAreOrderedNormalisedAndLaidOut) {
  const std::string file = test::temporary_folder() + "/a.bmp";
  write_bmp(file, 2, 1);
  const Graph planar = graph_of({{"x", {1, 3, 1, 2}}}), interleaved = graph_of({{"x", {1, 1, 2, 3}}});
  EXPECT_EQ(values(test::must(test::must(open(file, planar))->load(0))), (std::vector<float>{1, 11, 2, 2, 3, 3}));
  EXPECT_EQ(values(test::must(test::must(open(file, interleaved))->load(0))), (std::vector<float>{1, 2, 3, 11, 2, 3}));
  const std::string bgr = "input: {color: bgr, mean: [1, 0, 2], scale: [1, 10, 0.5]}";
  EXPECT_EQ(values(test::must(test::must(open(file, planar, bgr))->load(0))), (std::vector<float>{2, 2, 20, 20, -0.5F, 4.5F}));
  EXPECT_EQ(test::must(open(file, planar, bgr))->formula(),
            "x = (bgr image resized to 2x1 by antialiased bilinear - [1, 0, 2]) * [1, 10, 0.5], f32 NCHW");
  // 8-bit inputs take the nearest code and saturate.
  const Graph codes = graph_of({{"x", {1, 1, 2, 3}}}, DType::kI8);
  const Sample sample = test::must(test::must(open(file, codes, "input: {mean: 130.5}"))->load(0));
  EXPECT_EQ(sample.inputs[0].to_ints(), (std::vector<std::int64_t>{-128, -128, -128, -120, -128, -128}));
  // A network with one channel is fed luma.
  EXPECT_EQ(values(test::must(test::must(open(file, graph_of({{"x", {1, 1, 2}}})))->load(0))), (std::vector<float>{2, 5}));
}

TEST(Dataset, ResizeModesPlaceThePicture) {
  const std::string file = test::temporary_folder() + "/a.bmp";
  write_bmp(file, 8, 4);
  const Graph graph = graph_of({{"x", {1, 3, 4, 4}}});
  const auto sample_of = [&](const std::string& keys) { return test::must(test::must(open(file, graph, "input: {" + keys + "}"))->load(0)); };

  const Sample stretched = sample_of("resize: stretch, filter: nearest");
  EXPECT_EQ(first(stretched, 4), (std::vector<float>{11, 31, 51, 71}));
  EXPECT_EQ(stretched.scale_x, 0.5);
  EXPECT_EQ(stretched.scale_y, 1.0);
  EXPECT_EQ(stretched.image_width, 8);
  EXPECT_EQ(stretched.image_height, 4);

  const Sample boxed = sample_of("resize: letterbox, fill: 114");
  EXPECT_EQ(boxed.scale_x, 0.5);
  EXPECT_EQ(boxed.scale_y, 0.5);
  EXPECT_EQ(boxed.offset_y, 0);
  for (std::size_t i = 0; i < 48; ++i) EXPECT_EQ(values(boxed)[i] == 114, i % 16 >= 8) << i;

  const Sample middle = sample_of("resize: letterbox, fill: 7, align: center");
  EXPECT_EQ(middle.offset_x, 0);
  EXPECT_EQ(middle.offset_y, 1);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(values(middle)[i] == 7, i < 4 || i >= 12) << i;

  const Sample center = sample_of("resize: center_crop");
  EXPECT_EQ(first(center, 4), (std::vector<float>{21, 31, 41, 51}));
  EXPECT_EQ(center.offset_x, -2);
  EXPECT_EQ(center.scale_x, 1);

  const Sample cut = sample_of("resize: short_side, short_side: 4");
  EXPECT_EQ(values(cut), values(center));
  EXPECT_EQ(cut.offset_x, -2);

  EXPECT_EQ(test::must(open(file, graph, "input: {resize: none}"))->load(0).error().message, "'" + file + "' has 8 x 4 pixels, input 'x' wants 4 x 4");
}

TEST(Dataset, AThinPictureDoesNotBecomeAHugeOne) {
  const std::string file = test::temporary_folder() + "/a.bmp";
  write_bmp(file, 30000, 1);
  EXPECT_EQ(test::must(open(file, graph_of({{"x", {1, 3, 4, 4}}}), "input: {resize: short_side, short_side: 256}"))->load(0).error().message,
            "'" + file + "' has 30000 x 1 pixels: with a short side of 256 it would have more than 200000000");
}

TEST(Dataset, UndecodableImageIsNamedAndTheOthersLoad) {
  const std::string folder = test::temporary_folder();
  write_bmp(folder + "/a.bmp", 2, 2);
  test::must(write_file(folder + "/b.jpg", "not a picture"));
  const auto data = test::must(open(folder, graph_of({{"x", {1, 3, 2, 2}}})));
  EXPECT_TRUE(data->load(0).has_value());
  EXPECT_EQ(data->load(1).error().to_string(), "error: cannot decode '" + folder + "/b.jpg': unknown image type\n  help: wanted a jpg, png or bmp image; replace or remove the file");
}

TEST(Dataset, OnlyRegularFilesOfAFolderCount) {
  const std::string folder = test::temporary_folder(), elsewhere = test::temporary_folder();
  write_bmp(elsewhere + "/real.bmp", 2, 2);
  fs::create_symlink(elsewhere + "/real.bmp", folder + "/a.bmp");
  fs::create_symlink("nowhere.bmp", folder + "/b.bmp");
  fs::create_symlink("c.bmp", folder + "/c.bmp");
  ASSERT_EQ(::mkfifo((folder + "/d.bmp").c_str(), 0666), 0);
  write_bmp(folder + "/e.bmp", 2, 2);
  fs::create_symlink("nowhere.txt", folder + "/f.txt");
  const auto data = test::must(open(folder, graph_of({{"x", {1, 3, 2, 2}}})));
  ASSERT_EQ(data->size(), 4);  // the pipe and the text are no data
  for (const std::int64_t good : {0, 3}) EXPECT_EQ(values(test::must(data->load(good)))[0], 1) << good;
  for (const auto& [index, name] : {std::pair{1, "b.bmp"}, {2, "c.bmp"}}) {
    EXPECT_EQ(data->name_of(index), name);
    EXPECT_EQ(data->load(index).error().message, "cannot open '" + folder + "/" + name + "': it is a link to a file that does not exist");
  }
  EXPECT_EQ(data->files(), (std::vector<std::string>{folder + "/a.bmp", folder + "/b.bmp", folder + "/c.bmp", folder + "/e.bmp"}));
  // Arrays, too, for a network with several inputs.
  const std::string arrays = test::temporary_folder();
  test::must(write_npz(arrays + "/a.npz", {{"x", Tensor::of<float>({1, 2}, {1, 2})}, {"y", Tensor::of<float>({1, 1}, {3})}}));
  fs::create_symlink("nowhere.npz", arrays + "/0.npz");
  const auto pairs = test::must(open(arrays, graph_of({{"x", {1, 2}}, {"y", {1, 1}}})));
  ASSERT_EQ(pairs->size(), 2);
  EXPECT_FALSE(pairs->load(0).has_value());
  EXPECT_EQ(values(test::must(pairs->load(1)), 1), (std::vector<float>{3}));
  EXPECT_EQ(pairs->formula(), "x = f32 array, f32\ny = f32 array, f32");
}

TEST(Dataset, APipeInPlaceOfAPictureIsNotWaitedFor) {
  const std::string file = test::temporary_folder() + "/a.png";
  ASSERT_EQ(::mkfifo(file.c_str(), 0666), 0);
  EXPECT_EQ(test::must(open(file, graph_of({{"x", {1, 3, 2, 2}}})))->load(0).error().message, "cannot read '" + file + "': not a regular file");
}

TEST(Dataset, TotalCountsWhatIsNotUsed) {
  const std::string file = test::temporary_folder() + "/a.npy";
  test::must(write_npy(file, Tensor::zeros(DType::kF32, {7, 2})));
  const Graph graph = graph_of({{"x", {1, 2}}});
  const auto part = test::must(open_dataset({.paths = {file}, .first = 2, .limit = 3}, graph, {}));
  EXPECT_EQ(part->size(), 3);
  EXPECT_EQ(part->total(), 7);
  EXPECT_EQ(part->files(), (std::vector<std::string>{file}));
}

TEST(Dataset, SeveralInputsByName) {
  const std::string folder = test::temporary_folder();
  test::must(write_npy(folder + "/a.npy", Tensor::of<float>({2, 2}, {1, 2, 3, 4})));
  test::must(write_npy(folder + "/b.npy", Tensor::of<float>({2, 1}, {5, 6})));
  test::must(write_npz(folder + "/ab.npz", {{"b", Tensor::of<float>({1, 1}, {8})}, {"a:0", Tensor::of<float>({1, 2}, {9, 10})}}));
  const Graph graph = graph_of({{"a:0", {1, 2}}, {"b", {1, 1}}});
  const auto named = test::must(open_dataset({.paths = {"b=" + folder + "/b.npy", "a:0=" + folder + "/a.npy"}}, graph, {}));
  ASSERT_EQ(named->size(), 2);
  const Sample second = test::must(named->load(1));
  EXPECT_EQ(values(second, 0), (std::vector<float>{3, 4}));
  EXPECT_EQ(values(second, 1), (std::vector<float>{6}));
  const Sample zipped = test::must(test::must(open(folder + "/ab.npz", graph))->load(0));
  EXPECT_EQ(values(zipped, 0), (std::vector<float>{9, 10}));
  EXPECT_EQ(values(zipped, 1), (std::vector<float>{8}));

  EXPECT_EQ(message(open(folder + "/a.npy", graph)), "'" + folder + "/a.npy' is data for one input, but the network has 2: 'a:0', 'b'");
  EXPECT_EQ(message(open("c=" + folder + "/a.npy", graph)), "the network has no input 'c'");
  EXPECT_EQ(message(open("b=" + folder + "/b.npy", graph)), "no data for input 'a:0'");
  test::must(write_npy(folder + "/b3.npy", Tensor::of<float>({3, 1}, {5, 6, 7})));
  EXPECT_EQ(message(open_dataset({.paths = {"b=" + folder + "/b3.npy", "a:0=" + folder + "/a.npy"}}, graph, {})), "input 'a:0' has 2 samples, input 'b' 3");
  EXPECT_EQ(message(open("b=" + folder + "/ab.npz", graph_of({{"b", {1, 1}}}))), "no error");
  EXPECT_EQ(message(open(folder + "/ab.npz", graph_of({{"x", {1, 1}}}))), "'" + folder + "/ab.npz' has no array named 'x'");
}

TEST(Dataset, ListsNameOneSampleALine) {
  const std::string folder = test::temporary_folder();
  for (const char* name : {"a0", "a1", "b0", "b1"}) {
    const float value = static_cast<float>(name[0] * 10 + name[1]);
    test::must(write_file(folder + "/" + name + ".raw", {reinterpret_cast<const char*>(&value), sizeof value}));
  }
  test::must(write_file(folder + "/list.txt", "# a comment\na1.raw b1.raw\r\n\nb:=b0.raw  a:=a0.raw\n"));
  const Graph graph = graph_of({{"a", {1}}, {"b", {1}}});
  test::must(write_file(folder + "/none.txt", "# a comment\n\n"));
  EXPECT_EQ(message(open(folder + "/none.txt", graph)), fmt::format("the list '{}/none.txt' names no samples", folder));
  const auto data = test::must(open(folder + "/list.txt", graph));
  ASSERT_EQ(data->size(), 2);
  EXPECT_EQ(data->name_of(0), "a1.raw");
  EXPECT_EQ(values(test::must(data->load(0)), 1), (std::vector<float>{'b' * 10 + '1'}));
  EXPECT_EQ(values(test::must(data->load(1)), 0), (std::vector<float>{'a' * 10 + '0'}));

  test::must(write_file(folder + "/bad.txt", "a0.raw b0.raw\na1.raw\n"));
  EXPECT_EQ(open(folder + "/bad.txt", graph).error().to_string(),
            "error: a line of the list has 1 entries, wanted 2 ('a', 'b')\n"
            "  --> " + folder + "/bad.txt:2:1\n"
            "   |  a1.raw\n"
            "   |  ^^^^^^\n"
            "  help: write one sample a line: 'a.raw b.raw' or 'in:=a.raw other:=b.raw'");
  test::must(write_file(folder + "/gone.txt", "a0.raw no.raw\n"));
  const auto gone = open(folder + "/gone.txt", graph);
  EXPECT_EQ(message(gone), "cannot open 'no.raw': No such file or directory");
  EXPECT_EQ(gone.error().where.line, 1);
}

TEST(Dataset, NothingToReadIsSaid) {
  const std::string folder = test::temporary_folder();
  const Graph graph = graph_of({{"x", {1, 3, 2, 2}}});
  EXPECT_EQ(message(open(folder, graph)), "the folder '" + folder + "' holds no data that can be read");
  EXPECT_EQ(message(open(folder + "/none", graph)), "there is no file or folder '" + folder + "/none'");
  test::must(write_file(folder + "/a.doc", "x"));
  EXPECT_EQ(message(open(folder + "/a.doc", graph)), "'" + folder + "/a.doc' is no data file that can be read");
  test::must(write_file(folder + "/a.WAV", "x"));
  EXPECT_TRUE(open(folder + "/a.WAV", graph).error().help.starts_with("sound is read as bare samples: `ffmpeg ")) << open(folder + "/a.WAV", graph).error().help;
  EXPECT_EQ(message(open_dataset({}, graph, {})), "no data are given");
  write_bmp(folder + "/a.bmp", 2, 2);
  EXPECT_EQ(message(open(folder + "/a.bmp", graph_of({{"x", {1, 640}}}))), "'" + folder + "/a.bmp' is a picture, but input 'x' has shape [1,640]");
}

TEST(Dataset, RecipesThatDoNotFitTheNetworkAreRejected) {
  const std::string file = test::temporary_folder() + "/a.bmp";
  write_bmp(file, 2, 2);
  const Graph graph = graph_of({{"x", {1, 3, 2, 2}}});
  EXPECT_EQ(message(open(file, graph, "input: {mean: [1, 2]}")), "mean of input 'x' lists 2 values, wanted 1 or 3 (one per channel)");
  EXPECT_EQ(message(open(file, graph, "input: {color: gray}")), "'color: gray' for input 'x', which has 3 channels");
  EXPECT_EQ(message(open(file, graph, "input: {resize: short_side, short_side: 1}")), "'short_side: 1' of input 'x' is smaller than the 2 x 2 that the network wants");
  const auto misnamed = open(file, graph_of({{"images", {1, 3, 2, 2}}}), "inputs: {image: {color: bgr}}");
  EXPECT_EQ(misnamed.error().to_string(),
            "error: the network has no input 'image'\n"
            "  --> r.yaml:1:10\n"
            "   |  inputs: {image: {color: bgr}}\n"
            "   |           ^^^^^\n"
            "  help: did you mean 'images'?");
}

// The pictures that reproduce the published accuracies, against Pillow and NumPy.
TEST(Dataset, ShippedRecipesFeedTheReferencePixels) {
  NARROW_NEEDS_SHARED(shared);
  const auto example = [](const std::string& name) { return test::must(load_recipe(test::source_folder() + "/examples/recipes/" + name + ".yaml")); };
  const auto sum = [](const Sample& sample) {
    const auto x = sample.inputs[0].span<float>();
    return std::accumulate(x.begin(), x.end(), 0.0);
  };
  {
    const auto data = test::must(open_dataset({.paths = {shared + "/data/imagenet_sample"}}, graph_of({{"input", {1, 224, 224, 3}}}), example("mobilenet_v2")));
    EXPECT_EQ(data->size(), 200);
    EXPECT_EQ(data->formula(),
              "input = (rgb image, centre square of 0.875 of the short side, resized to 224x224 by antialiased bilinear - 128) * 0.0078125, f32 NHWC");
    const Sample sample = test::must(data->load(0));
    EXPECT_EQ(sample.name, "n01440764_tench.JPEG");
    EXPECT_EQ(sum(sample), (17186437.0 - 128.0 * 224 * 224 * 3) / 128);
    EXPECT_EQ(first(sample, 3), (std::vector<float>{-0.453125F, -0.328125F, -0.3828125F}));
  }
  {
    const auto data = test::must(open_dataset({.paths = {shared + "/data/voc100/images/2007_000032.jpg"}}, graph_of({{"images", {1, 3, 416, 416}}}), example("yolox_nano")));
    const Sample sample = test::must(data->load(0));
    EXPECT_EQ(sample.scale_x, 0.832);
    EXPECT_EQ(sum(sample), 62322905.0);
    const float* x = sample.inputs[0].data<float>();
    EXPECT_EQ(x[10 * 416 + 20], 221);  // blue first
    EXPECT_EQ(x[2 * 416 * 416 + 10 * 416 + 20], 151);
  }
  {
    const auto data = test::must(open_dataset({.paths = {shared + "/data/cifar10/test1000_u8_nhwc.npy"}}, graph_of({{"input", {1, 3, 32, 32}}}), example("cifar10_resnet20")));
    EXPECT_EQ(data->size(), 1000);
    const Tensor raw = test::must(read_npy(shared + "/data/cifar10/test1000_u8_nhwc.npy"));
    const std::uint8_t* pixel = raw.data<std::uint8_t>() + (7 * 1024 + 5 * 32 + 9) * 3;
    const Sample sample = test::must(data->load(7));
    const float* x = sample.inputs[0].data<float>() + 5 * 32 + 9;
    EXPECT_NEAR(x[0], (pixel[0] / 255.0 - 0.485) / 0.229, 1e-6);
    EXPECT_NEAR(x[2048], (pixel[2] / 255.0 - 0.406) / 0.225, 1e-6);
  }
}

}  // namespace
}  // namespace narrow
