// Classification scores: is the right class among the k largest?
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace narrow {

// Index of the largest score; the first of equals; NaN never wins. -1 when there is no finite or infinite score.
std::int64_t argmax(std::span<const float> scores);
// Is `index` among the k largest? Equal scores with a smaller index come first.
bool in_top_k(std::span<const float> scores, std::int64_t index, std::int64_t k);

// Counts over samples.
class TopK {
 public:
  // scores: f32, one row per label (a batch of one, usually). `offset`: class of score index i is i + offset.
  void add(const Tensor& scores, std::span<const std::int64_t> labels, std::int64_t offset = 0);
  std::int64_t samples() const { return samples_; }
  double top1() const { return percent(top1_); }  // in percent
  double top5() const { return percent(top5_); }

 private:
  double percent(std::int64_t hits) const { return samples_ == 0 ? 0 : 100.0 * static_cast<double>(hits) / static_cast<double>(samples_); }
  std::int64_t samples_ = 0, top1_ = 0, top5_ = 0;
};

}  // namespace narrow
