// Nodes that scale and shift every channel of a map: what the passes that move affine nodes about look for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/op_def.h"

namespace narrow {

// y = x * scale + shift, of the shape of x, with one factor per index of the innermost axis, or (uniform) one for all elements.
struct ChannelAffine {
  ValueId x;
  std::vector<float> scale, shift;  // one element each, or one per channel
  bool uniform = false;
  // In double, as what is made of them is computed.
  double scale_at(std::int64_t channel) const { return at(scale, channel); }
  double shift_at(std::int64_t channel) const { return at(shift, channel); }

 private:
  static double at(const std::vector<float>& list, std::int64_t channel) { return static_cast<double>(list.size() == 1 ? list[0] : list[static_cast<std::size_t>(channel)]); }
};

// The form of a node (OpDef::affine); nullopt when it has another axis, another shape, a constant x or a fused activation.
std::optional<ChannelAffine> channel_affine(const Graph& graph, NodeId node);

}  // namespace narrow
