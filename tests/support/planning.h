// For tests of the planner: a graph as text, statistics of given ranges, and a plan that is checked for what all plans must hold.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "calibrate/observe.h"
#include "ops/parse_network.h"
#include "plan/plan.h"
#include "support.h"

namespace narrow::test {

// Statistics in which every named value was uniform between the two ends.
using Ranges = std::vector<std::tuple<std::string, float, float>>;

inline Stats stats_for(const Graph& graph, const Ranges& ranges) {
  Stats stats;
  stats.graph_hash = graph.hash();
  stats.samples = 4;
  for (const auto& [name, lo, hi] : ranges) {
    ValueStats& v = stats.values.emplace_back();
    v.value = name;
    std::vector<float> x(1001);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = lo + (hi - lo) * static_cast<float>(i) / 1000;
    x.back() = hi;
    for (int s = 0; s < 4; ++s) observe(Tensor::of<float>({1001, 1}, x), v);
  }
  return stats;
}

inline Recipe max_recipe() {
  Recipe recipe;
  recipe.calibrator = "max";
  recipe.file = "r.yaml";
  return recipe;
}

inline Target int8_target() {
  Target target;
  target.name = "generic-int8";
  return target;
}

struct Case {
  Graph graph;
  Stats stats;
  Recipe recipe = max_recipe();
  Target target = int8_target();
  std::vector<std::string> warnings = {};  // of the last plan(), as the user reads them
  Case(std::string_view text, const Ranges& ranges) : graph(must(parse_network(text))), stats(stats_for(graph, ranges)) {}
  Plan plan() {
    Diagnostics diagnostics;
    Plan p = must(make_plan(graph, stats, recipe, target, diagnostics));
    std::vector<std::string> idle;
    must(p.verify(graph, target, &idle));
    EXPECT_TRUE(idle.empty()) << idle.front();
    EXPECT_EQ(must(Plan::from_text(p.to_text(), "p")), p);
    Plan back = p;
    Diagnostics silent;
    must(accept_plan(back, graph, target, silent));
    EXPECT_TRUE(silent.all().empty()) << silent.all().front().message;
    EXPECT_EQ(back, p) << "what is derived is what the planner derives";
    warnings.clear();
    for (const Diagnostic& d : diagnostics.all()) {
      if (d.severity == Severity::kWarning) warnings.push_back(d.to_string());
    }
    return p;
  }
  Error error() {
    Diagnostics diagnostics;
    const auto p = make_plan(graph, stats, recipe, target, diagnostics);
    EXPECT_FALSE(p.has_value());
    return p ? Error{} : p.error();
  }
  std::vector<std::string> sites() const {
    std::vector<std::string> names;
    for (const ValueId v : quantizer_sites(graph, recipe, target)) names.push_back(graph.value(v).name);
    return names;
  }
};

template <typename Set>
LayerRecipe wish(std::string match, int line, const Set& set) {
  LayerRecipe layer;
  layer.match = std::move(match);
  layer.where = {"r.yaml", line, 1, 0, ""};
  set(layer);
  return layer;
}

}  // namespace narrow::test
