// Tries wishes out before they are recommended: plans and lowers the network again with them, runs it on a few samples and
// measures its outputs; those of a Softmax or Sigmoid before it, where the few numbers near 1 do not hide all others.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "measure/causes.h"
#include "recipe/recipe.h"
#include "target/target.h"

namespace narrow {

class Trials {
 public:
  // The arguments are borrowed. Runs the float network once per sample. `recipe`, `target`: what `network` was made with.
  static Result<Trials> begin(const Graph& graph, const Stats& stats, const Recipe& recipe, const Target& target, std::span<const Sample> samples);
  void describe(Advice& advice) const;  // fills samples and points
  // SQNR in dB, of the worst point, of a network made from the graph (or of the graph with other constants).
  Result<double> measure(const Graph& network) const;
  // The same of the float graph with nothing but its weights rounded as planned.
  Result<double> weights_only(const Plan& plan) const;
  // The same with these entries behind those of the recipe's `layers`. nullopt: the target or a rule refuses them.
  Result<std::optional<double>> with(std::span<const std::string> wishes) const;

 private:
  // By sample and point; a value that the network does not have is empty.
  Result<std::vector<std::vector<Tensor>>> run(const Graph& network) const;

  const Graph* graph_ = nullptr;
  const Stats* stats_ = nullptr;
  const Recipe* recipe_ = nullptr;
  const Target* target_ = nullptr;
  std::span<const Sample> samples_;
  std::vector<ValueId> points_;
  std::vector<std::vector<Tensor>> expected_;  // by sample and point
};

// How many samples trials take: more for small networks, whose few outputs say little, so that the effort stays the same.
std::int64_t trial_samples(const Graph& graph);

// Gives every finding its best wish and what the outputs have with it, the most helpful first; then all of them together. At most
// `most` different wishes are tried.
Status try_out(Advice& advice, const Trials& trials, const Graph& network, const Plan& plan, std::size_t most = 6);

}  // namespace narrow
