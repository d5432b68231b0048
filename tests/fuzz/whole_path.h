// What fuzzers of networks share: noise for data, and what must hold of everything that was accepted.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace narrow::fuzz {

bool is_small(const Graph& graph);  // time, not safety
// One tensor for each input: random bits, or small numbers.
std::vector<Tensor> random_bits(const Graph& graph);
std::vector<Tensor> small_numbers(const Graph& graph, std::uint64_t seed);
// By the plain loops and by the fast ones: it runs, and a network of integers alone gives the same bytes by both.
void run_both_ways(const Graph& network, const std::vector<Tensor>& inputs);
// Of small numbers. Error: a layer makes NaN of them.
Result<Stats> stats_of_noise(const Graph& graph, const Recipe& recipe, const Target& target);
// A plan that was made or accepted becomes a network that runs, an artifact that can be read, and a QDQ model. False when
// that was refused with an error.
bool use_plan(const Graph& graph, const Plan& plan, const Target& target);
void check_error(const Error& error);  // one that a user can be told

}  // namespace narrow::fuzz
