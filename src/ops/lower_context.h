// What an operator sees when it is lowered to integers: its planned scales, its inputs as integer values of the new
// graph, and the means to emit integer nodes. Implemented by lower/; operators only call it.
//
// 8-bit activations are u8 in integer graphs, whatever the plan says: a planned i8 grid is shifted by 128 (zero point
// included), which changes no real value. Graph inputs and outputs carry the planned dtype at the boundary (runner).
#pragma once

#include <string>
#include <vector>

#include "kernels/requantize.h"
#include "ops/op_def.h"

namespace narrow {

// The parts of a Target that change arithmetic.
struct ArithmeticProfile {
  Rounding rounding = Rounding::kSingleRound;
  bool average_raw_codes = false;           // TFLite: average pooling rounds raw codes half away from zero (needs equal scales)
  DType preactivation = DType::kI16;        // between a linear operator and its table activation (SiLU…): i16 or u8
};

class LowerContext {
 public:
  virtual ~LowerContext() = default;
  virtual const Graph& graph() const = 0;   // the float graph
  virtual const Node& node() const = 0;     // the float node
  virtual const ArithmeticProfile& profile() const = 0;
  const Shape& input_shape(int slot) const { return graph().value(node().inputs[static_cast<std::size_t>(slot)]).shape; }
  const Shape& output_shape(int slot = 0) const { return graph().value(node().outputs[static_cast<std::size_t>(slot)]).shape; }
  bool has_input(int slot) const { return static_cast<std::size_t>(slot) < node().inputs.size() && static_cast<bool>(node().inputs[static_cast<std::size_t>(slot)]); }

  // Activations: u8 or i16, per tensor. Constant operands that the plan quantizes as activations look the same.
  virtual const QuantParams& in(int slot) const = 0;
  virtual const QuantParams& out(int slot = 0) const = 0;
  virtual ValueId input(int slot) = 0;      // in the new graph; non-f32 inputs (indices) are copied as they are

  // Constants. weight: planned symmetric i8 tensor. bias: i32 (i64 under i16 activations) on its derived grid; no data when absent.
  virtual const QuantParams& weight_params(int slot) const = 0;
  virtual Tensor weight(int slot) const = 0;
  virtual Tensor bias(int slot) const = 0;
  virtual ValueId constant(const std::string& suffix, Tensor tensor) = 0;  // named NODE.suffix

  // The rescaling constants of an integer operator: inputs "multiplier" i32[C], "shift" i32[C] and, for float_rne only,
  // "scale" f32[C] (otherwise absent). real[c] > 0; single[c] is the same value computed in float, for float_rne.
  struct Rescales { ValueId multiplier, shift, scale; };
  virtual Rescales rescales(const std::string& suffix, const std::vector<double>& real, const std::vector<float>& single) = 0;

  // An intermediate integer value, named NODE.suffix.
  virtual ValueId emit(const std::string& suffix, NodeSpec spec, DType dtype, Shape shape, QuantParams params) = 0;
  // The node that produces planned output `slot`; it gets the name, type and params of the float value. spec.op, inputs, attrs
  // are read; the attribute "rounding" is added.
  virtual void emit_output(NodeSpec spec, int slot = 0) = 0;
};

// Reads the rescaling inputs at `first_slot` (multiplier, shift, scale) as an array of C entries.
std::vector<Rescale> read_rescales(const RunContext& ctx, std::size_t first_slot);
Rounding rounding_of(const Node& node);  // attribute "rounding"

}  // namespace narrow
