#include <algorithm>
#include <cmath>

#include "data/image.h"

namespace narrow {
namespace {

constexpr int kPrecision = 32 - 8 - 2;  // bits of a coefficient: 8 for the pixel, 2 for overshoot

double triangle(double x) {
  x = std::abs(x);
  return x < 1 ? 1 - x : 0;
}

// Keys' cubic with a = -0.5.
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

// What each output position reads along one axis: `count` weights from source index `first`.
struct Taps {
  struct Window { int first = 0, count = 0; };
  std::vector<Window> windows;
  std::vector<std::int32_t> weights;  // `stride` per window, scaled by 2^kPrecision
  int stride = 0;
};

Taps make_taps(int from, int to, bool bicubic, bool antialias) {
  const double step = static_cast<double>(from) / to;
  const double stretch = antialias ? std::max(step, 1.0) : 1.0;
  const double support = (bicubic ? 2.0 : 1.0) * stretch;
  Taps taps;
  taps.stride = static_cast<int>(std::ceil(support)) * 2 + 1;
  taps.windows.resize(static_cast<std::size_t>(to));
  taps.weights.assign(static_cast<std::size_t>(to) * static_cast<std::size_t>(taps.stride), 0);
  std::vector<double> real(static_cast<std::size_t>(taps.stride));
  for (int i = 0; i < to; ++i) {
    const double center = (i + 0.5) * step;
    const int first = std::max(static_cast<int>(center - support + 0.5), 0);
    const int count = std::min(static_cast<int>(center + support + 0.5), from) - first;
    double sum = 0;
    const double inverse = 1.0 / stretch;
    for (int k = 0; k < count; ++k) {
      const double x = (k + first - center + 0.5) * inverse;
      real[static_cast<std::size_t>(k)] = bicubic ? cubic(x) : triangle(x);
      sum += real[static_cast<std::size_t>(k)];
    }
    taps.windows[static_cast<std::size_t>(i)] = {first, count};
    std::int32_t* out = taps.weights.data() + static_cast<std::size_t>(i) * static_cast<std::size_t>(taps.stride);
    for (int k = 0; k < count; ++k) {
      double w = real[static_cast<std::size_t>(k)];
      if (sum != 0) w /= sum;
      out[k] = static_cast<std::int32_t>(w * (1 << kPrecision) + (w < 0 ? -0.5 : 0.5));
    }
  }
  return taps;
}

std::uint8_t to_code(std::int32_t sum) { return static_cast<std::uint8_t>(std::clamp(sum >> kPrecision, 0, 255)); }
constexpr std::int32_t kHalf = 1 << (kPrecision - 1);

// Columns: every row on its own.
template <int C>
void filter_columns(const Image& from, const Taps& taps, Image* to) {
  for (int y = 0; y < to->height; ++y) {
    const std::uint8_t* in = from.row(y);
    std::uint8_t* out = to->row(y);
    for (int x = 0; x < to->width; ++x) {
      const auto [first, count] = taps.windows[static_cast<std::size_t>(x)];
      const std::int32_t* w = taps.weights.data() + static_cast<std::size_t>(x) * static_cast<std::size_t>(taps.stride);
      const std::uint8_t* p = in + first * C;
      std::int32_t sum[C];
      std::fill(sum, sum + C, kHalf);
      for (int k = 0; k < count; ++k) {
        for (int c = 0; c < C; ++c) sum[c] += p[k * C + c] * w[k];
      }
      for (int c = 0; c < C; ++c) out[x * C + c] = to_code(sum[c]);
    }
  }
}

// Rows: whole lines are weighted and added, so that the inner loop runs over memory.
void filter_rows(const Image& from, const Taps& taps, Image* to) {
  const int length = from.width * from.channels;
  std::vector<std::int32_t> sum(static_cast<std::size_t>(length));
  for (int y = 0; y < to->height; ++y) {
    const auto [first, count] = taps.windows[static_cast<std::size_t>(y)];
    const std::int32_t* w = taps.weights.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(taps.stride);
    std::fill(sum.begin(), sum.end(), kHalf);
    for (int k = 0; k < count; ++k) {
      const std::uint8_t* in = from.row(first + k);
      for (int x = 0; x < length; ++x) sum[static_cast<std::size_t>(x)] += in[x] * w[k];
    }
    std::transform(sum.begin(), sum.end(), to->row(y), to_code);
  }
}

// Source index of every output index: the pixel under its centre. The position is accumulated, as Pillow does.
std::vector<int> nearest_indices(int from, int to) {
  const double step = static_cast<double>(from) / to;
  std::vector<int> indices(static_cast<std::size_t>(to));
  double position = step * 0.5;
  for (int& index : indices) {
    index = std::min(static_cast<int>(position), from - 1);
    position += step;
  }
  return indices;
}

Image resize_nearest(const Image& image, int width, int height) {
  Image out(width, height, image.channels);
  const std::vector<int> xs = nearest_indices(image.width, width), ys = nearest_indices(image.height, height);
  for (int y = 0; y < height; ++y) {
    const std::uint8_t* in = image.row(ys[static_cast<std::size_t>(y)]);
    std::uint8_t* line = out.row(y);
    for (int x = 0; x < width; ++x) {
      const std::uint8_t* p = in + xs[static_cast<std::size_t>(x)] * image.channels;
      line = std::copy(p, p + image.channels, line);
    }
  }
  return out;
}

}  // namespace

Image resize(const Image& image, int width, int height, InputRecipe::Filter filter, bool antialias) {
  if (width == image.width && height == image.height) return image;
  if (filter == InputRecipe::Filter::kNearest) return resize_nearest(image, width, height);
  const bool bicubic = filter == InputRecipe::Filter::kBicubic;
  Image wide = image;
  if (width != image.width) {
    wide = Image(width, image.height, image.channels);
    const Taps taps = make_taps(image.width, width, bicubic, antialias);
    image.channels == 1 ? filter_columns<1>(image, taps, &wide) : filter_columns<3>(image, taps, &wide);
  }
  if (height == image.height) return wide;
  Image out(width, height, image.channels);
  filter_rows(wide, make_taps(image.height, height, bicubic, antialias), &out);
  return out;
}

}  // namespace narrow
