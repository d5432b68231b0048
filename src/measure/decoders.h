// From a detector's raw output to boxes in model pixels. One entry per output layout; `narrow eval --decoder` names them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "measure/detection.h"
#include "tensor/tensor.h"

namespace narrow {

struct ImageSize {
  std::int64_t height = 0, width = 0;
};

// Unsuppressed detections of one image, boxes in pixels of the model's input. Error: the outputs have another layout.
using Decoder = Result<std::vector<Detection>> (*)(std::span<const Tensor> outputs, ImageSize input);

// [1, cells, 5 + classes] over strides 8, 16, 32 (rows of cells, x fastest): centre = (p + cell) * stride, size = exp(p) * stride,
// score = objectness * best class, kept above 0.01.
Result<std::vector<Detection>> decode_yolox(std::span<const Tensor> outputs, ImageSize input);
// [1, 5 + classes, h, w]: score = objectness^0.6 * best class^0.4, centre = (tanh(p) + cell) / grid, size = sigmoid(p), kept above 0.05.
Result<std::vector<Detection>> decode_fastestdet(std::span<const Tensor> outputs, ImageSize input);

// Scores [1, boxes, 1 + classes], background first, and boxes [1, boxes, 4] as corners in shares of the input, in any order (SSD and its
// kin, decoded within the network): score = best class other than the background, kept above 0.05.
Result<std::vector<Detection>> decode_ssd(std::span<const Tensor> outputs, ImageSize input);

// Error: unknown name, with a suggestion.
Result<Decoder> find_decoder(std::string_view name);
std::vector<std::string> decoder_names();

}  // namespace narrow
