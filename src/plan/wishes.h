// The recipe's wishes, resolved to nodes and graph inputs: for each property the last matching entry wins and its place
// in the recipe is kept, so that every decision can name the line that made it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "recipe/recipe.h"

namespace narrow {

template <typename T>
struct Wish {
  T value{};
  SourceSpan where;
  int entry = 0;  // index in the recipe's list: of two wishes that meet, the later wins
};

struct LayerWishes {
  std::optional<Wish<DType>> activations;
  std::optional<Wish<bool>> keep_float;
  std::optional<Wish<bool>> per_channel;
  std::optional<Wish<int>> weight_bits;
  std::optional<Wish<std::string>> calibrator;
  std::optional<Wish<std::pair<double, double>>> range;         // of output 0
  std::optional<Wish<std::pair<double, std::int64_t>>> scale;   // of output 0
};

// What an entry of the recipe names.
struct Matches {
  const LayerRecipe* layer = nullptr;
  std::vector<NodeId> nodes;
  std::vector<ValueId> inputs;
};

struct Wishes {
  std::vector<LayerWishes> nodes;   // by node index
  std::vector<LayerWishes> inputs;  // by value index; of graph inputs, matched by name
  std::vector<Matches> entries;     // in the recipe's order
  // Of the layer that makes `value`; nothing for constants.
  const LayerWishes& of(const Graph& graph, ValueId value) const;
};

// A pattern matches a node by its name, the name of an output, or the name of an original node it stands for (not the layout
// changes around that node).
Wishes resolve_wishes(const Graph& graph, const Recipe& recipe);
// Error: entries of the recipe that match nothing, with suggestions.
Status check_matched(const Graph& graph, const Wishes& wishes);

std::string place_of(const SourceSpan& where);  // "recipe FILE:LINE"

}  // namespace narrow
