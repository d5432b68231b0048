#include "lower/constants.h"

#include "base/text.h"

namespace narrow {

Result<Tensor> quantize_bias(const Tensor& bias, const QuantParams& params) {
  const auto b = bias.span<float>();
  const auto lowest = static_cast<double>(params.qmin()), highest = static_cast<double>(params.qmax());
  for (std::size_t c = 0; c < b.size(); ++c) {
    const std::size_t channel = params.per_channel() ? c : 0;
    const double steps = static_cast<double>(b[c]) / static_cast<double>(params.scale[channel]);
    if (!(steps > lowest - 0.5 && steps < highest + 0.5)) {
      return error("the bias {} of channel {} does not fit {} at scale {}", exact(b[c]), c, name_of(params.dtype), exact(params.scale[channel]))
          .with_help("enlarge the weight scale of this channel in the plan");
    }
  }
  return quantize(bias, params);
}

QuantParams network_grid(const QuantParams& planned) {
  QuantParams grid = planned;
  if (planned.dtype == DType::kI8) {
    grid.dtype = DType::kU8;
    for (std::int32_t& z : grid.zero_point) z += 128;
  }
  return grid;
}

}  // namespace narrow
