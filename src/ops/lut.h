// Integer tables: how every elementwise function runs in an integer network. qlut maps u8 codes through 256 entries;
// qlut16 maps i16 codes through 513 exact knots, 128 codes apart, with linear interpolation. Functions
// that chords do not follow (steps, poles, kinks) have a qlut of 65,536 entries instead.
// Table contents are rounded reals (the "exact" flavour); the interpolation rounds half up in every rounding mode.
#pragma once

#include <functional>

#include "ops/lower_context.h"

namespace narrow {

using RealFunction = std::function<float(float)>;

// qlut: entry i is f(real of code i, counted from the lowest of x) on the grid of y. x and y are u8 or i16. NaN becomes the zero point.
Tensor lut_table(const RealFunction& f, const QuantParams& x, const QuantParams& y);

// qlut16: i16[513]; entry i stands for code 128*i - 32768 of x and holds (code of y - middle) * 2^fraction_bits, where
// middle = 128 and fraction_bits = 7 for u8 (so that knots keep 7 more bits than the output), 0 and 0 for i16.
struct Lut16 {
  Tensor entries;
  int fraction_bits = 0;
  int middle = 0;
  double error = 0;  // largest distance from f, in steps of y, of the codes tried (every 16th)
};
Lut16 lut16_table(const RealFunction& f, const QuantParams& x, const QuantParams& y);

// The i16 (or symmetric u8) grid between a linear operator and its fused, non-clamping activation f. Its bound is the smallest B
// beyond which f is constant on the grid of `out` (found numerically on a grid of 32 points per octave), at most
// reachable_bound: the largest |accumulator| times its scale, > 0.
QuantParams preactivation_params(const FusedActivation& activation, const QuantParams& out, DType dtype, double reachable_bound);

// Emits the planned output `out_slot` of the node as f(x), by qlut or qlut16 according to the dtype of x.
void emit_table(LowerContext& ctx, ValueId x, const QuantParams& x_params, const RealFunction& f, int out_slot = 0);
// The same for the activation fused into the node.
void emit_activation_table(LowerContext& ctx, ValueId pre, const QuantParams& pre_params, int out_slot = 0);

// [y_min, y_max] of an integer operator that honours a fused clamp: the grid of `out` cut to the clamp's interval
// (everything when the activation is absent or no clamp).
struct Window {
  std::int32_t low = 0;
  std::int32_t high = 255;
};
Window output_window(const FusedActivation& activation, const QuantParams& out);

}  // namespace narrow
