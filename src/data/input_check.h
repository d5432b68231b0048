// The data as the network sees them, in numbers, and a look at whether their normalisation is plausible. Wrong
// preprocessing is the commonest cause of bad accuracy, and nothing later can tell it from a bad quantization.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "data/dataset.h"

namespace narrow {

struct Moments {
  double min = 0, max = 0, mean = 0, deviation = 0;  // of the finite elements
};

struct InputStatistics {
  std::string name;
  std::int64_t samples = 0;
  std::int64_t elements = 0;      // finite ones, over all samples
  std::int64_t not_finite = 0;
  Moments all;
  std::optional<std::pair<double, double>> stored;  // least and greatest value before the recipe's mean and scale, where these can be undone
  std::optional<DType> stored_type;
  std::vector<Moments> channels;  // when the input has a channel axis of 2 to 16 channels
};

// Of the first `samples` samples that can be read. Error: none can (the first reason).
Result<std::vector<InputStatistics>> measure_inputs(const Dataset& data, const Graph& graph, const Recipe& recipe, std::int64_t samples = 4);
// How files become inputs, and what these look like: one line each.
std::vector<std::string> describe_inputs(const Dataset& data, const std::vector<InputStatistics>& statistics);
// A table, one row per input and per channel.
std::string to_string(const std::vector<InputStatistics>& statistics);

// Warns about data that the recipe's normalisation does not fit, as far as this can be told without false alarms:
// * pictures fed as codes up to 255 although the recipe says nothing about them ('scale: 1' says that this is meant);
// * data that reach a small part only of what the recipe is made for: they are normalised already, or its mean and std have wrong units;
// * codes fed through a mean and std made for [0, 1], and pictures that have been through them already;
// and about constant pictures, NaN and infinities.
void check_inputs(const std::vector<InputStatistics>& statistics, const Graph& graph, const Recipe& recipe, Diagnostics& diagnostics);

// An integer network's input grids say what it was calibrated for: warns about data that reach far beyond one or fill next to
// nothing of it, as data do that are not normalised, or are so twice. `network` has its inputs as integers with their grids.
void check_against_grids(const std::vector<InputStatistics>& statistics, const Graph& network, Diagnostics& diagnostics);

}  // namespace narrow
