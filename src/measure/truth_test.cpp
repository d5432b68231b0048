#include "measure/truth.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "support.h"
#include "tensor/npy.h"

namespace narrow {
namespace {

// `size` of `total` samples, named "0.png", "1.png" and so on from `first` on.
class Named : public Dataset {
 public:
  explicit Named(std::int64_t size, std::int64_t total, std::int64_t first = 0) : size_(size), total_(total), first_(first) {}
  std::int64_t size() const override { return size_; }
  std::int64_t total() const override { return total_; }
  Result<Sample> load(std::int64_t) const override { return error("nothing is read"); }
  std::string name_of(std::int64_t index) const override { return fmt::format("{}.png", first_ + index); }
  std::string formula() const override { return ""; }

 private:
  std::int64_t size_, total_, first_;
};

class Labels : public ::testing::Test {
 protected:
  std::string folder = test::temporary_folder();
  std::string file;
  Result<std::shared_ptr<Truth>> read(const Named& data, std::int64_t first = 0) const {
    return read_truth({.kind = "classify", .decoder = {}, .dictionary = {}, .labels = file, .first = first}, data);
  }
  void array(const Tensor& tensor) { test::must(write_npy(file = folder + "/labels.npy", tensor)); }
  void list(const std::string& text) { test::must(write_file(file = folder + "/labels.txt", text)); }
  void refuse(const Named& data, const std::string& message, const std::string& help) const {
    const auto truth = read(data);
    ASSERT_FALSE(truth.has_value()) << message;
    EXPECT_EQ(truth.error().message, "labels '" + file + "' " + message);
    EXPECT_EQ(truth.error().help, help);
  }
};

TEST_F(Labels, AVectorOfTheWholeSetServesEveryPartOfIt) {
  for (const Shape& shape : {Shape{6}, Shape{6, 1}, Shape{1, 6}}) {
    array(Tensor::of<std::int64_t>(shape, {0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(test::must(read(Named(6, 6)))->labels, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(test::must(read(Named(2, 6)))->labels, (std::vector<std::int64_t>{0, 1}));
    EXPECT_EQ(test::must(read(Named(2, 6, 3), 3))->labels, (std::vector<std::int64_t>{3, 4}));
  }
  // Those of the samples in use are enough.
  array(Tensor::of<std::uint8_t>({3}, {7, 8, 9}));
  EXPECT_EQ(test::must(read(Named(3, 6)))->labels, (std::vector<std::int64_t>{7, 8, 9}));
  EXPECT_EQ(test::must(read(Named(1, 6, 2), 2))->labels, (std::vector<std::int64_t>{9}));
  array(Tensor::of<std::int32_t>({1}, {4}));
  EXPECT_EQ(test::must(read(Named(1, 1)))->labels, (std::vector<std::int64_t>{4}));
}

TEST_F(Labels, AsManyAsSamples) {
  array(Tensor::zeros(DType::kU8, {5}));
  refuse(Named(4, 4), "hold 5 entries, wanted one for each of the 4 samples", "give the labels of this data set");
  refuse(Named(2, 4), "hold 5 entries, wanted one for each of the 4 samples", "give the labels of this data set");
  refuse(Named(6, 9), "hold 5 entries, wanted one for each of the 6 samples", "give the labels of this data set, or fewer samples with --samples");
}

TEST_F(Labels, OneClassForEachSample) {
  array(Tensor::zeros(DType::kU8, {20, 8}));
  refuse(Named(20, 20), "have shape [20,8], wanted one class for each sample: [20]", "if a row holds ones and zeros, the class is where its one stands: numpy.argmax(labels, axis=1)");
  array(Tensor::zeros(DType::kU8, {20, 32, 32, 3}));  // the pictures
  refuse(Named(20, 20), "have shape [20,32,32,3], wanted one class for each sample: [20]", "is this the file of labels?");
  array(Tensor::zeros(DType::kF32, {20}));
  refuse(Named(20, 20), "are f32, wanted integers", "give the class of every sample as a whole number");
  array(Tensor::of<std::int64_t>({3}, {0, 4, -1}));
  refuse(Named(3, 3), "hold the class -1 for sample 2, wanted 0 or more", "classes are counted from 0; --label-offset shifts what the network answers");
}

TEST_F(Labels, LinesOfAListAreTheirFilesClass) {
  list("other.png 9\n pictures/1.png\t3\n0.png 2\r\n\n0.png 2\n");
  EXPECT_EQ(test::must(read(Named(2, 2)))->labels, (std::vector<std::int64_t>{2, 3}));
  const auto refused = [&](const std::string& text, const std::string& message, int line) {
    list(text);
    const Error found = read(Named(2, 2)).error();
    EXPECT_EQ(found.message, message);
    EXPECT_EQ(found.where.line, line) << text;
  };
  refused("0.png 1\n1.png -1\n", "a line of labels reads '1.png -1', wanted a class of 0 or more", 2);
  refused("0.png 1\n1.png cat\n", "a line of labels reads '1.png cat', wanted \"FILE LABEL\"", 2);
  refused("a/0.png 1\n1.png 1\nb/0.png 2\n", "labels call '0.png' both 1 and 2", 3);
  refused("0.png 1\n", "labels '" + file + "' have no line for sample '1.png'", 0);
}

TEST_F(Labels, WhatTheTaskWantsIsSaid) {
  const std::string folder = test::temporary_folder();
  const auto help = [&](const char* task) { return read_truth({.kind = task, .decoder = {}, .dictionary = {}, .labels = folder}, Named(2, 2)).error().help; };
  EXPECT_EQ(help("detect"), "--labels wants the folder of VOC annotations, one .xml of the same name for each picture");
  EXPECT_EQ(help("classify"), "--labels wants lines \"FILE LABEL\" or an .npy here; a folder of annotations is for task 'detect'");
}

TEST_F(Labels, TextsOfAList) {
  const auto texts = [&](const std::string& text) { list(text); return read_truth({.kind = "read", .decoder = {}, .dictionary = {}, .labels = file}, Named(2, 2)); };
  EXPECT_EQ(test::must(texts("a/0.png\tOrder  No. 7 \r\n\n1.png \u7597\n"))->texts, (std::vector<std::u32string>{U"Order  No. 7", U"\u7597"}));
  EXPECT_EQ(test::must(texts("0.png one two\nmy pictures/1.png\t\n"))->texts, (std::vector<std::u32string>{U"one two", U""})) << "a tab lets names hold spaces";
  EXPECT_EQ(texts("0.png a\n").error().message, "labels '" + file + "' have no line for sample '1.png'");
  const Error twice = texts("0.png a\nb/0.png b\n1.png a\n").error();
  EXPECT_EQ(twice.message, "labels give '0.png' two different texts");
  EXPECT_EQ(twice.where.line, 2);
  EXPECT_EQ(texts("0.png a\n1.png \xff\n").error().message, "a line of labels is not UTF-8");
}

}  // namespace
}  // namespace narrow
