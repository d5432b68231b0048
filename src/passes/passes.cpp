#include "passes/passes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>

#include "base/text.h"

namespace narrow {
namespace {

constexpr int kMaxRounds = 50;  // far more than any network needs; a pair of passes that undo each other is our bug

constexpr std::array kPasses = {
    Pass{"fold-constants", fold_constants},
    // Before anything is moved between the parts of a decomposed function.
    Pass{"recognize-composites", recognize_composites, true},
    // Before everything that wants neighbours: importing channels-first models leaves a pair around every convolution.
    Pass{"sink-transposes", sink_transposes, true},
    Pass{"lift-transposes", lift_transposes},
    // After the transposes between a Pad and its convolution are gone.
    Pass{"absorb-producers", absorb_producers, true},
    // Before activations are fused: y = act(W x + b) has no place for a scale behind act.
    Pass{"fold-affine", fold_affine, true},
    Pass{"standalone-affine", standalone_affine},
    Pass{"fuse-activation", fuse_activation},
    Pass{"dead-code", dead_code},
};

Status check_names(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const Pass& pass : kPasses) known.emplace_back(pass.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = did_you_mean(name, known);
    return error("there is no pass '{}'", name).with_help(near.empty() ? "the passes are: " + join(known, ", ") : near);
  }
  return {};
}

std::set<std::string> constant_names(const Graph& graph) {
  std::set<std::string> names;
  for (const ValueId id : graph.live_values()) {
    if (graph.value(id).is_constant()) names.insert(graph.value(id).name);
  }
  return names;
}

// A constant that was rewritten while its original was still in use is NAME_1, or NAME_1_1: it gets its name back when that is free.
void restore_constant_names(Graph& graph, const std::set<std::string>& original) {
  for (const std::string& name : constant_names(graph)) {
    if (original.contains(name)) continue;
    std::string base = name;
    while (!original.contains(base)) {
      const std::size_t digits = base.find_last_not_of("0123456789");
      if (digits == std::string::npos || digits + 1 == base.size() || base[digits] != '_') break;
      base.resize(digits);
    }
    if (original.contains(base) && !graph.find_value(base)) graph.rename(graph.find_value(name), base);
  }
}

bool contains(const std::vector<std::string>& names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

Result<std::vector<PassReport>> run_passes(Graph& graph, const PassOptions& options) {
  NARROW_TRY(check_names(options.only));
  NARROW_TRY(check_names(options.disabled));
  std::vector<const Pass*> list;
  std::vector<PassReport> reports;
  for (const Pass& pass : kPasses) {
    if ((!options.only.empty() && !contains(options.only, pass.name)) || contains(options.disabled, pass.name)) continue;
    list.push_back(&pass);
    reports.push_back({.name = std::string(pass.name)});
  }
  const std::set<std::string> original = constant_names(graph);
  for (int round = 0;; ++round) {
    NARROW_CHECK(round < kMaxRounds, "passes do not come to rest");
    std::size_t changed = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto begin = std::chrono::steady_clock::now();
      std::size_t rewrites = 0;
      while (const std::size_t n = list[i]->run(graph)) {
        rewrites += n;
        if (!list[i]->to_fixed_point) break;
      }
      reports[i].rewrites += rewrites;
      changed += rewrites;
      if (rewrites > 0) {
        if (auto status = graph.verify(); !status) return tl::unexpected<Error>(std::move(status.error()).in(fmt::format("after the pass '{}'", list[i]->name)));
        if (options.observer) options.observer(list[i]->name, graph);
      }
      reports[i].seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
    if (changed == 0) break;
  }
  restore_constant_names(graph, original);
  return reports;
}

}  // namespace narrow
