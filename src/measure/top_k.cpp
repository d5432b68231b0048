#include "measure/top_k.h"

#include <cmath>

namespace narrow {

std::int64_t argmax(std::span<const float> scores) {
  std::int64_t best = -1;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) continue;
    if (best < 0 || scores[i] > scores[static_cast<std::size_t>(best)]) best = static_cast<std::int64_t>(i);
  }
  return best;
}

bool in_top_k(std::span<const float> scores, std::int64_t index, std::int64_t k) {
  if (index < 0 || index >= static_cast<std::int64_t>(scores.size())) return false;
  const float own = scores[static_cast<std::size_t>(index)];
  if (std::isnan(own)) return false;
  std::int64_t before = 0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(scores.size()); ++i) {
    const float other = scores[static_cast<std::size_t>(i)];
    before += other > own || (other == own && i < index) ? 1 : 0;
  }
  return before < k;
}

void TopK::add(const Tensor& scores, std::span<const std::int64_t> labels, std::int64_t offset) {
  const auto rows = static_cast<std::int64_t>(labels.size());
  NARROW_CHECK(rows > 0 && scores.elements() % rows == 0, "{} scores for {} labels", scores.elements(), rows);
  const auto classes = static_cast<std::size_t>(scores.elements() / rows);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const std::span<const float> line = scores.span<float>().subspan(row * classes, classes);
    const std::int64_t index = labels[row] - offset;
    ++samples_;
    top1_ += in_top_k(line, index, 1) ? 1 : 0;
    top5_ += in_top_k(line, index, 5) ? 1 : 0;
  }
}

}  // namespace narrow
