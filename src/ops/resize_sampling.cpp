#include "ops/resize_sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

namespace narrow {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); }

// scale = p / q: the ratio of the extents when the stated float is that ratio, else the float's own value.
std::pair<std::int64_t, std::int64_t> rational_scale(double scale, std::int64_t in, std::int64_t out) {
  if (static_cast<float>(scale) == static_cast<float>(out) / static_cast<float>(in)) return {out, in};
  int exponent = 0;
  auto p = static_cast<std::int64_t>(std::ldexp(std::frexp(static_cast<float>(scale), &exponent), 24));  // 24 bits: exact
  int shift = 24 - exponent;
  while (shift > 0 && p % 2 == 0) p /= 2, --shift;
  return shift >= 0 ? std::pair{p, std::int64_t{1} << shift} : std::pair{p << -shift, std::int64_t{1}};
}

// Source position of every output index along one axis: numerator[i] / denominator, in input pixels.
struct Positions {
  std::vector<std::int64_t> numerator;
  std::int64_t denominator = 1;
};
Positions positions_of(const Attrs& attrs, std::size_t d, std::int64_t in, std::int64_t out) {
  const std::string mode = attrs.get_string("coordinate_transformation_mode", "half_pixel");
  const auto [p, q] = rational_scale(attrs.get_floats("scales")[d], in, out);
  Positions result;
  result.numerator.assign(static_cast<std::size_t>(out), 0);
  if (mode == "align_corners") {
    if (out > 1) {
      result.denominator = out - 1;
      for (std::int64_t i = 0; i < out; ++i) result.numerator[static_cast<std::size_t>(i)] = i * (in - 1);
    }
  } else if (mode == "asymmetric") {
    result.denominator = p;
    for (std::int64_t i = 0; i < out; ++i) result.numerator[static_cast<std::size_t>(i)] = i * q;
  } else if (mode != "pytorch_half_pixel" || out > 1) {
    const std::int64_t offset = mode == "tf_half_pixel_for_nn" ? 0 : mode == "half_pixel_symmetric" ? in * p - out * q - p : -p;
    result.denominator = 2 * p;
    for (std::int64_t i = 0; i < out; ++i) result.numerator[static_cast<std::size_t>(i)] = (2 * i + 1) * q + offset;
  }
  std::int64_t common = result.denominator;
  for (const std::int64_t n : result.numerator) common = std::gcd(common, n);
  result.denominator /= common;
  for (std::int64_t& n : result.numerator) n /= common;
  return result;
}

}  // namespace

Sampling sampling_of(const Attrs& attrs, std::size_t d, std::int64_t in, std::int64_t out) {
  const Positions at = positions_of(attrs, d, in, out);
  const std::string mode = attrs.get_string("mode", "nearest"), rounding = attrs.get_string("nearest_mode", "round_prefer_floor");
  const auto clamped = [&](std::int64_t i) { return std::clamp<std::int64_t>(i, 0, in - 1); };
  const std::int64_t den = at.denominator;
  Sampling s;
  if (mode == "nearest") {
    for (const std::int64_t n : at.numerator) {
      const std::int64_t i = rounding == "floor"               ? floor_div(n, den)
                             : rounding == "ceil"              ? -floor_div(-n, den)
                             : rounding == "round_prefer_ceil" ? floor_div(2 * n + den, 2 * den)
                                                               : -floor_div(den - 2 * n, 2 * den);
      s.index.push_back(clamped(i));
      s.weight.push_back(1);
    }
  } else if (mode == "linear") {
    s.taps = 2;
    s.denominator = den;
    for (const std::int64_t unclamped : at.numerator) {
      const std::int64_t n = std::clamp<std::int64_t>(unclamped, 0, (in - 1) * den), base = n / den;
      s.index.insert(s.index.end(), {base, clamped(base + 1)});
      s.weight.insert(s.weight.end(), {static_cast<double>(den - n % den), static_cast<double>(n % den)});
    }
  } else {  // cubic convolution (Keys 1981) with parameter a
    s.taps = 4;
    const double a = attrs.get_float("cubic_coeff_a", -0.75);
    for (const std::int64_t n : at.numerator) {
      const std::int64_t base = floor_div(n, den);
      const double t = static_cast<double>(n - base * den) / static_cast<double>(den);
      const auto near = [a](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
      const auto far = [a](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
      double w[4] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
      if (attrs.get_int("exclude_outside") != 0) {
        double sum = 0;
        for (int k = 0; k < 4; ++k) sum += w[k] = clamped(base - 1 + k) == base - 1 + k ? w[k] : 0;
        for (double& x : w) x /= sum;
      }
      for (int k = 0; k < 4; ++k) {
        s.index.push_back(clamped(base - 1 + k));
        s.weight.push_back(w[k]);
      }
    }
  }
  return s;
}

FloatSampling float_sampling_of(const Attrs& attrs, std::size_t d, std::int64_t in, std::int64_t out) {
  const std::string mode = attrs.get_string("coordinate_transformation_mode", "half_pixel");
  const auto scale = static_cast<float>(attrs.get_floats("scales")[d]), last = static_cast<float>(in - 1);
  const auto position = [&](float i) -> float {
    if (scale == 1) return i;
    if (mode == "align_corners") return out == 1 ? 0 : i * last / static_cast<float>(out - 1);
    if (mode == "asymmetric") return i / scale;
    if (mode == "pytorch_half_pixel" && out == 1) return 0;
    if (mode == "tf_half_pixel_for_nn") return (i + 0.5F) / scale;
    float offset = 0;
    if (mode == "half_pixel_symmetric") offset = static_cast<float>(in) / 2 * (1 - static_cast<float>(out) / (scale * static_cast<float>(in)));
    return offset + (i + 0.5F) / scale - 0.5F;
  };
  FloatSampling s;
  for (std::int64_t i = 0; i < out; ++i) {
    const float at = std::clamp(position(static_cast<float>(i)), 0.0F, last);
    const auto first = static_cast<std::int64_t>(at), second = std::min(first + 1, in - 1);
    s.index.insert(s.index.end(), {first, second});
    s.weight.insert(s.weight.end(), {first == second ? 0.5F : static_cast<float>(second) - at, first == second ? 0.5F : at - static_cast<float>(first)});
  }
  return s;
}

}  // namespace narrow
