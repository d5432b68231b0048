// Activations: which values share a scale (union-find over the operators' `same` groups), the range of each such class, and
// its scale. A class is decided by the first of: a scale or range in the recipe (the later entry where several meet); an
// interval that the operator fixes; the union of its members' own ranges from the statistics.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "calibrate/calibrators.h"
#include "graph/graph.h"
#include "plan/islands.h"
#include "plan/plan.h"
#include "plan/wishes.h"

namespace narrow {

struct ScaleOptions {
  DType default_type = DType::kI8;
  std::string type_by;                 // who chose it, e.g. "recipe r.yaml"; empty: the target's default
  bool symmetric = false;              // of 8-bit activations; 16-bit ones always are
  std::string symmetric_by;            // "target 'x'" or "recipe FILE"
  CalibratorChoice calibrator;
  std::string calibrator_by;           // "default" or "recipe FILE"
  double percentile = 99.99;           // for layers that ask for "percentile"
  double untie_ratio = 8;
};

// Values that integer nodes read or write as data, in graph order (inputs, then as produced; constants where first read).
struct Participant {
  ValueId id;
  bool reordered = false;  // made by movement that keeps every element (Reshape, Transpose, Concat)
  std::optional<QuantRule::Fixed> fixed;
};
std::vector<Participant> participants(const Graph& graph, const std::vector<NodeChoice>& choices);

// f32 values that need statistics, in graph order: everything an integer node reads or writes, except what the operators
// fix and what movement only reorders (its range is that of the value it moves).
std::vector<ValueId> values_to_observe(const Graph& graph, const std::vector<NodeChoice>& choices, const Wishes& wishes);

class Scales {
 public:
  // All references must outlive it. Errors: a value lacks statistics; a calibrator name or scale in the recipe is wrong.
  static Result<Scales> make(const Graph& graph, const Stats& stats, const Wishes& wishes, const ScaleOptions& options, const std::vector<NodeChoice>& choices);

  // Range of a value on its own, before any tie; movement that reorders has the union of what it reads.
  Range own_range(ValueId value) const { return own_[value.index].range; }

  // Ties what must share a scale. Inputs of a joining node (Concat, Min) whose range is more than untie_ratio times smaller than
  // the union, or larger than that of the result, or is fixed otherwise, keep their own scale and are noted.
  void tie(const std::vector<NodeChoice>& choices, std::vector<std::string>* notes);
  // After tie(): the decisions for the values that the integer nodes of these choices read or write, in graph order.
  Result<std::vector<ActivationPlan>> decide(const std::vector<NodeChoice>& choices) const;
  // After tie(): warns of wishes that another one overruled because their values share a scale, naming both entries.
  void tell_overruled(const std::vector<NodeChoice>& choices, Diagnostics& diagnostics) const;

 private:
  // What is known about one value, or about a class of tied ones.
  struct Entry {
    Range range;
    std::optional<Range> fixed;                                  // by the operator that makes it
    std::optional<Wish<Range>> forced;                           // by the recipe
    std::optional<Wish<std::pair<double, std::int64_t>>> scale;  // by the recipe
    std::optional<Wish<DType>> dtype;                            // by the recipe
    std::string source;                                          // who decided the range; empty: movement
    // Of the wish for a grid, if any; scale and forced are never both there. -1: none.
    int grid_entry() const { return scale ? scale->entry : forced ? forced->entry : -1; }
    int type_entry() const { return dtype ? dtype->entry : -1; }
    const SourceSpan& grid_where() const { return scale ? scale->where : forced->where; }
  };
  Scales(const Graph& graph, const Stats& stats, const Wishes& wishes, const ScaleOptions& options);
  Status read_range(ValueId id, const std::optional<QuantRule::Fixed>& fixed, const std::vector<NodeChoice>& choices);
  std::uint32_t root(std::uint32_t i) const;
  void unite(ValueId a, ValueId b, NodeId by);
  bool overflows(const Node& node, ValueId input, ValueId output, std::vector<std::string>* notes) const;
  void tie_group(NodeId id, const std::vector<Slot>& group, std::vector<std::string>* notes);
  GridOptions grid(const Entry& entry) const;
  Result<QuantParams> params(const Entry& entry, ValueId id) const;
  std::string leader_text(std::uint32_t leader, const Entry& whole) const;
  std::vector<std::uint32_t> leaders(const std::vector<Participant>& parts) const;

  const Graph* graph_;
  const Stats* stats_;
  const Wishes* wishes_;
  const ScaleOptions* options_;
  std::vector<Entry> own_;              // by value index
  std::vector<Entry> classes_;          // by value index; valid at roots
  std::vector<std::uint32_t> parent_;   // union-find
  std::vector<NodeId> tied_by_;         // the node that first tied the value
};

// 8 bits: scale (hi - lo) / 256, so that hi is one step out of reach; 16 bits: largest magnitude / 32768.
QuantParams params_of_fixed(Range interval, DType dtype, bool symmetric);
inline Range united(Range a, Range b) { return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)}; }
inline bool inside(Range inner, Range outer) { return inner.lo >= outer.lo && inner.hi <= outer.hi; }
inline double width(Range r) { return r.hi - r.lo; }
std::string to_string(Range range);  // "[-0.2785, 6]", four digits

}  // namespace narrow
