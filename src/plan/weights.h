// Constants of integer nodes: weights (symmetric, per channel or per tensor) and biases (on the product of the scales of
// activation and weight), with the guard that no accumulator can overflow.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/plan.h"
#include "plan/wishes.h"

namespace narrow {

struct WeightOptions {
  int bits = 8;
  std::string bits_by;           // "target 'x'" or "recipe FILE"
  bool per_channel = true;
  std::string per_channel_by;
  bool may_per_channel = true;   // can the target?
  std::string target;
  int accumulator_bits = 32;     // under 8-bit activations; 16-bit ones have 48
  int bias_bits = 32;            // under 8-bit activations; 16-bit ones have 64
};

// Up to this many bits the clip of each channel is searched for the least squared error; above, the largest magnitude is kept.
constexpr int kSearchedWeightBits = 6;

// Symmetric grid for one tensor along `axis` (-1: per tensor); bits in [2, 8].
QuantParams weight_params(const Tensor& weight, int axis, int bits);

// A bias lies on the product of the scales of the activation and the weight.
ConstantPlan bias_plan(const Graph& graph, const Node& node, const QuantRule::Derived& rule, const QuantParams& activation, const QuantParams& weight);

// The bias that a weight of the rule shares its output channels with, when the node has one; nullptr otherwise.
const QuantRule::Derived* bias_rule(const Node& node, const QuantRule& rule, const QuantRule::Weight& weight);
// The input that the weight is multiplied with.
ValueId activation_of(const Node& node, const QuantRule& rule, const QuantRule::Weight& weight);
// Widens scales of the weight planned in `plan` until neither accumulator nor bias can overflow. `activation`: grid of activation_of().
// Returns what to tell of it, empty when all fits.
std::string fit_weight(const Graph& graph, const Node& node, const QuantRule& rule, const QuantRule::Weight& weight, const QuantParams& activation, const WeightOptions& options, ConstantPlan* plan);

// Entries for all weights and biases of `node`. `activations`: planned params by value index (nullptr: none). Widened scales
// are noted. Errors: NaN or infinite weights; a wish the target cannot fulfil.
Result<std::vector<ConstantPlan>> plan_constants(const Graph& graph, NodeId node, const QuantRule& rule, const LayerWishes& wishes, const WeightOptions& options,
                                                 const std::vector<const QuantParams*>& activations, std::vector<std::string>* notes);

}  // namespace narrow
