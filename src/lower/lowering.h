// The state of one lowering: the integer network as it grows, and for every float value the forms in which it exists
// there (on its grid, on other grids, as real numbers). Conversions are made once and shared.
#pragma once

#include <string>
#include <vector>

#include "lower/grids.h"
#include "ops/lower_context.h"
#include "target/target.h"
#include "tensor/fixed_point.h"

namespace narrow {

class Lowering {
 public:
  Lowering(const Graph& source, const Grids& grids, const Target& target);
  Status node(NodeId id);      // lowers or copies one node; in order
  Result<Graph> finish();      // outputs, names, verify

  // The float value on grid `params` (network grid), as real numbers, or, for other dtypes, as it is.
  // Error of on_grid: no integers lead from the one grid to the other.
  Result<ValueId> on_grid(ValueId source, const QuantParams& params);
  ValueId real(ValueId source);
  ValueId copied(ValueId source);
  // What the producer made: `made` is on `params`, or real when params is nullptr.
  void define(ValueId source, ValueId made, const QuantParams* params);
  // A parameter of an integer operator. Large ones of the same contents (weights of an unrolled recurrence, tables) are stored once.
  ValueId constant(std::string name, Tensor tensor);
  bool defined(ValueId source) const { return static_cast<bool>(forms_[source.index].primary); }

  const Graph& source;
  const Grids& grids;
  const Target& target;
  Graph out;

 private:
  struct Forms {
    ValueId primary;                               // has the name of the float value
    bool primary_is_real = true;
    std::vector<std::pair<QuantParams, ValueId>> integer;
    ValueId real;
  };
  Status copy(NodeId id);
  ValueId convert(NodeSpec spec, std::string name, TensorType type, std::optional<QuantParams> quant);
  std::vector<Forms> forms_;  // by value index of the source
  std::unordered_multimap<std::uint64_t, ValueId> large_;  // constants of `out`, by a hash of their contents
};

// Error: too large (or not positive) for integers; the remedy is the plan's.
Result<FixedPoint> rescaling_factor(double real);
// Runs the operator's lower hook for `id`.
Status lower_node(Lowering& lowering, NodeId id);

}  // namespace narrow
