#include "measure/scorers.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "support.h"

namespace narrow {
namespace {

// What a reader answers when these classes win step by step, of `classes`.
std::vector<Tensor> reads(const std::vector<std::int64_t>& winners, std::int64_t classes) {
  Tensor scores = Tensor::zeros(DType::kF32, {1, static_cast<std::int64_t>(winners.size()), classes});
  for (std::size_t i = 0; i < winners.size(); ++i) scores.data<float>()[static_cast<std::int64_t>(i) * classes + winners[i]] = 1;
  return {scores};
}

TEST(ClassificationScorer, WantsOneRowOfScores) {
  auto truth = std::make_shared<Truth>();
  truth->labels = {2};
  const auto scorer = test::must(make_scorer({.kind = "classify", .decoder = {}, .dictionary = {}, .labels = "l.npy"}, truth, {}));
  for (const Shape& shape : {Shape{3}, Shape{1, 3}, Shape{1, 3, 1, 1}, Shape{1, 1, 3}}) test::must(scorer->add(0, {}, std::vector{Tensor::of<float>(shape, {0, 1, 2})}));
  EXPECT_EQ(scorer->metrics()[0].value, 100);
  for (const Shape& shape : {Shape{1, 85, 22, 22}, Shape{1, 4, 3}, Shape{1, 1}, Shape{}}) {
    const Status refused = scorer->add(0, {}, std::vector{Tensor::zeros(DType::kF32, shape)});
    ASSERT_FALSE(refused) << to_string(shape);
    EXPECT_EQ(refused.error().message, "task 'classify' wants a first output of one score per class, found " + to_string(shape));
  }
}

TEST(ReadingScorer, CountsLinesAndCharacters) {
  Task task{.kind = "read", .decoder = {}, .dictionary = test::temporary_folder() + "/keys.txt", .labels = "texts.txt"};
  test::must(write_file(task.dictionary, "a\nb\n"));
  auto truth = std::make_shared<Truth>();
  truth->texts = {U"ab a", U"bb", U"a"};
  const auto scorer = test::must(make_scorer(task, truth, {}));
  test::must(scorer->add(0, {}, reads({3, 1, 2, 3, 1, 3}, 4)));  // " ab a ": the spaces around it do not count
  test::must(scorer->add(1, {}, reads({2, 2, 0, 2}, 4)));        // "bb"
  test::must(scorer->add(2, {}, reads({2, 1, 2}, 4)));           // "bab" for "a": two edits of seven characters
  const auto metrics = scorer->metrics();
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_EQ(metrics[0].name, "lines");
  EXPECT_DOUBLE_EQ(metrics[0].value, 100.0 * 2 / 3);
  EXPECT_EQ(metrics[1].name, "characters");
  EXPECT_DOUBLE_EQ(metrics[1].value, 100.0 * 5 / 7);
  EXPECT_EQ(scorer->add(0, {}, std::vector{Tensor::zeros(DType::kF32, {2, 3, 4})}).error().message, "task 'read' wants a first output of [1, steps, classes], found [2,3,4]");
  EXPECT_FALSE(scorer->add(0, {}, reads({1}, 9))) << "more classes than the dictionary has";
}

TEST(ReadingScorer, WithoutLabelsTheFirstNetworkTeaches) {
  const Task task{.kind = "read", .decoder = {}, .dictionary = {}, .labels = {}};
  auto truth = std::make_shared<Truth>();
  truth->texts.resize(1);
  const auto first = test::must(make_scorer(task, truth, {})), second = test::must(make_scorer(task, truth, {}));
  test::must(first->teach(0, {}, reads({5, 5, 0, 5, 7}, 9), *truth));
  EXPECT_EQ(truth->texts[0], (std::u32string{5, 5, 7}));
  test::must(second->add(0, {}, reads({5, 0, 5, 6}, 9)));
  EXPECT_EQ(second->metrics()[0].value, 0);
  EXPECT_DOUBLE_EQ(second->metrics()[1].value, 100.0 * 2 / 3);
}

TEST(ReadingScorer, NeedsADictionaryForLabels) {
  const auto refused = make_scorer({.kind = "read", .decoder = {}, .dictionary = {}, .labels = "texts.txt"}, nullptr, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "task 'read' needs a dictionary to hold texts against labels");
  EXPECT_EQ(refused.error().exit_code, ExitCode::kUsage);
}

}  // namespace
}  // namespace narrow
