#include "measure/auc.h"

#include <algorithm>
#include <numeric>

namespace narrow {

double area_under_roc(std::span<const double> scores, const std::vector<bool>& anomalous) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] < scores[b]; });
  double won = 0, below = 0, positives = 0;  // pairs won, normal scores below
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    double equal_normal = 0, equal_anomalous = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[i]]; ++end) (anomalous[order[end]] ? equal_anomalous : equal_normal) += 1;
    won += equal_anomalous * (below + equal_normal / 2);
    below += equal_normal;
    positives += equal_anomalous;
    i = end;
  }
  const double pairs = below * positives;
  return pairs > 0 ? won / pairs : 0.5;
}

}  // namespace narrow
