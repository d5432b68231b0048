#include "measure/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace narrow {

void ErrorMetrics::add(std::span<const float> reference, std::span<const float> other) {
  NARROW_CHECK(reference.size() == other.size());
  double signal = 0, noise = 0, power = 0, product = 0, largest = 0;
  std::uint64_t bad = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double a = reference[i], b = other[i];
    if (!std::isfinite(a) || !std::isfinite(b)) {
      ++bad;
      continue;
    }
    const double d = a - b;
    signal += a * a;
    power += b * b;
    product += a * b;
    noise += d * d;
    largest = std::max(largest, std::abs(d));
  }
  elements_ += reference.size() - bad;
  non_finite_ += bad;
  signal_ += signal;
  noise_ += noise;
  other_ += power;
  product_ += product;
  max_abs_ = std::max(max_abs_, largest);
}

void ErrorMetrics::add(const Tensor& reference, const Tensor& other) { add(reference.span<float>(), other.span<float>()); }

void ErrorMetrics::add_quantized(const Tensor& reference, const Tensor& other, const QuantParams& params) {
  add(reference, dequantize(other, params));
}

double ErrorMetrics::sqnr_db() const {
  if (noise_ == 0) return std::numeric_limits<double>::infinity();
  if (signal_ == 0) return -std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal_ / noise_);
}

double ErrorMetrics::cosine() const {
  if (signal_ == 0 && other_ == 0) return 1;
  if (signal_ == 0 || other_ == 0) return 0;
  return product_ / (std::sqrt(signal_) * std::sqrt(other_));
}

void ClipMeter::add(const Tensor& real, const QuantParams& params) {
  NARROW_CHECK(!params.per_channel(), "activations have one scale");
  const double half_step = static_cast<double>(params.scale[0]) / 2;
  const auto low = static_cast<float>(params.lowest() - half_step);
  const auto high = static_cast<float>(params.highest() + half_step);
  std::uint64_t clipped = 0;
  for (const float x : real.span<float>()) clipped += x < low || x > high ? 1 : 0;
  clipped_ += clipped;
  elements_ += static_cast<std::uint64_t>(real.elements());
}

}  // namespace narrow
