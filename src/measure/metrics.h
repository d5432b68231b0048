// How far an array is from its reference: signal-to-quantization-noise ratio, cosine, largest difference, share clipped.
// Sums are doubles added in the order given (one add() per sample, in sample order), so results do not depend on threads.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/quant_params.h"
#include "tensor/tensor.h"

namespace narrow {

class ErrorMetrics {
 public:
  // f32 tensors of the same shape. Pairs with NaN or infinity are counted, never averaged in.
  void add(const Tensor& reference, const Tensor& other);
  void add(std::span<const float> reference, std::span<const float> other);
  // `other` holds integers that mean what `params` says; they are dequantized.
  void add_quantized(const Tensor& reference, const Tensor& other, const QuantParams& params);

  std::uint64_t elements() const { return elements_; }
  std::uint64_t non_finite() const { return non_finite_; }
  std::uint64_t lost() const { return lost_; }  // of these, where the reference is finite: no figure is good enough then
  // 10 log10(sum ref^2 / sum (ref - other)^2). Equal arrays: +inf; a zero reference with noise, or elements lost: -inf.
  double sqnr_db() const;
  // Of the two arrays as vectors; 1 when both are zero, 0 when one of them is or elements are lost.
  double cosine() const;
  double max_abs() const { return max_abs_; }
  double signal_power() const { return signal_; }  // sums, not means
  double noise_power() const { return noise_; }

 private:
  template <typename Values>
  void add_chunks(std::span<const float> reference, const Values& values_at);
  std::uint64_t elements_ = 0, non_finite_ = 0, lost_ = 0;
  double signal_ = 0, noise_ = 0, other_ = 0, product_ = 0, max_abs_ = 0;
};

// Share of real values that saturate on a grid: those more than a step outside [lowest, highest]. (A step outside is not called clipped:
// a Softmax reaches 1 on a grid that ends at 255/256.)
class ClipMeter {
 public:
  void add(const Tensor& real, const QuantParams& params);  // f32
  double share() const { return elements_ == 0 ? 0 : static_cast<double>(clipped_) / static_cast<double>(elements_); }

 private:
  std::uint64_t elements_ = 0, clipped_ = 0;
};

}  // namespace narrow
