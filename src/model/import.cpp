#include "model/import.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/text.h"
#include "model/input_shapes.h"
#include "model/onnx_attributes.h"
#include "model/onnx_order.h"
#include "model/refusals.h"
#include "ops/op_def.h"
#include "passes/fold_constants.h"

namespace narrow {
namespace {

constexpr std::int64_t kNewestIr = 10;

// A node that cannot be imported.
// Where minus infinity is a mask, and what brings it there; anywhere else it is damage.
bool may_mask(std::string_view op) {
  static constexpr std::string_view kOperators[] = {"Add", "Where", "Cast", "Concat", "Expand", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"};
  return std::find(std::begin(kOperators), std::end(kOperators), op) != std::end(kOperators);
}

// Gives `value` exactly this name; who has it now gets a suffix.
void claim_name(Graph& graph, ValueId value, const std::string& name) {
  const ValueId holder = graph.find_value(name);
  if (holder == value) return;
  if (holder) graph.rename(holder, name + ".inner");
  graph.rename(value, name);
}

class Importer {
 public:
  Importer(const OnnxModel& model, const ImportOptions& options, Diagnostics& diagnostics) : model_(model), options_(options), diagnostics_(diagnostics) {}

  Result<Graph> run() {
    NARROW_TRY(check_versions());
    wiring_ = NARROW_TRY(order_nodes(model_));
    NARROW_TRY(check_operators());
    value_of_.resize(wiring_.definitions);
    NARROW_TRY(add_inputs());
    NARROW_TRY(add_initializers());
    for (const std::size_t n : wiring_.order) add_node(n);
    NARROW_TRY(report_refusals(refusals_, model_.nodes.size()));
    NARROW_TRY(add_outputs());
    graph_.remove_dead();
    restore_initializer_names();
    NARROW_TRY(check_finite());
    NARROW_TRY(graph_.verify());
    return std::move(graph_);
  }

 private:
  Status check_versions() {
    if (model_.ir_version > kNewestIr) {
      return error("the model has IR version {}, wanted at most {}", model_.ir_version, kNewestIr).with_help("export it with an older version of the ONNX package");
    }
    for (const auto& [domain, version] : model_.opsets) {
      if (domain.empty()) opset_ = version;
    }
    if (opset_ < kOldestOpset || opset_ > kNewestOpset) {
      return error("the model uses operator set {}, wanted {} to {}", opset_, kOldestOpset, kNewestOpset)
          .with_help(fmt::format("export it with opset_version={}, or convert it with onnx.version_converter", opset_ < kOldestOpset ? 13 : kNewestOpset));
    }
    return {};
  }

  void refuse(std::size_t n, std::string reason, std::string help = {}) {
    refusals_.push_back({fmt::format("node '{}' ({}): {}", node_label(model_, n), model_.nodes[n].op, reason), std::move(help), model_.nodes[n].op});
  }

  // Everything that can be said without shapes, so that all of it is said at once.
  Status check_operators() {
    for (const std::size_t n : wiring_.order) {
      const OnnxNode& node = model_.nodes[n];
      const OpDef* op = find_op(node.op);
      if (!node.domain.empty()) {
        refuse(n, fmt::format("the operator belongs to the custom domain '{}'", node.domain), "export the model with ONNX's own operators only");
      } else if (node.op == "Constant") {
        continue;
      } else if (op == nullptr || !op->onnx) {
        refuse(n, "the operator is not supported", "`narrow ops` lists the supported operators");
      } else if (opset_ < op->since_opset) {
        refuse(n, fmt::format("not supported in operator set {}, only in {} to {}", opset_, op->since_opset, kNewestOpset), "export the model with another opset_version");
      } else {
        for (const OnnxAttribute& attribute : node.attributes) {
          if (auto reason = wrong_attribute(attribute)) refuse(n, std::move(*reason));
        }
      }
    }
    return report_refusals(refusals_, model_.nodes.size());
  }

  Status add_inputs() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < model_.inputs.size(); ++i) {
      if (wiring_.inputs[i] != kAbsent) names.push_back(model_.inputs[i].name);
    }
    for (const auto& [name, shape] : options_.input_shapes) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      const std::string near = did_you_mean(name, names);
      return error("the model has no input '{}' to give the shape {}", name, to_string(shape)).with_help(near.empty() ? "its inputs are: " + join(names, ", ") : near);
    }
    const InputShapes shapes(model_.inputs, options_.input_shapes, options_.known_shapes, options_.batch, diagnostics_);
    for (std::size_t i = 0; i < model_.inputs.size(); ++i) {
      if (wiring_.inputs[i] == kAbsent) continue;
      const OnnxValueInfo& input = model_.inputs[i];
      if (!input.dtype || *input.dtype == DType::kF64) {
        return error("input '{}' has element type {}, which is not supported", input.name, input.type_name).with_help("supported: float, half precision, integers, bool");
      }
      const Shape shape = NARROW_TRY(shapes.of(input));
      value_of_[wiring_.inputs[i]] = graph_.add_input(input.name, *input.dtype, shape);
    }
    return {};
  }

  Status add_initializers() {
    for (std::size_t i = 0; i < model_.initializers.size(); ++i) {
      const std::size_t definition = wiring_.initializers[i];
      if (wiring_.readers[definition] > 0) value_of_[definition] = graph_.add_constant(model_.initializers[i].name, model_.initializers[i].tensor);
    }
    return check_finite();
  }

  // All readers of a constant, as ONNX has them before its nodes are added and as the graph has them afterwards.
  bool is_mask(const Value& v) const {
    for (const NodeId user : v.users) {
      if (!may_mask(graph_.node(user).op)) return false;
    }
    for (const OnnxNode& node : model_.nodes) {
      if (std::find(node.inputs.begin(), node.inputs.end(), v.name) != node.inputs.end() && !may_mask(node.op)) return false;
    }
    return true;
  }

  // NaN anywhere, or an infinity in more than a single number (a bound of Clip may be infinite; a mask may hold -inf).
  Status check_finite() {
    std::vector<std::string> found;
    for (const ValueId id : graph_.live_values()) {
      const Value& v = graph_.value(id);
      if (!v.is_constant() || v.dtype != DType::kF32) continue;
      const auto values = v.constant.span<float>();
      const auto damaged = [&](float x) { return std::isnan(x) || (values.size() > 1 && std::isinf(x)); };
      auto bad = std::find_if(values.begin(), values.end(), damaged);
      if (bad != values.end() && is_mask(v)) bad = std::find_if(bad, values.end(), [](float x) { return std::isnan(x) || x > std::numeric_limits<float>::max(); });
      if (bad != values.end()) found.push_back(fmt::format("initializer '{}' {} holds {} at element {}", v.name, to_string(v.shape), exact(*bad), bad - values.begin()));
    }
    if (found.empty()) return {};
    const std::string help = "such a network has no meaningful output; the training diverged or the file is damaged";
    if (found.size() == 1) return error("{}", found[0]).with_help(help);
    return error("{} initializers hold NaN or Inf", found.size()).with_notes(found).with_help(help);
  }

  // Attributes that are tensors (ConstantOfShape has one) become constant inputs behind the others; lists of strings become one of words.
  void add_attribute(NodeSpec& spec, const OnnxAttribute& attribute) {
    std::visit(
        [&](const auto& x) {
          using T = std::decay_t<decltype(x)>;
          if constexpr (std::is_same_v<T, Tensor>) spec.inputs.push_back(graph_.add_constant(spec.name + "." + attribute.name, x));
          else if constexpr (std::is_same_v<T, std::vector<std::string>>) spec.attrs.set(attribute.name, Attr(join(x, " ")));
          else if constexpr (!std::is_same_v<T, OnnxOther>) spec.attrs.set(attribute.name, Attr(x));
        },
        attribute.value);
  }

  std::optional<Tensor> constant_of(const OnnxNode& node) {
    for (const OnnxAttribute& a : node.attributes) {
      if (const auto* tensor = std::get_if<Tensor>(&a.value)) return *tensor;
      if (const auto* i = std::get_if<std::int64_t>(&a.value)) return Tensor::scalar(*i);
      if (const auto* f = std::get_if<double>(&a.value)) return Tensor::scalar(static_cast<float>(*f));
      if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&a.value)) return Tensor::of({static_cast<std::int64_t>(ints->size())}, *ints);
      if (const auto* floats = std::get_if<std::vector<double>>(&a.value)) {
        return Tensor::of({static_cast<std::int64_t>(floats->size())}, std::vector<float>(floats->begin(), floats->end()));
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> wrong_inputs(const OpDef& op, const std::vector<ValueId>& inputs) const {
    for (std::size_t i = 0; i < op.min_inputs; ++i) {
      if (i >= inputs.size() || !inputs[i]) return fmt::format("input {} is missing, at least {} are wanted", i, op.min_inputs);
    }
    for (std::size_t i = 0; i < std::min(op.real_inputs, inputs.size()); ++i) {
      if (!inputs[i] || graph_.value(inputs[i]).dtype == DType::kF32) continue;
      return fmt::format("input {} ('{}') is {}, wanted f32", i, graph_.value(inputs[i]).name, name_of(graph_.value(inputs[i]).dtype));
    }
    return std::nullopt;
  }

  // Adds the node in ONNX form, brings it to the internal form and folds what is known. After a refusal its outputs stay
  // unknown, and nodes that read them are passed over: only causes are reported.
  void add_node(std::size_t n) {
    const OnnxNode& node = model_.nodes[n];
    const std::vector<std::size_t>& defined = wiring_.node_outputs[n];
    if (node.op == "Constant") {
      for (std::size_t i = 1; i < defined.size(); ++i) {
        if (wiring_.readers[defined[i]] > 0) return refuse(n, fmt::format("output {} is used, a constant has one", i));
      }
      auto tensor = constant_of(node);
      if (!tensor) return refuse(n, "the constant has no numeric value");
      value_of_[defined[0]] = graph_.add_constant(node.outputs[0], std::move(*tensor));
      return;
    }
    NodeSpec spec{.name = node_label(model_, n), .op = node.op, .inputs = {}, .origin = {node_label(model_, n)}};
    for (const std::size_t in : wiring_.node_inputs[n]) {
      spec.inputs.push_back(in == kAbsent ? ValueId{} : value_of_[in]);
      if (in != kAbsent && !spec.inputs.back()) return;
    }
    while (!spec.inputs.empty() && !spec.inputs.back()) spec.inputs.pop_back();
    const OpDef& op = *find_op(node.op);
    if (auto reason = wrong_inputs(op, spec.inputs)) return refuse(n, std::move(*reason));
    std::size_t outputs = defined.size();
    while (!op.counts_outputs && outputs > 1 && wiring_.readers[defined[outputs - 1]] == 0) --outputs;
    for (std::size_t i = 0; i < outputs; ++i) spec.output_names.push_back(node.outputs[i].empty() ? fmt::format("{}.{}", spec.name, i) : node.outputs[i]);
    for (const OnnxAttribute& attribute : node.attributes) {
      if (is_known_attribute(attribute.name)) add_attribute(spec, attribute);
      else diagnostics_.note(fmt::format("attribute '{}' of node '{}' ({}) is not ONNX's and has no effect", attribute.name, spec.name, spec.op));
    }

    const std::size_t first_new = graph_.node_slots();
    const NodeId id = graph_.append(std::move(spec));
    auto results = normalize(id);
    if (!results) return refuse(n, results.error().message, results.error().help);
    for (std::size_t i = results->size(); i < outputs; ++i) {
      if (wiring_.readers[defined[i]] > 0) return refuse(n, fmt::format("output {} ('{}') is used, only {} outputs are supported", i, node.outputs[i], results->size()));
    }
    fold_new(first_new, *results);
    for (std::size_t i = 0; i < std::min(outputs, results->size()); ++i) value_of_[defined[i]] = (*results)[i];
  }

  Result<std::vector<ValueId>> normalize(NodeId id) {
    RewriteContext context(graph_, id, static_cast<int>(opset_));
    const OpDef& op = op_of(context.node());
    if (op.normalize != nullptr) NARROW_TRY(op.normalize(context));
    if (!graph_.node(id).alive) return context.results;
    const auto& outputs = graph_.node(id).outputs;
    const bool used = std::any_of(outputs.begin(), outputs.end(), [&](ValueId out) {
      return !graph_.value(out).users.empty() || std::find(context.results.begin(), context.results.end(), out) != context.results.end();
    });
    if (!used) {
      graph_.erase(id);
      return context.results;
    }
    const OpDef& now = op_of(graph_.node(id));  // normalize may have made another operator of it
    if (now.infer == nullptr) return error("{} outputs are wanted, which is more than are supported", outputs.size());
    NARROW_TRY(infer_types(graph_, id));
    return context.results;
  }

  void fold_new(std::size_t first, std::vector<ValueId>& results) {
    bool changed = true;
    while (changed) {
      changed = false;
      for (std::size_t i = first; i < graph_.node_slots(); ++i) {
        const NodeId id{static_cast<std::uint32_t>(i)};
        if (!graph_.node(id).alive) continue;
        const std::vector<ValueId> outputs = graph_.node(id).outputs;
        const std::vector<ValueId> constants = fold_node(graph_, id);
        if (constants.empty()) continue;
        changed = true;
        for (std::size_t k = 0; k < outputs.size(); ++k) std::replace(results.begin(), results.end(), outputs[k], constants[k]);
      }
    }
  }

  Status add_outputs() {
    for (std::size_t i = 0; i < model_.outputs.size(); ++i) {
      ValueId value = value_of_[wiring_.outputs[i]];
      const std::string& name = model_.outputs[i].name;
      // A value can have one name only: an input or another output that is handed on gets a copy.
      if (graph_.is_input(value) || graph_.is_output(value)) {
        value = NARROW_TRY(append_inferred(graph_, {.name = name, .op = "Identity", .inputs = {value}, .origin = {name}}));
      }
      graph_.add_output(value);
      const ValueId holder = graph_.find_value(name);
      if (holder && holder != value && graph_.is_input(holder)) {
        graph_.rename(value, name + ".copy");
        diagnostics_.note(fmt::format("output '{}' is the input of that name; it is called '{}'", name, graph_.value(value).name));
      } else {
        claim_name(graph_, value, name);
      }
    }
    return {};
  }

  // A weight brought to another layout is a new constant NAME_1; once the original is gone it takes its name.
  void restore_initializer_names() {
    for (const OnnxInitializer& initializer : model_.initializers) {
      if (graph_.find_value(initializer.name)) continue;
      const ValueId moved = graph_.find_value(initializer.name + "_1");
      if (moved && graph_.value(moved).is_constant()) graph_.rename(moved, initializer.name);
    }
  }

  const OnnxModel& model_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  std::int64_t opset_ = 1;
  OnnxOrder wiring_;
  std::vector<ValueId> value_of_;  // per definition; none yet, or not importable
  std::vector<Refusal> refusals_;
  Graph graph_;
};

}  // namespace

void tell_quantized(const Graph& graph, Diagnostics& diagnostics) {
  const auto order = graph.order();
  const auto count = std::count_if(order.begin(), order.end(), [&](NodeId id) { return graph.node(id).op == "QuantizeLinear"; });
  if (count == 0) return;
  diagnostics.warn(fmt::format("the model is quantized already: its {} QuantizeLinear node{} and what undoes them stay float layers, and every value is rounded twice", count, count == 1 ? "" : "s"),
                   "give the float network that it was made from");
}

Result<Graph> import_onnx_model(const OnnxModel& model, const std::string& name, const ImportOptions& options, Diagnostics& diagnostics) {
  auto graph = Importer(model, options, diagnostics).run();
  if (!graph) return tl::unexpected<Error>(std::move(graph.error()).in(fmt::format("model '{}'", name)));
  graph->name = model.graph_name.empty() ? std::filesystem::path(name).stem().string() : model.graph_name;
  return graph;
}

Result<Graph> import_onnx(const std::string& path, const ImportOptions& options, Diagnostics& diagnostics) {
  const OnnxModel model = NARROW_TRY(read_onnx(path));
  return import_onnx_model(model, path, options, diagnostics);
}

}  // namespace narrow
