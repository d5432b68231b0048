// Detection scores: boxes, suppression per class, and the mean over classes of the all-point average precision at
// IoU 0.5 (precision made monotone, each true box counts once).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace narrow {

struct Box {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // corners, x1 >= x0
  bool operator==(const Box&) const = default;
};
double area(const Box& box);
double intersection_over_union(const Box& a, const Box& b);

struct Detection {
  Box box;
  std::int64_t label = 0;
  double score = 0;
};

struct TrueBox {
  Box box;
  std::int64_t label = 0;
};

// Greedy non-maximum suppression among boxes of the same label; the result is sorted by falling score. Equal scores
// keep the order given.
std::vector<Detection> suppress(std::vector<Detection> detections, double iou_threshold);

// Area under the precision-recall curve of hits in the order of falling score; precision at a recall is the largest
// precision at that recall or beyond. 0 when there are no true boxes.
double average_precision(const std::vector<bool>& hits, std::int64_t true_boxes);

// Collects images, then scores. A detection is a hit when the true box of its label and image that it overlaps most
// reaches the threshold and was not hit before by a better one.
class DetectionScore {
 public:
  explicit DetectionScore(double iou_threshold = 0.5) : iou_threshold_(iou_threshold) {}
  void add_image(const std::vector<Detection>& detections, const std::vector<TrueBox>& truth);
  std::int64_t images() const { return images_; }
  // Per label that has at least one true box.
  std::map<std::int64_t, double> average_precisions() const;
  double mean_average_precision() const;  // 0 when there are no true boxes

 private:
  struct Scored { double score; bool hit; };
  double iou_threshold_;
  std::int64_t images_ = 0;
  std::map<std::int64_t, std::int64_t> true_boxes_;
  std::map<std::int64_t, std::vector<Scored>> detections_;
};

}  // namespace narrow
