#include "compile/path.h"

#include "base/file.h"
#include "base/text.h"
#include "graph/text.h"

namespace narrow {

Path::Path(const CompileOptions& options, Progress& progress) : options_(options), progress_(progress) { progress_.begin(std::string(kPhases[0])); }

Result<bool> Path::done(const std::string& detail, const std::string& ending, const std::function<std::string()>& dump) {
  const std::string name{kPhases[phase_]};
  if (!options_.dump_dir.empty() && dump) {
    NARROW_TRY(write_file(fmt::format("{}/{}-{}.{}", options_.dump_dir, phase_ + 1, name, ending), dump()));
  }
  progress_.end(detail);
  ++phase_;
  if (options_.stop_after == name || phase_ == kPhases.size()) return true;
  progress_.begin(std::string(kPhases[phase_]));
  return false;
}

std::string Path::describe(const Graph& graph) {
  std::int64_t weights = 0;
  for (const ValueId id : graph.live_values()) {
    if (graph.value(id).is_constant()) weights += graph.value(id).constant.elements();
  }
  return fmt::format("{} nodes, {:.1f} k constants", graph.order().size(), static_cast<double>(weights) / 1e3);
}

std::string Path::describe(const std::vector<PassReport>& passes) {
  std::vector<std::string> parts;
  for (const PassReport& pass : passes) {
    if (pass.rewrites > 0) parts.push_back(fmt::format("{} {}", pass.name, pass.rewrites));
  }
  return parts.empty() ? "nothing to simplify" : join(parts, ", ");
}

std::string Path::print(const Graph& graph) { return print_graph(graph, {.max_inline_elements = 32}); }

}  // namespace narrow
