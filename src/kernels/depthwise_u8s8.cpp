#include "kernels/depthwise_u8s8.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "tensor/tensor.h"

namespace narrow {
namespace {

const DepthwiseForm& form_of(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512Vnni) return depthwise_form_avx512vnni();
  if (isa == Isa::kAvx2) return depthwise_form_avx2();
#endif
  return depthwise_form_portable();
}

constexpr std::int64_t kTilePixels = 16;

class Depthwise final : public ConvU8S8 {
 public:
  Depthwise(const ConvU8S8Problem& problem, Isa isa)
      : shape_(problem.shape), form_(form_of(isa)), zero_point_(static_cast<std::uint8_t>(problem.x_zero_point)), y_bytes_(problem.output_i16 ? 2 : 1),
        requantizer_({problem.rescale, static_cast<std::size_t>(shape_.out_c)}, problem.rounding,
                     {problem.y_zero_point, problem.y_min, problem.y_max, problem.output_i16}, isa, form_.order) {
    padding_.fill(zero_point_);
    pack(problem);
    // Bands of output rows worth a few ten microseconds.
    const std::int64_t rows = shape_.batch * shape_.out_h, row_outputs = shape_.out_w * shape_.out_c;
    const std::int64_t bands = std::min(rows, (rows * row_outputs + kBandOutputs - 1) / kBandOutputs);
    bands_ = bands > 2 ? std::min(rows, (bands + 3) / 4 * 4) : bands;
  }

  void run(const std::uint8_t* x, void* y) override {
    const std::int64_t rows = shape_.batch * shape_.out_h;
    parallel_for(bands_, [&](std::int64_t band) { run_rows(rows * band / bands_, rows * (band + 1) / bands_, x, static_cast<char*>(y)); });
  }

 private:
  static constexpr std::int64_t kBandOutputs = 50'000;
  struct Block {
    std::int64_t first, channels, width;
    std::size_t weights, bias;
  };

  void pack(const ConvU8S8Problem& problem);
  void run_rows(std::int64_t row, std::int64_t row_end, const std::uint8_t* x, char* y) const;

  ConvShape shape_;
  const DepthwiseForm& form_;
  std::uint8_t zero_point_;
  std::int64_t y_bytes_, bands_ = 1;
  std::array<std::uint8_t, 64> padding_;
  RowRequantizer requantizer_;
  std::vector<Block> blocks_;
  Tensor weights_;  // bytes; a Tensor is aligned to cache lines, as is every packed vector
  std::vector<std::int32_t> bias_;
};

void Depthwise::pack(const ConvU8S8Problem& problem) {
  std::vector<std::int8_t> packed;
  const std::int64_t kernel = shape_.kernel_h * shape_.kernel_w, row_groups = (shape_.kernel_h + form_.rows - 1) / form_.rows;
  const std::int64_t element = form_.widened ? 2 : 1;
  for (std::int64_t first = 0; first < shape_.out_c;) {
    const std::int64_t left = shape_.out_c - first, width = left <= form_.narrow_block ? form_.narrow_block : form_.wide_block;
    const Block block{first, std::min(left, width), width, packed.size(), bias_.size()};
    packed.resize(packed.size() + static_cast<std::size_t>(shape_.kernel_w * row_groups * form_.rows * width * element), 0);
    bias_.resize(bias_.size() + static_cast<std::size_t>(width), 0);
    for (std::int64_t position = 0; position < width; ++position) {
      const std::int64_t c = form_.order == ChannelOrder::kConsecutive ? position : channel_of_lane_position(position, width);
      if (c >= block.channels) continue;
      const std::int8_t* w = problem.weights + (first + c) * kernel;
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < kernel; ++i) {
        const std::int64_t ky = i / shape_.kernel_w, kx = i % shape_.kernel_w;
        const std::int64_t at = ((kx * row_groups + ky / form_.rows) * width + position) * form_.rows + ky % form_.rows;
        const std::int16_t wide = w[i];
        std::memcpy(packed.data() + block.weights + at * element, form_.widened ? static_cast<const void*>(&wide) : w + i, static_cast<std::size_t>(element));
        sum += w[i];
      }
      const std::int64_t bias = (problem.bias == nullptr ? 0 : problem.bias[first + c]) - zero_point_ * sum;
      bias_[block.bias + static_cast<std::size_t>(position)] = static_cast<std::int32_t>(static_cast<std::uint32_t>(bias));
    }
    blocks_.push_back(block);
    first += block.channels;
  }
  weights_ = Tensor::of<std::int8_t>({static_cast<std::int64_t>(packed.size())}, packed);
}

void Depthwise::run_rows(std::int64_t row, std::int64_t row_end, const std::uint8_t* x, char* y) const {
  thread_local Tensor column_room, acc_room;
  const ConvShape& s = shape_;
  const std::int64_t row_groups = (s.kernel_h + form_.rows - 1) / form_.rows, width = std::max(form_.wide_block, form_.narrow_block);
  const std::int64_t column_count = (kTilePixels - 1) * s.stride_w + (s.kernel_w - 1) * s.dilation_w + 1;
  const auto room = [](Tensor& kept, std::int64_t bytes) {
    if (!kept.has_data() || kept.elements() < bytes) kept = Tensor(DType::kU8, {bytes});
    return kept.raw();
  };
  auto* columns = static_cast<std::uint8_t*>(room(column_room, column_count * row_groups * width * form_.rows * (form_.widened ? 2 : 1)));
  auto* acc = static_cast<std::int32_t*>(room(acc_room, kTilePixels * width * 4));
  std::vector<const std::uint8_t*> rows(static_cast<std::size_t>(s.kernel_h));
  DepthwiseTile tile{.rows = rows.data(), .in_w = s.in_w, .in_c = s.in_c, .stride = s.stride_w, .dilation = s.dilation_w, .kernel_w = s.kernel_w,
                     .kernel_h = s.kernel_h, .zero_point = zero_point_, .padding = padding_.data(), .columns = columns, .acc = acc};
  for (; row < row_end; ++row) {
    const std::int64_t image = row / s.out_h, out_y = row % s.out_h;
    for (const Block& block : blocks_) {
      for (std::int64_t ky = 0; ky < s.kernel_h; ++ky) {
        const std::int64_t in_y = out_y * s.stride_h - s.pad_top + ky * s.dilation_h;
        rows[static_cast<std::size_t>(ky)] = in_y < 0 || in_y >= s.in_h ? nullptr : x + (image * s.in_h + in_y) * s.in_w * s.in_c + block.first;
      }
      tile.channels = block.channels;
      tile.weights = weights_.data<std::int8_t>() + block.weights;
      tile.bias = bias_.data() + block.bias;
      const auto kernel = block.width == form_.narrow_block ? form_.narrow : form_.wide;
      char* y_row = y + (row * s.out_w * s.out_c + block.first) * y_bytes_;
      for (std::int64_t column = 0; column < s.out_w; column += kTilePixels) {
        tile.column = column * s.stride_w - s.pad_left;
        tile.pixels = std::min(kTilePixels, s.out_w - column);
        kernel(tile);
        requantizer_.run(acc, block.width, tile.pixels, block.first, block.channels, y_row + column * s.out_c * y_bytes_, s.out_c);
      }
    }
  }
}

}  // namespace

std::unique_ptr<ConvU8S8> make_depthwise_u8s8(const ConvU8S8Problem& problem, Isa isa) { return std::make_unique<Depthwise>(problem, isa); }

}  // namespace narrow
