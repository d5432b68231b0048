#include "model/onnx_order.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace narrow {

std::string node_label(const OnnxModel& model, std::size_t node) {
  const OnnxNode& n = model.nodes[node];
  return n.name.empty() ? fmt::format("{}_{}", n.op, node) : n.name;
}

namespace {

constexpr std::size_t kOutside = kAbsent;  // position of definitions that precede all nodes

struct Definition {
  std::size_t node = kOutside;
  std::size_t id = 0;
};

// Every definition of each name, in file order.
using Table = std::map<std::string, std::vector<Definition>>;

// The definition that node `reader` sees: the latest before it, or the first after it when the file is unsorted.
std::size_t look_up(const Table& table, const std::string& name, std::size_t reader) {
  const auto it = table.find(name);
  if (it == table.end()) return kAbsent;
  std::size_t found = it->second.front().id;
  for (const Definition& d : it->second) {
    if (d.node == kOutside || d.node < reader) found = d.id;
  }
  return found;
}

Error undefined(const std::string& reader, const std::string& name, const Table& table) {
  std::vector<std::string> names;
  for (const auto& [known, unused] : table) names.push_back(known);
  return error("{} reads '{}', which no node, input or initializer defines", reader, name).with_help(did_you_mean(name, names));
}

// Depth-first from the outputs; nodes in file order where they are free. `producer` gives the node of a definition.
class Sorter {
 public:
  Sorter(const OnnxModel& model, OnnxOrder& wiring, const std::vector<std::size_t>& producer) : model_(model), wiring_(wiring), producer_(producer), state_(model.nodes.size(), 0) {}

  Status run() {
    for (const std::size_t out : wiring_.outputs) mark(producer_[out]);
    for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
      if (state_[n] == kNeeded) NARROW_TRY(visit(n));
    }
    return {};
  }

 private:
  enum : char { kUnknown = 0, kNeeded, kOpen, kPlaced };

  void mark(std::size_t root) {
    std::vector<std::size_t> stack{root};
    while (!stack.empty()) {
      const std::size_t n = stack.back();
      stack.pop_back();
      if (n == kOutside || state_[n] != kUnknown) continue;
      state_[n] = kNeeded;
      for (const std::size_t in : wiring_.node_inputs[n]) {
        if (in != kAbsent) stack.push_back(producer_[in]);
      }
    }
  }

  Status visit(std::size_t root) {
    std::vector<std::pair<std::size_t, std::size_t>> stack{{root, 0}};
    while (!stack.empty()) {
      auto& [n, next] = stack.back();
      if (state_[n] == kPlaced) {
        stack.pop_back();
        continue;
      }
      state_[n] = kOpen;
      if (next == wiring_.node_inputs[n].size()) {
        state_[n] = kPlaced;
        wiring_.order.push_back(n);
        stack.pop_back();
        continue;
      }
      const std::size_t in = wiring_.node_inputs[n][next++];
      if (in == kAbsent || producer_[in] == kOutside) continue;
      const std::size_t p = producer_[in];
      if (state_[p] == kOpen) {
        std::string path;
        for (auto it = std::find_if(stack.begin(), stack.end(), [&](const auto& entry) { return entry.first == p; }); it != stack.end(); ++it) {
          path += fmt::format("'{}' <- ", node_label(model_, it->first));
        }
        return error("the graph has a cycle: {}'{}'", path, node_label(model_, p)).with_help("a network must compute its values one after the other; unroll the loop before export");
      }
      if (state_[p] == kNeeded) stack.emplace_back(p, 0);
    }
    return {};
  }

  const OnnxModel& model_;
  OnnxOrder& wiring_;
  const std::vector<std::size_t>& producer_;
  std::vector<char> state_;
};

}  // namespace

Result<OnnxOrder> order_nodes(const OnnxModel& model) {
  OnnxOrder out;
  Table table;
  std::vector<std::size_t> producer;
  const auto define = [&](const std::string& name, std::size_t node) {
    const std::size_t id = out.definitions++;
    producer.push_back(node);
    if (!name.empty()) table[name].push_back({node, id});
    return id;
  };
  for (const OnnxInitializer& initializer : model.initializers) out.initializers.push_back(define(initializer.name, kOutside));
  for (const OnnxValueInfo& input : model.inputs) out.inputs.push_back(table.contains(input.name) ? kAbsent : define(input.name, kOutside));
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    out.node_outputs.emplace_back();
    for (const std::string& name : model.nodes[n].outputs) out.node_outputs.back().push_back(define(name, n));
  }
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    out.node_inputs.emplace_back();
    for (const std::string& name : model.nodes[n].inputs) {
      const std::size_t id = name.empty() ? kAbsent : look_up(table, name, n);
      if (!name.empty() && id == kAbsent) return tl::unexpected<Error>(undefined(fmt::format("node '{}' ({})", node_label(model, n), model.nodes[n].op), name, table));
      out.node_inputs.back().push_back(id);
    }
  }
  for (const OnnxValueInfo& output : model.outputs) {
    out.outputs.push_back(look_up(table, output.name, model.nodes.size()));
    if (out.outputs.back() == kAbsent) return tl::unexpected<Error>(undefined("the list of outputs", output.name, table));
  }
  if (model.outputs.empty()) return error("the model has no outputs").with_help("the file is damaged or holds no network");
  NARROW_TRY(Sorter(model, out, producer).run());
  out.readers.assign(out.definitions, 0);
  for (const std::size_t n : out.order) {
    for (const std::size_t in : out.node_inputs[n]) {
      if (in != kAbsent) ++out.readers[in];
    }
  }
  for (const std::size_t id : out.outputs) ++out.readers[id];
  return out;
}

}  // namespace narrow
