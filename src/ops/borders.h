// The operators at the borders of an integer network's grids: real <-> integer (quantize, dequantize) and integer ->
// integer with another scale, zero point or dtype (requantize). Lowering inserts them.
#pragma once

#include "graph/graph.h"
#include "kernels/requantize.h"

namespace narrow {

// x f32 -> codes of `to`, and codes of `from` -> f32; per tensor.
NodeSpec quantize_spec(ValueId x, const QuantParams& to);
NodeSpec dequantize_spec(ValueId x, const QuantParams& from);
// Codes of one grid -> codes of another. multiplier, shift: i32[1] constants of from.scale / to.scale.
NodeSpec requantize_spec(ValueId x, ValueId multiplier, ValueId shift, const QuantParams& from, const QuantParams& to, Rounding rounding);

}  // namespace narrow
