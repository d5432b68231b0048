#include <algorithm>

#include "graph/graph.h"

namespace narrow {

Status Graph::verify() const {
  std::vector<std::string> found;
  std::vector<char> defined(values_.size(), 0);
  const auto label = [&](ValueId v) { return v && v.index < values_.size() ? value(v).name : std::string("?"); };
  for (std::uint32_t i = 0; i < values_.size(); ++i) {
    const Value& v = values_[i];
    if (!v.alive) continue;
    const auto it = value_names_.find(v.name);
    if (v.name.empty() || it == value_names_.end() || it->second != i) found.push_back(fmt::format("value {} has a bad or doubled name '{}'", i, v.name));
    if (v.is_constant() && (v.constant.shape() != v.shape || v.constant.dtype() != v.dtype)) found.push_back(fmt::format("constant '{}' differs in type from its tensor", v.name));
    if (v.is_constant() || !v.producer) defined[i] = 1;
    if (!v.producer && !v.is_constant() && !is_input({i})) found.push_back(fmt::format("value '{}' has no producer and is neither input nor constant", v.name));
  }
  std::vector<std::vector<NodeId>> readers(values_.size());
  for (const NodeId id : order_) {
    const Node& n = node(id);
    if (!n.alive) found.push_back(fmt::format("node '{}' is erased but in the order", n.name));
    for (const ValueId in : n.inputs) {
      if (!in) continue;
      if (in.index >= values_.size() || !value(in).alive) {
        found.push_back(fmt::format("node '{}' reads a value that does not exist", n.name));
        continue;
      }
      if (defined[in.index] == 0) found.push_back(fmt::format("node '{}' reads '{}' before it is produced", n.name, label(in)));
      readers[in.index].push_back(id);
    }
    for (const ValueId out : n.outputs) {
      if (value(out).producer != id) found.push_back(fmt::format("value '{}' does not name '{}' as its producer", label(out), n.name));
      defined[out.index] = 1;
    }
  }
  for (std::uint32_t i = 0; i < values_.size(); ++i) {
    if (!values_[i].alive) continue;
    std::vector<NodeId> users = values_[i].users;
    std::sort(users.begin(), users.end());
    std::sort(readers[i].begin(), readers[i].end());
    if (users != readers[i]) found.push_back(fmt::format("the user list of '{}' is wrong", values_[i].name));
  }
  for (const ValueId out : outputs_) {
    if (out.index >= values_.size() || !value(out).alive || defined[out.index] == 0) found.push_back(fmt::format("output '{}' is not produced", label(out)));
  }
  if (found.empty()) return {};
  return error("graph '{}' is inconsistent in {} places", name, found.size()).with_notes(found).with_exit_code(ExitCode::kInternal);
}

}  // namespace narrow
