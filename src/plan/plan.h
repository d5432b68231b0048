// The decision: for every activation and every weight its dtype, scale, zero point, axis, and who decided. A reviewable,
// editable text file; from here on everything is integer-exact and reproducible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/error.h"
#include "calibrate/stats.h"
#include "graph/graph.h"
#include "recipe/recipe.h"
#include "target/target.h"

namespace narrow {

struct ActivationPlan {
  std::string value;        // name in the float graph; constants used as operands are listed too
  QuantParams params;       // in the dtype the user sees (i8, u8, i16)
  std::string decided_by;   // "default: mse over 64 samples", "constraint: same as 'x' (Concat 'cat')", "target …", "recipe FILE:LINE", "fixed by Softmax"
  std::string same_as = {}; // the value whose params these are; empty: its own decision
  bool operator==(const ActivationPlan&) const = default;
};

struct ConstantPlan {
  std::string node;
  int slot = 1;             // input of the node
  QuantParams params;       // weights: i8 symmetric; biases: i32 or i64
  std::string decided_by;
  bool operator==(const ConstantPlan&) const = default;
};

struct IslandPlan {
  std::string node;
  std::string reason;
  bool operator==(const IslandPlan&) const = default;
};

struct Plan {
  std::uint64_t graph_hash = 0;            // of the float graph it was made for
  std::string target;
  std::vector<ActivationPlan> activations; // in graph order
  std::vector<ConstantPlan> constants;
  std::vector<IslandPlan> islands;         // nodes that stay float
  std::vector<std::string> notes;          // what was done on its own initiative (widened scales, untied branches, …)

  const ActivationPlan* activation(std::string_view value) const;
  const ConstantPlan* constant(std::string_view node, int slot) const;
  const IslandPlan* island(std::string_view node) const;

  std::string to_text() const;             // prints and parses back to itself
  static Result<Plan> from_text(std::string_view text, const std::string& file);
  std::uint64_t hash() const;
  // Error when made for another graph, when it names what does not exist, lacks a value, or breaks an operator's rule.
  // `idle`: entries that are of no consequence, because no layer reads or makes such integers.
  Status verify(const Graph& graph, const Target& target, std::vector<std::string>* idle = nullptr) const;
  bool operator==(const Plan&) const = default;
};

// The constraint solver. Float graph after passes; stats of the same graph (error otherwise).
Result<Plan> make_plan(const Graph& graph, const Stats& stats, const Recipe& recipe, const Target& target, Diagnostics& diagnostics);
// The target that the plan names. Error when it is not among the known ones: the user has to give its file.
Result<Target> target_of(const Plan& plan);
// The way back in for a plan that may have been edited: its biases follow, and weights whose bias or accumulator would overflow
// are scaled wider, which is noted; it is verified; what is of no consequence in it is warned of.
Status accept_plan(Plan& plan, const Graph& graph, const Target& target, Diagnostics& diagnostics);
// Values whose ranges make_plan will ask for: where a quantizer may stand. Calibration observes only these.
std::vector<ValueId> quantizer_sites(const Graph& graph, const Recipe& recipe, const Target& target);

}  // namespace narrow
