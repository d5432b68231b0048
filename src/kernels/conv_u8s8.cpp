#include "kernels/conv_u8s8.h"

#include <algorithm>
#include <vector>

#include "base/clones.h"
#include "base/error.h"
#include "base/parallel.h"
#include "kernels/conv_u8s8_tile.h"
#include "kernels/depthwise_u8s8.h"
#include "kernels/requantize_row.h"
#include "tensor/tensor.h"

namespace narrow {

const ConvTileSet& conv_tile_set(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512Vnni) return conv_tiles_avx512vnni();
  if (isa == Isa::kAvx2) return conv_tiles_avx2();
#endif
  return conv_tiles_portable();
}

namespace {

// Up to 32 output channels of one group.
struct Panel {
  std::int64_t first = 0, channels = 0;
  std::int64_t input_channel = 0;  // first of its group
  bool wide = true;                // room for 32 channels, else 16
  std::size_t weights = 0, bias = 0;  // offsets of the packed arrays
  std::int64_t width() const { return wide ? kConvPanel : kConvPanel / 2; }
};

// What one thread does at a time: a rectangle of output pixels of one image, times some panels.
struct Chunk {
  std::int64_t image, row, row_end, column, column_end;
  std::size_t panel, panel_end;
};

// The part of the input that a rectangle of output pixels reads; may reach into the padding.
struct Region {
  std::int64_t row, row_end, column, column_end;
};

struct SignedSums {
  std::int64_t positive = 0, negative = 0;
};

// In blocks whose sums fit 32 bits.
NARROW_CLONES SignedSums sum_by_sign(const std::int8_t* w, std::int64_t n) {
  constexpr std::int64_t kBlock = 1 << 16;
  SignedSums sums;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    const std::int64_t end = std::min(n, begin + kBlock);
    std::int32_t positive = 0, all = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      positive += w[i] > 0 ? w[i] : 0;
      all += w[i];
    }
    sums.positive += positive;
    sums.negative += all - positive;
  }
  return sums;
}

// A 1x1 convolution whose pixels map one to one is a product over one long row of pixels.
ConvShape flattened(ConvShape s) {
  if (s.kernel_h == 1 && s.kernel_w == 1 && s.stride_h == 1 && s.stride_w == 1 && s.pad_top == 0 && s.pad_left == 0 && s.in_h == s.out_h &&
      s.in_w == s.out_w) {
    s.in_w = s.out_w = s.batch * s.in_h * s.in_w;
    s.batch = s.in_h = s.out_h = 1;
  }
  return s;
}

class TiledConv final : public ConvU8S8 {
 public:
  TiledConv(const ConvU8S8Problem& problem, Isa isa)
      : shape_(flattened(problem.shape)), tiles_(conv_tile_set(isa)), zero_point_(problem.x_zero_point), element_bytes_(tiles_.widened ? 2 : 1),
        y_bytes_(problem.output_i16 ? 2 : 1),
        requantizer_({problem.rescale, static_cast<std::size_t>(shape_.out_c)}, problem.rounding,
                     {problem.y_zero_point, problem.y_min, problem.y_max, problem.output_i16}, isa) {
    const ConvShape& s = shape_;
    dense_rows_ = s.groups == 1 && s.dilation_w == 1;
    run_ = dense_rows_ ? s.kernel_w * s.in_c : s.in_c / s.groups;
    tap_count_ = dense_rows_ ? s.kernel_h : s.kernel_h * s.kernel_w;
    const std::int64_t per_group = 4 / element_bytes_;
    groups_ = (run_ + per_group - 1) / per_group;
    pack(problem);
    split();
  }

  void run(const std::uint8_t* x, void* y) override {
    parallel_for(static_cast<std::int64_t>(chunks_.size()), [&](std::int64_t i) { run_chunk(chunks_[static_cast<std::size_t>(i)], x, static_cast<char*>(y)); });
  }

 private:
  void pack(const ConvU8S8Problem& problem);
  template <typename T>
  void pack_panel(const Panel& panel, const std::int8_t* weights, T* packed) const;
  void split();
  void run_chunk(const Chunk& chunk, const std::uint8_t* x, char* y) const;
  const std::uint8_t* copy_region(const Region& region, const std::uint8_t* image) const;

  ConvShape shape_;
  const ConvTileSet& tiles_;
  std::int32_t zero_point_;
  std::int64_t element_bytes_, y_bytes_;
  RowRequantizer requantizer_;
  bool dense_rows_;               // a kernel row is one tap
  std::int64_t run_, tap_count_, groups_;  // elements per tap, taps, 4-byte groups per tap
  std::vector<Panel> panels_;
  Tensor weights_;                // bytes; a Tensor is aligned to cache lines, as is every packed vector
  std::vector<std::int32_t> bias_;
  std::vector<Chunk> chunks_;
};

void TiledConv::pack(const ConvU8S8Problem& problem) {
  const std::int64_t k = tap_count_ * run_, group_out = shape_.out_c / shape_.groups;
  std::size_t bytes = 0, biases = 0;
  for (std::int64_t g = 0; g < shape_.groups; ++g) {
    for (std::int64_t c = 0; c < group_out; c += kConvPanel) {
      Panel panel{.first = g * group_out + c, .channels = std::min<std::int64_t>(group_out - c, kConvPanel), .input_channel = g * (shape_.in_c / shape_.groups)};
      panel.wide = panel.channels > kConvPanel / 2;
      panel.weights = bytes;
      panel.bias = biases;
      bytes += static_cast<std::size_t>(tap_count_ * groups_ * panel.width() * 4);
      biases += static_cast<std::size_t>(panel.width());
      panels_.push_back(panel);
    }
  }
  weights_ = Tensor(DType::kU8, {static_cast<std::int64_t>(bytes)});
  bias_.resize(biases, 0);
  parallel_for(static_cast<std::int64_t>(panels_.size()), [&](std::int64_t i) {
    const Panel& panel = panels_[static_cast<std::size_t>(i)];
    const std::int8_t* weights = problem.weights + panel.first * k;
    std::uint8_t* packed = weights_.data<std::uint8_t>() + panel.weights;
    if (tiles_.widened) pack_panel<std::int16_t>(panel, weights, reinterpret_cast<std::int16_t*>(packed));
    else pack_panel<std::int8_t>(panel, weights, reinterpret_cast<std::int8_t*>(packed));
    for (std::int64_t j = 0; j < panel.channels; ++j) {
      const SignedSums sums = sum_by_sign(weights + j * k, k);
      // Modulo 2^32, as the sums are.
      const std::int64_t bias = (problem.bias == nullptr ? 0 : problem.bias[panel.first + j]) - zero_point_ * (sums.positive + sums.negative);
      bias_[panel.bias + static_cast<std::size_t>(j)] = static_cast<std::int32_t>(static_cast<std::uint32_t>(bias));
    }
  });
}

// [tap][group][channel of the panel][element of the group]; weights: [channel][tap][element of the run].
template <typename T>
void TiledConv::pack_panel(const Panel& panel, const std::int8_t* weights, T* packed) const {
  constexpr std::int64_t kPerGroup = 4 / sizeof(T);
  const std::int64_t k = tap_count_ * run_, width = panel.width();
  for (std::int64_t tap = 0; tap < tap_count_; ++tap) {
    for (std::int64_t group = 0; group < groups_; ++group, packed += width * kPerGroup) {
      const std::int8_t* from = weights + tap * run_ + group * kPerGroup;
      const std::int64_t elements = std::min(kPerGroup, run_ - group * kPerGroup);
      for (std::int64_t j = 0; j < width; ++j) {
        for (std::int64_t e = 0; e < kPerGroup; ++e) packed[j * kPerGroup + e] = j < panel.channels && e < elements ? from[j * k + e] : std::int8_t{0};
      }
    }
  }
}

// Rectangles whose input stays in the second-level cache. Enough of them for several threads, down to a few tiles; only then the
// panels are divided, because threads that write neighbouring channels of one pixel share cache lines.
void TiledConv::split() {
  constexpr std::int64_t kInputBytes = 96 << 10, kFewPixels = 56, kManyChunks = 8, kFewMacs = 200'000;
  const ConvShape& s = shape_;
  const std::int64_t macs = s.macs();
  const auto parts_of = [](std::int64_t n, std::int64_t largest) { return (n + largest - 1) / largest; };
  const std::int64_t wanted = std::min(kManyChunks, std::max<std::int64_t>(1, macs / kFewMacs));
  const std::int64_t pixel_bytes = s.stride_w * s.stride_h * s.in_c * element_bytes_;
  const std::int64_t even_share = parts_of(s.batch * s.out_h * s.out_w, wanted);
  const std::int64_t pixels = std::max(kFewPixels, std::min(even_share, kInputBytes / std::max<std::int64_t>(pixel_bytes, 1)));
  const std::int64_t column_parts = parts_of(s.out_w, pixels);
  std::int64_t row_parts = parts_of(s.out_h, std::max<std::int64_t>(1, pixels / s.out_w));
  if (row_parts > 2 && s.out_h >= 8) row_parts = std::min(s.out_h, (row_parts + 3) / 4 * 4);  // an even load
  const std::int64_t rectangles = s.batch * row_parts * column_parts;
  const auto panel_count = static_cast<std::int64_t>(panels_.size());
  const std::int64_t panel_parts = std::min(panel_count, parts_of(wanted, rectangles));
  for (std::int64_t image = 0; image < s.batch; ++image) {
    for (std::int64_t r = 0; r < row_parts; ++r) {
      for (std::int64_t c = 0; c < column_parts; ++c) {
        for (std::int64_t p = 0; p < panel_parts; ++p) {
          chunks_.push_back({image, s.out_h * r / row_parts, s.out_h * (r + 1) / row_parts, s.out_w * c / column_parts, s.out_w * (c + 1) / column_parts,
                             static_cast<std::size_t>(panel_count * p / panel_parts), static_cast<std::size_t>(panel_count * (p + 1) / panel_parts)});
        }
      }
    }
  }
}

// The region with its padding filled in, widened if the tiles want it; belongs to the calling thread until its next call.
const std::uint8_t* TiledConv::copy_region(const Region& region, const std::uint8_t* image) const {
  thread_local std::vector<std::uint8_t> scratch;
  const ConvShape& s = shape_;
  const std::int64_t columns = region.column_end - region.column, row_elements = columns * s.in_c;
  const std::size_t bytes = static_cast<std::size_t>((region.row_end - region.row) * row_elements * element_bytes_ + 64);
  if (scratch.size() < bytes) scratch.resize(bytes);
  const std::int64_t inside = std::clamp<std::int64_t>(region.column, 0, s.in_w), inside_end = std::clamp<std::int64_t>(region.column_end, inside, s.in_w);
  const std::int64_t left = std::min(inside - region.column, columns) * s.in_c, middle = (inside_end - inside) * s.in_c;
  const auto fill_row = [&](auto* out, std::int64_t y) {
    if (y < 0 || y >= s.in_h || middle <= 0) {
      std::fill_n(out, row_elements, zero_point_);
      return;
    }
    std::fill_n(out, left, zero_point_);
    std::copy_n(image + (y * s.in_w + inside) * s.in_c, middle, out + left);
    std::fill_n(out + left + middle, row_elements - left - middle, zero_point_);
  };
  for (std::int64_t y = region.row; y < region.row_end; ++y) {
    std::uint8_t* out = scratch.data() + (y - region.row) * row_elements * element_bytes_;
    if (element_bytes_ == 2) {
      fill_row(reinterpret_cast<std::int16_t*>(out), y);
    } else {
      fill_row(out, y);
    }
  }
  return scratch.data();
}

void TiledConv::run_chunk(const Chunk& chunk, const std::uint8_t* x, char* y) const {
  const ConvShape& s = shape_;
  const Region region{.row = chunk.row * s.stride_h - s.pad_top,
                      .row_end = (chunk.row_end - 1) * s.stride_h - s.pad_top + (s.kernel_h - 1) * s.dilation_h + 1,
                      .column = chunk.column * s.stride_w - s.pad_left,
                      .column_end = (chunk.column_end - 1) * s.stride_w - s.pad_left + (s.kernel_w - 1) * s.dilation_w + 1};
  const std::uint8_t* image = x + chunk.image * s.in_h * s.in_w * s.in_c;
  const bool inside = region.row >= 0 && region.column >= 0 && region.row_end <= s.in_h && region.column_end <= s.in_w;
  // The last group of a run may read beyond the region, but never beyond the tensor.
  const std::int64_t end = ((chunk.image * s.in_h + region.row_end - 1) * s.in_w + region.column_end) * s.in_c + groups_ * 4 - run_;
  const bool direct = !tiles_.widened && inside && end <= s.batch * s.in_h * s.in_w * s.in_c;
  const std::uint8_t* base = direct ? image + (region.row * s.in_w + region.column) * s.in_c : copy_region(region, image);
  const std::int64_t pixel = s.in_c * element_bytes_, pitch = (direct ? s.in_w : region.column_end - region.column) * pixel;

  std::vector<std::ptrdiff_t> taps(static_cast<std::size_t>(tap_count_));
  const std::int64_t taps_per_row = dense_rows_ ? 1 : s.kernel_w;
  for (std::int64_t i = 0; i < tap_count_; ++i) {
    taps[static_cast<std::size_t>(i)] = (i / taps_per_row) * s.dilation_h * pitch + (i % taps_per_row) * s.dilation_w * pixel;
  }
  alignas(64) std::int32_t acc[16 * kConvPanel];
  ConvTile tile{.pixel_stride = s.stride_w * pixel, .taps = taps.data(), .tap_count = tap_count_, .groups = groups_, .acc = acc};
  const std::int64_t columns = chunk.column_end - chunk.column, parts = (columns + tiles_.max_pixels - 1) / tiles_.max_pixels;
  for (std::size_t p = chunk.panel; p < chunk.panel_end; ++p) {
    const Panel& panel = panels_[p];
    const ConvTileFn* kernels = panel.wide ? tiles_.wide : tiles_.half;
    tile.weights = weights_.data<std::uint8_t>() + panel.weights;
    tile.bias = bias_.data() + panel.bias;
    for (std::int64_t row = chunk.row; row < chunk.row_end; ++row) {
      const std::uint8_t* x_row = base + (row - chunk.row) * s.stride_h * pitch + panel.input_channel * element_bytes_;
      char* y_row = y + (((chunk.image * s.out_h + row) * s.out_w + chunk.column) * s.out_c + panel.first) * y_bytes_;
      for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t first = columns * part / parts, pixels = columns * (part + 1) / parts - first;
        tile.x = x_row + first * tile.pixel_stride;
        kernels[pixels](tile);
        requantizer_.run(acc, kConvPanel, pixels, panel.first, panel.channels, y_row + first * s.out_c * y_bytes_, s.out_c);
      }
    }
  }
}

// Whether every accumulator, also half-way through the sum, stays within 32 bits for any input.
bool accumulators_fit(const ConvU8S8Problem& problem) {
  const ConvShape& s = problem.shape;
  const std::int64_t k = s.kernel_h * s.kernel_w * (s.in_c / s.groups);
  const std::int64_t below = problem.x_zero_point, above = 255 - problem.x_zero_point;  // largest |x - zero point| on either side
  for (std::int64_t o = 0; o < s.out_c; ++o) {
    const auto [positive, negative] = sum_by_sign(problem.weights + o * k, k);
    const std::int64_t bias = problem.bias == nullptr ? 0 : problem.bias[o];
    if (bias + positive * above - negative * below > INT32_MAX || bias + negative * above - positive * below < INT32_MIN) return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<ConvU8S8> make_conv_u8s8(const ConvU8S8Problem& problem, Isa isa) {
  const ConvShape& s = problem.shape;
  NARROW_CHECK(s.groups > 0 && s.in_c % s.groups == 0 && s.out_c % s.groups == 0, "{} groups", s.groups);
  if (s.batch * s.out_h * s.out_w * s.out_c == 0 || s.in_h * s.in_w * s.in_c == 0) return nullptr;
  const RowGrid grid{problem.y_zero_point, problem.y_min, problem.y_max, problem.output_i16};
  if (!grid.valid() || problem.x_zero_point < 0 || problem.x_zero_point > 255) return nullptr;
  if (!RowRequantizer::takes({problem.rescale, static_cast<std::size_t>(s.out_c)}) || !accumulators_fit(problem)) return nullptr;
  isa = resolve_isa(isa);
  if (s.depthwise() && s.groups > 1) return make_depthwise_u8s8(problem, isa);
  if (s.groups > 1 && s.out_c / s.groups < 4) return nullptr;  // panels would be almost empty
  return std::make_unique<TiledConv>(problem, isa);
}

}  // namespace narrow
