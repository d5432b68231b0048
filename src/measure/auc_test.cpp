#include "measure/auc.h"

#include <gtest/gtest.h>

#include <random>

namespace narrow {
namespace {

TEST(Auc, ByHand) {
  const std::vector<bool> labels{false, true, false, true};
  EXPECT_EQ(area_under_roc(std::vector<double>{1, 2, 3, 4}, labels), 0.75);
  EXPECT_EQ(area_under_roc(std::vector<double>{1, 3, 2, 4}, labels), 1);
  EXPECT_EQ(area_under_roc(std::vector<double>{3, 1, 4, 2}, labels), 0);
  EXPECT_EQ(area_under_roc(std::vector<double>{5, 5, 5, 5}, labels), 0.5);
  EXPECT_EQ(area_under_roc(std::vector<double>{1, 2, 2, 2}, labels), 0.75) << "ties count half";
  EXPECT_EQ(area_under_roc(std::vector<double>{1, 2}, {true, true}), 0.5) << "nothing to compare";
}

TEST(Auc, CountsPairs) {
  std::mt19937_64 rng(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> scores;
    std::vector<bool> anomalous;
    for (int i = 0; i < 60; ++i) {
      scores.push_back(static_cast<double>(rng() % 25));  // many ties
      anomalous.push_back(i < 2 ? i == 0 : rng() % 3 == 0);
    }
    double won = 0, pairs = 0;
    for (std::size_t a = 0; a < scores.size(); ++a) {
      for (std::size_t b = 0; b < scores.size(); ++b) {
        if (!anomalous[a] || anomalous[b]) continue;
        won += scores[a] > scores[b] ? 1 : scores[a] == scores[b] ? 0.5 : 0;
        ++pairs;
      }
    }
    EXPECT_DOUBLE_EQ(area_under_roc(scores, anomalous), won / pairs) << "round " << round << " of seed 5";
  }
}

}  // namespace
}  // namespace narrow
