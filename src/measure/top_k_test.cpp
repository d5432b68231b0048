#include "measure/top_k.h"

#include <gtest/gtest.h>

#include <cmath>

namespace narrow {
namespace {

TEST(TopK, ArgmaxTakesTheFirstOfEqualsAndNeverNaN) {
  EXPECT_EQ(argmax(std::vector<float>{1, 3, 3, 2}), 1);
  EXPECT_EQ(argmax(std::vector<float>{NAN, -5, NAN}), 1);
  EXPECT_EQ(argmax(std::vector<float>{NAN}), -1);
  EXPECT_EQ(argmax(std::vector<float>{}), -1);
}

TEST(TopK, MembershipCountsEqualsBefore) {
  const std::vector<float> scores{0.5F, 0.5F, 0.9F, 0.1F};
  EXPECT_TRUE(in_top_k(scores, 2, 1));
  EXPECT_FALSE(in_top_k(scores, 0, 1));
  EXPECT_TRUE(in_top_k(scores, 0, 2));
  EXPECT_FALSE(in_top_k(scores, 1, 2));
  EXPECT_TRUE(in_top_k(scores, 1, 3));
  EXPECT_FALSE(in_top_k(scores, 4, 5));
  EXPECT_FALSE(in_top_k(scores, -1, 5));
}

TEST(TopK, CountsRowsAndAppliesTheOffset) {
  TopK score;
  const Tensor rows = Tensor::of<float>({2, 7}, {9, 1, 2, 3, 4, 5, 6, 0, 6, 5, 4, 3, 2, 1});
  const std::vector<std::int64_t> labels{0, 6};
  score.add(rows, labels);
  EXPECT_EQ(score.samples(), 2);
  EXPECT_DOUBLE_EQ(score.top1(), 50);
  EXPECT_DOUBLE_EQ(score.top5(), 50);  // the second row's class 6 is sixth
  TopK shifted;
  shifted.add(rows, std::vector<std::int64_t>{-1, 0}, -1);  // class = index - 1
  EXPECT_DOUBLE_EQ(shifted.top1(), 100);
}

}  // namespace
}  // namespace narrow
