#include "measure/detection.h"

#include <gtest/gtest.h>

namespace narrow {
namespace {

TEST(Detection, IntersectionOverUnion) {
  EXPECT_DOUBLE_EQ(intersection_over_union({0, 0, 2, 2}, {1, 1, 3, 3}), 1.0 / 7);
  EXPECT_DOUBLE_EQ(intersection_over_union({0, 0, 2, 2}, {0, 0, 2, 2}), 1);
  EXPECT_DOUBLE_EQ(intersection_over_union({0, 0, 1, 1}, {2, 2, 3, 3}), 0);
  EXPECT_DOUBLE_EQ(intersection_over_union({0, 0, 0, 0}, {0, 0, 0, 0}), 0);
}

TEST(Detection, SuppressionIsPerLabelAndGreedy) {
  const std::vector<Detection> kept = suppress(
      {
          {{0, 0, 10, 10}, 1, 0.5},
          {{0, 0, 10, 9}, 1, 0.9},   // the best of label 1; covers the first (0.9) but not the last
          {{0, 0, 10, 10}, 2, 0.4},  // another label survives
          {{8, 8, 18, 18}, 1, 0.3},
      },
      0.45);
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_DOUBLE_EQ(kept[0].score, 0.9);
  EXPECT_DOUBLE_EQ(kept[1].score, 0.4);
  EXPECT_DOUBLE_EQ(kept[2].score, 0.3);
}

TEST(Detection, AveragePrecisionByHand) {
  EXPECT_DOUBLE_EQ(average_precision({}, 3), 0);
  EXPECT_DOUBLE_EQ(average_precision({true}, 0), 0);
  EXPECT_DOUBLE_EQ(average_precision({true, true}, 2), 1);
  EXPECT_DOUBLE_EQ(average_precision({false, true}, 1), 0.5);
  // Precision 1, 1/2, 2/3, 2/4, 3/5: monotone 1, 2/3, 2/3, 3/5, 3/5. Hits at 1, 3, 5 of four boxes.
  EXPECT_DOUBLE_EQ(average_precision({true, false, true, false, true}, 4), (1 + 2.0 / 3 + 0.6) / 4);
  // A late run of hits lifts what stands before it: 0, 1/2, 2/3, 3/4 -> 3/4 at each of the three hits.
  EXPECT_DOUBLE_EQ(average_precision({false, true, true, true}, 3), 0.75);
}

TEST(Detection, EachTrueBoxCountsOnce) {
  DetectionScore score;
  score.add_image({{{0, 0, 10, 10}, 0, 0.9}, {{0, 0, 10, 10}, 0, 0.8}}, {{{0, 0, 10, 10}, 0}});
  EXPECT_DOUBLE_EQ(score.mean_average_precision(), 1);  // the duplicate comes after full recall
  DetectionScore second;
  second.add_image({{{0, 0, 10, 10}, 0, 0.9}, {{0, 0, 10, 10}, 0, 0.8}, {{20, 20, 30, 30}, 0, 0.7}}, {{{0, 0, 10, 10}, 0}, {{20, 20, 30, 30}, 0}});
  EXPECT_DOUBLE_EQ(second.mean_average_precision(), (1 + 2.0 / 3) / 2);
}

TEST(Detection, MeanOverLabelsWithTruthAcrossImages) {
  DetectionScore score;
  score.add_image({{{0, 0, 10, 10}, 3, 0.6}}, {{{0, 0, 10, 10}, 3}});
  score.add_image({{{0, 0, 10, 10}, 3, 0.9}, {{0, 0, 1, 1}, 7, 0.9}}, {{{50, 50, 60, 60}, 5}});  // a false alarm of 3; 7 has no truth
  const std::map<std::int64_t, double> all = score.average_precisions();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_DOUBLE_EQ(all.at(3), 0.5);
  EXPECT_DOUBLE_EQ(all.at(5), 0);
  EXPECT_DOUBLE_EQ(score.mean_average_precision(), 0.25);
  EXPECT_EQ(score.images(), 2);
}

TEST(Detection, OverlapBelowTheThresholdIsNoHit) {
  DetectionScore score;
  score.add_image({{{0, 0, 10, 10}, 0, 0.9}}, {{{0, 0, 10, 21}, 0}});  // IoU 100/210
  EXPECT_DOUBLE_EQ(score.mean_average_precision(), 0);
  DetectionScore enough;
  enough.add_image({{{0, 0, 10, 10}, 0, 0.9}}, {{{0, 0, 10, 20}, 0}});  // exactly 0.5
  EXPECT_DOUBLE_EQ(enough.mean_average_precision(), 1);
}

}  // namespace
}  // namespace narrow
