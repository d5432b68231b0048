// Constants of a float graph on their planned grids, for lowering and for QDQ export alike.
#pragma once

#include "base/error.h"
#include "tensor/quant_params.h"

namespace narrow {

// Bias: b / scale in double, half to even. Error: it saturates the grid (names the channel).
Result<Tensor> quantize_bias(const Tensor& bias, const QuantParams& params);

// The 8-bit grid of an integer network is u8: a planned i8 grid is moved up by 128, which changes no real value.
QuantParams network_grid(const QuantParams& planned);

}  // namespace narrow
