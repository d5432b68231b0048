// For tests of lower/: a small network with every kind of edge, and a plan made from observed ranges alone, so that
// these tests do not depend on the planner.
#pragma once

#include "plan/plan.h"
#include "support.h"

namespace narrow::test {

Graph sample_network();  // input x f32[1,8,8,4], outputs p (behind a Softmax) and c

const QuantParams& activation_of(const Plan& plan, std::string_view value);
const QuantParams& constant_of(const Plan& plan, std::string_view node, int slot);

// 8-bit (or `dtype`) activations, per-channel weights. Tied slots share one range. `islands` stay float.
Plan plan_from_ranges(const Graph& graph, const std::vector<Tensor>& samples, DType dtype = DType::kI8, const std::vector<std::string>& islands = {});

std::vector<Tensor> sample_inputs(const Graph& graph, std::mt19937_64& rng, int count = 8);

}  // namespace narrow::test
