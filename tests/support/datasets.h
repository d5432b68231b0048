// For tests of data sets: opening one for a network that has nothing but inputs, and reading what it feeds.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "support.h"

namespace narrow::test {

inline Graph graph_of(const std::vector<std::pair<std::string, Shape>>& inputs, DType dtype = DType::kF32) {
  Graph graph;
  graph.name = "net";
  for (const auto& [name, shape] : inputs) graph.add_input(name, dtype, shape);
  return graph;
}

inline Recipe recipe_of(const std::string& yaml) { return must(parse_recipe(yaml, "r.yaml")); }

inline Result<std::unique_ptr<Dataset>> open(const std::string& path, const Graph& graph, const std::string& yaml = "") {
  return open_dataset({.paths = {path}}, graph, recipe_of(yaml));
}

inline std::string message(const Result<std::unique_ptr<Dataset>>& data) { return data ? "no error" : data.error().message; }

inline std::vector<float> values(const Sample& sample, std::size_t input = 0) {
  const auto span = sample.inputs[input].span<float>();
  return {span.begin(), span.end()};
}

}  // namespace narrow::test
