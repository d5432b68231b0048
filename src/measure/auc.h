// Anomaly scores: does a higher score mean an anomaly?
#pragma once

#include <span>
#include <vector>

namespace narrow {

// Area under the ROC curve: the probability that an anomalous score exceeds a normal one, ties counted half (Mann-Whitney U divided by
// the number of pairs). One entry per recording in both; 0.5 when one kind is absent. O(n log n).
double area_under_roc(std::span<const double> scores, const std::vector<bool>& anomalous);

}  // namespace narrow
