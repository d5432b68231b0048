#include "measure/decoders.h"

#include <array>
#include <cmath>

#include "base/text.h"
#include "measure/top_k.h"

namespace narrow {
namespace {

constexpr std::int64_t kBoxFields = 5;  // four of the box and the objectness

struct Entry {
  std::string_view name;
  Decoder decode;
};
constexpr std::array kDecoders{Entry{"fastestdet", decode_fastestdet}, Entry{"ssd", decode_ssd}, Entry{"yolox", decode_yolox}};

Box around(double cx, double cy, double width, double height) {
  return {cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2};
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

Result<std::vector<Detection>> decode_yolox(std::span<const Tensor> outputs, ImageSize input) {
  constexpr std::array<std::int64_t, 3> kStrides{8, 16, 32};
  constexpr double kKeep = 0.01;
  std::int64_t cells = 0;
  for (const std::int64_t stride : kStrides) cells += (input.height / stride) * (input.width / stride);
  const Shape found = outputs.empty() ? Shape{} : outputs[0].shape();
  if (found.size() != 3 || found[0] != 1 || found[1] != cells || found[2] <= kBoxFields) {
    return error("decoder 'yolox' found output {}, wanted [1,{},5+classes] for a {}x{} input", to_string(found), cells, input.width, input.height);
  }
  const auto fields = static_cast<std::size_t>(found[2]);
  const std::span<const float> all = outputs[0].span<float>();
  std::vector<Detection> detections;
  std::size_t cell = 0;
  for (const std::int64_t stride : kStrides) {
    const auto step = static_cast<double>(stride);
    for (std::int64_t y = 0; y < input.height / stride; ++y) {
      for (std::int64_t x = 0; x < input.width / stride; ++x, ++cell) {
        const std::span<const float> p = all.subspan(cell * fields, fields);
        const std::span<const float> classes = p.subspan(kBoxFields);
        const std::int64_t best = argmax(classes);
        if (best < 0) continue;
        const double score = static_cast<double>(p[4]) * static_cast<double>(classes[static_cast<std::size_t>(best)]);
        if (!(score > kKeep)) continue;
        const Box box = around((static_cast<double>(p[0]) + static_cast<double>(x)) * step, (static_cast<double>(p[1]) + static_cast<double>(y)) * step,
                               std::exp(static_cast<double>(p[2])) * step, std::exp(static_cast<double>(p[3])) * step);
        detections.push_back({box, best, score});
      }
    }
  }
  return detections;
}

Result<std::vector<Detection>> decode_fastestdet(std::span<const Tensor> outputs, ImageSize input) {
  constexpr double kKeep = 0.05;
  const Shape found = outputs.empty() ? Shape{} : outputs[0].shape();
  if (found.size() != 4 || found[0] != 1 || found[1] <= kBoxFields) {
    return error("decoder 'fastestdet' found output {}, wanted [1,5+classes,h,w]", to_string(found));
  }
  const std::int64_t height = found[2], width = found[3], plane = height * width;
  const std::span<const float> all = outputs[0].span<float>();
  const auto at = [&](std::int64_t channel, std::int64_t cell) { return static_cast<double>(all[static_cast<std::size_t>(channel * plane + cell)]); };
  std::vector<Detection> detections;
  std::vector<float> classes(static_cast<std::size_t>(found[1] - kBoxFields));
  for (std::int64_t cell = 0; cell < plane; ++cell) {
    for (std::size_t c = 0; c < classes.size(); ++c) classes[c] = all[(c + kBoxFields) * static_cast<std::size_t>(plane) + static_cast<std::size_t>(cell)];
    const std::int64_t best = argmax(classes);
    if (best < 0) continue;
    const double score = std::pow(at(0, cell), 0.6) * std::pow(static_cast<double>(classes[static_cast<std::size_t>(best)]), 0.4);
    if (!(score > kKeep)) continue;
    const double cx = (std::tanh(at(1, cell)) + static_cast<double>(cell % width)) / static_cast<double>(width);
    const double cy = (std::tanh(at(2, cell)) + static_cast<double>(cell / width)) / static_cast<double>(height);
    const auto w = static_cast<double>(input.width), h = static_cast<double>(input.height);
    detections.push_back({around(cx * w, cy * h, sigmoid(at(3, cell)) * w, sigmoid(at(4, cell)) * h), best, score});
  }
  return detections;
}

Result<std::vector<Detection>> decode_ssd(std::span<const Tensor> outputs, ImageSize input) {
  constexpr double kKeep = 0.05;
  constexpr std::int64_t kCorners = 4;
  const auto rows = [&](std::size_t i) { return outputs.size() == 2 && outputs[i].shape().size() == 3 && outputs[i].shape()[0] == 1 ? outputs[i].shape() : Shape{1, -1, 0}; };
  const std::size_t boxes_at = rows(1)[2] == kCorners ? 1 : 0;
  const Shape scores_shape = rows(1 - boxes_at), boxes_shape = rows(boxes_at);
  if (boxes_shape[2] != kCorners || scores_shape[2] < 2 || boxes_shape[1] != scores_shape[1]) {
    std::vector<std::string> found;
    for (const Tensor& output : outputs) found.push_back(to_string(output.shape()));
    return error("decoder 'ssd' found outputs {}, wanted scores [1,boxes,1+classes] and boxes [1,boxes,4]", found.empty() ? "none" : join(found, " and "));
  }
  const auto classes = static_cast<std::size_t>(scores_shape[2]);
  const std::span<const float> scores = outputs[1 - boxes_at].span<float>(), corners = outputs[boxes_at].span<float>();
  const auto w = static_cast<double>(input.width), h = static_cast<double>(input.height);
  std::vector<Detection> detections;
  for (std::size_t i = 0; i < static_cast<std::size_t>(boxes_shape[1]); ++i) {
    const std::int64_t best = argmax(scores.subspan(i * classes + 1, classes - 1));
    if (best < 0) continue;
    const auto score = static_cast<double>(scores[i * classes + 1 + static_cast<std::size_t>(best)]);
    if (!(score > kKeep)) continue;
    const auto corner = [&](std::size_t k) { return static_cast<double>(corners[i * kCorners + k]); };
    detections.push_back({{corner(0) * w, corner(1) * h, corner(2) * w, corner(3) * h}, best, score});
  }
  return detections;
}

Result<Decoder> find_decoder(std::string_view name) {
  for (const Entry& entry : kDecoders) {
    if (entry.name == name) return entry.decode;
  }
  if (name.empty()) {
    return error("task 'detect' needs the layout of the network's outputs, and no decoder is given")
        .with_help(fmt::format("--decoder, or eval: {{decoder: ...}} in the recipe; one of: {}", join(decoder_names(), ", ")))
        .with_exit_code(ExitCode::kUsage);
  }
  const std::string near = did_you_mean(name, decoder_names());
  return error("unknown detection decoder '{}'", name)
      .with_help(near.empty() ? fmt::format("--decoder, one of: {}", join(decoder_names(), ", ")) : near)
      .with_exit_code(ExitCode::kUsage);
}

std::vector<std::string> decoder_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kDecoders) names.emplace_back(entry.name);
  return names;
}

}  // namespace narrow
