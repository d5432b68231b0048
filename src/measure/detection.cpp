#include "measure/detection.h"

#include <algorithm>

namespace narrow {

double area(const Box& box) { return std::max(0.0, box.x1 - box.x0) * std::max(0.0, box.y1 - box.y0); }

double intersection_over_union(const Box& a, const Box& b) {
  const double common = area({std::max(a.x0, b.x0), std::max(a.y0, b.y0), std::min(a.x1, b.x1), std::min(a.y1, b.y1)});
  const double united = area(a) + area(b) - common;
  return united > 0 ? common / united : 0;
}

std::vector<Detection> suppress(std::vector<Detection> detections, double iou_threshold) {
  std::stable_sort(detections.begin(), detections.end(), [](const Detection& a, const Detection& b) { return a.score > b.score; });
  std::vector<Detection> kept;
  for (const Detection& candidate : detections) {
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Detection& better) {
      return better.label == candidate.label && intersection_over_union(better.box, candidate.box) > iou_threshold;
    });
    if (!covered) kept.push_back(candidate);
  }
  return kept;
}

double average_precision(const std::vector<bool>& hits, std::int64_t true_boxes) {
  if (true_boxes <= 0) return 0;
  std::vector<double> precision(hits.size());
  std::int64_t found = 0;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    found += hits[i] ? 1 : 0;
    precision[i] = static_cast<double>(found) / static_cast<double>(i + 1);
  }
  for (std::size_t i = hits.size(); i-- > 1;) precision[i - 1] = std::max(precision[i - 1], precision[i]);
  double sum = 0;  // recall grows by 1 / true_boxes at every hit
  for (std::size_t i = 0; i < hits.size(); ++i) sum += hits[i] ? precision[i] : 0;
  return sum / static_cast<double>(true_boxes);
}

void DetectionScore::add_image(const std::vector<Detection>& detections, const std::vector<TrueBox>& truth) {
  ++images_;
  for (const TrueBox& box : truth) ++true_boxes_[box.label];
  std::vector<Detection> ordered = detections;
  std::stable_sort(ordered.begin(), ordered.end(), [](const Detection& a, const Detection& b) { return a.score > b.score; });
  std::vector<bool> taken(truth.size(), false);
  for (const Detection& detection : ordered) {
    double best = 0;
    std::size_t at = truth.size();
    for (std::size_t i = 0; i < truth.size(); ++i) {
      if (truth[i].label != detection.label) continue;
      const double overlap = intersection_over_union(detection.box, truth[i].box);
      if (overlap > best) {
        best = overlap;
        at = i;
      }
    }
    const bool hit = at < truth.size() && best >= iou_threshold_ && !taken[at];
    if (hit) taken[at] = true;
    detections_[detection.label].push_back({detection.score, hit});
  }
}

std::map<std::int64_t, double> DetectionScore::average_precisions() const {
  std::map<std::int64_t, double> result;
  for (const auto& [label, count] : true_boxes_) {
    std::vector<Scored> scored;
    if (const auto found = detections_.find(label); found != detections_.end()) scored = found->second;
    std::stable_sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
    std::vector<bool> hits;
    for (const Scored& s : scored) hits.push_back(s.hit);
    result[label] = average_precision(hits, count);
  }
  return result;
}

double DetectionScore::mean_average_precision() const {
  const std::map<std::int64_t, double> all = average_precisions();
  double sum = 0;
  for (const auto& [label, value] : all) sum += value;
  return all.empty() ? 0 : sum / static_cast<double>(all.size());
}

}  // namespace narrow
