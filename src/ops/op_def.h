// An operator is one file in ops/; this is what such a file provides. Float operators and the integer operators they
// lower to (names q...) stand in one explicit table (ops.inc). Whoever needs to know something about an operator asks
// its OpDef: there is no switch over operators and no operator name outside ops/ and model/.
//
// Internal form (what normalize() establishes and everything after import relies on):
//   * shapes are static; feature maps are channels-last: Conv, ConvTranspose, MaxPool, AveragePool, Resize read and write [N,H,W,C]
//   * Conv weights are [O, kh, kw, I/groups]; ConvTranspose weights [O, kh, kw, I/groups] as well; Gemm is y = x·Wᵀ + b with
//     x [..., K], W [N, K] constant, b [N] optional; MatMul has two computed (or higher-rank) operands
//   * parameters that ONNX passes as constant inputs (shape, axes, pads, starts, scales, min, max…) are attributes
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "ops/quant_rule.h"

namespace narrow {

class LowerContext;  // ops/lower_context.h

// --- import and export ---------------------------------------------------------------------------------------------

// A node being brought from ONNX form to the internal form (normalize) or back (denormalize).
class RewriteContext {
 public:
  RewriteContext(Graph& graph, NodeId node, int opset) : graph(graph), node_id(node), opset(opset) { results = graph.node(node).outputs; }

  Graph& graph;
  const NodeId node_id;
  const int opset;                // of the ONNX model read (normalize) or written (denormalize)
  std::vector<ValueId> results;   // values that stand for the node's outputs afterwards; starts as its own outputs

  const Node& node() const { return graph.node(node_id); }
  Attrs& attrs() { return graph.attrs(node_id); }
  bool has_input(std::size_t slot) const { return slot < node().inputs.size() && static_cast<bool>(node().inputs[slot]); }
  const Value& input(std::size_t slot) const { return graph.value(node().inputs[slot]); }
  // The tensor of a constant input; nullptr when the input is absent; error when it is computed.
  Result<const Tensor*> constant_input(std::size_t slot, std::string_view what) const;
  // Integers from attribute `key` (old opsets) or from constant input `slot` (new ones); nullopt when neither is there.
  Result<std::optional<std::vector<std::int64_t>>> ints(std::string_view key, std::size_t slot) const;
  // New node before this one (its types are inferred); returns its first output.
  Result<ValueId> insert_before(NodeSpec spec);
  // New node after this one, reading what `spec.inputs` says; this node's own types must be known (call infer()).
  Result<ValueId> insert_after(NodeSpec spec);
  Status infer();  // sets this node's output types
  // The usual wrapping of a channels-last operator: input `slot` is transposed NCHW -> NHWC before, results[0] back after.
  Status input_to_channels_last(std::size_t slot);
  Status result_to_channels_first(std::size_t index = 0);
  // The same for denormalize: input NHWC -> NCHW before; result NCHW -> NHWC after.
  Status input_to_channels_first(std::size_t slot);
  Status result_to_channels_last(std::size_t index = 0);
};

// --- running -------------------------------------------------------------------------------------------------------

struct RunContext {
  const Node& node;
  std::span<const Tensor> inputs;  // constants included; an absent optional input has no data
  std::span<Tensor> outputs;       // allocated with the inferred type
  bool has_input(std::size_t slot) const { return slot < inputs.size() && inputs[slot].has_data(); }
};

// What is prepared once (packed weights, a oneDNN primitive) and run many times. run() is not re-entrant.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;
  virtual void run(RunContext& ctx) = 0;
};

// --- descriptors that generic passes and the planner read ------------------------------------------------------------

// y = W·x + b: which input is the weight, which the bias, and the weight's channel axes.
struct LinearForm {
  int weight = 1;
  int bias = 2;
  int out_axis = 0;  // of the weight
  int in_axis = 1;   // of the weight (per group)
  // Some outputs do not see every tap of the weight (padding, a transposed convolution). nullptr: all do.
  bool (*partial)(const Node& node) = nullptr;
};

// y = x * scale + shift along `axis` of the data input (scale/shift have one element when uniform).
struct Affine {
  int data_input = 0;
  int axis = -1;
  std::vector<float> scale = {};
  std::vector<float> shift = {};
};

// An elementwise function y = f(x) with attributes; can be fused into its producer as attributes "activation" (the
// operator's name) and "activation.KEY" (its attributes).
struct ActivationDef {
  float (*apply)(float x, const Attrs& attrs) = nullptr;
  // For functions that only clamp (Relu, Clip): the interval, possibly infinite. nullptr: not a clamp.
  std::pair<double, double> (*clamp)(const Attrs& attrs) = nullptr;
  // The same function in place over an array, faster (vectorised, attributes read once); may differ in the last bits.
  void (*apply_array)(float* values, std::int64_t count, const Attrs& attrs) = nullptr;
  // For functions whose output interval is known and not calibrated (Sigmoid, Tanh): see QuantRule::Fixed.
  std::optional<std::pair<double, double>> fixed_range = std::nullopt;
};

// ONNX operator sets that are read. Before 7 the attributes `broadcast` and `axis` said how operands match.
inline constexpr int kOldestOpset = 7, kNewestOpset = 21;

struct OpDef {
  std::string_view name;
  std::string_view summary;            // one line for `narrow ops`
  std::size_t min_inputs = 1;          // inputs that must be there, in ONNX form and in ours; integer operators check theirs in infer
  std::size_t real_inputs = 0;         // of the first so many, those that are there must be f32; import sees to it
  int since_opset = kOldestOpset;      // first ONNX operator set that has it, as far as we read them
  bool onnx = true;                    // false: internal or integer operator, cannot be imported
  bool view = false;                   // output 0 has the bytes of input 0 (Reshape)
  bool channels_last = false;          // works on [N, ..., C] maps only: normalize and denormalize wrap the node in Transposes
  bool counts_outputs = false;         // how many outputs the ONNX node has means something (Split): import leaves none out
  bool folds_shape = false;            // result depends on the input's static shape only (Shape): constant at import

  Status (*normalize)(RewriteContext& ctx) = nullptr;
  Status (*denormalize)(RewriteContext& ctx) = nullptr;  // to ONNX opset 13 form (ctx.opset may be 21 for int16)
  int (*export_opset)(const Node& node) = nullptr;       // operator set that the ONNX form of this node needs, where that is above 13
  // Types of the outputs; errors name what is ill-formed (wrong rank, mismatched extents), without the node's name.
  Result<std::vector<TensorType>> (*infer)(const Graph& graph, const Node& node) = nullptr;

  void (*run)(RunContext& ctx) = nullptr;  // plain loops; for integer operators the normative definition
  std::unique_ptr<Kernel> (*prepare)(const Graph& graph, const Node& node) = nullptr;  // fast form; may return nullptr

  // May the node work on inputs whose axes are permuted? Its data inputs are Transpose(x, perm) (out axis i = in axis perm[i]); on true
  // the hook has rewritten attributes and constant operands so that the node, fed with x, gives y with old output =
  // Transpose(y, perm). On false nothing has changed.
  bool (*permute)(Graph& graph, NodeId node, const std::vector<int>& perm) = nullptr;
  // The same for operators whose outputs have other axes than their input (Reshape, reductions that drop axes): returns the
  // permutation of the outputs; nullopt: it cannot, and nothing has changed.
  std::optional<std::vector<int>> (*permute_axes)(Graph& graph, NodeId node, const std::vector<int>& perm) = nullptr;
  // Tries to swallow the producer of input 0 (Pad into Conv, Reshape into Reshape). True: the graph has changed.
  bool (*absorb_producer)(Graph& graph, NodeId node) = nullptr;
  // Tries to see `node` as the end of a decomposed composite (x·Sigmoid(x) -> SiLU) and rewrites it.
  bool (*recognize)(Graph& graph, NodeId node) = nullptr;
  std::optional<Affine> (*affine)(const Graph& graph, const Node& node) = nullptr;

  // Brings what has no influence on the outputs near to what has (in a Softmax: elements far below the largest of their row, masked ones
  // above all), in place, for input 0 (f32). Ranges are chosen and errors are measured on the result. nullptr: every element counts.
  void (*as_read)(const Node& node, Tensor& x) = nullptr;

  const LinearForm* linear = nullptr;
  const ActivationDef* activation = nullptr;
  bool fuses_activation = false;       // honours the attribute "activation" in run, prepare and lower
  bool fuses_only_clamps = false;      // of those, only clamps

  QuantRule (*quant_rule)(const Graph& graph, const Node& node) = nullptr;  // nullptr: stays float ("no integer form")
  Status (*lower)(LowerContext& ctx) = nullptr;
};

// nullptr when there is no such operator.
const OpDef* find_op(std::string_view name);
// For a node in the graph (its operator exists: import and lowering saw to it).
const OpDef& op_of(const Node& node);
std::span<const OpDef* const> all_ops();
// Can a node of a float network be of this operator before import, and after it? Integer operators can neither; import rewrites
// some to others (Flatten, Split), and an affine one is folded into its neighbours; SiLU comes from import only.
inline bool is_float_op(const OpDef& op) { return op.onnx || op.quant_rule != nullptr; }
inline bool is_rewritten(const OpDef& op) { return op.quant_rule == nullptr && (op.run == nullptr || op.affine != nullptr); }

// Are the first `count` inputs there? The error says how many are missing.
Status expect_inputs(const Node& node, std::size_t count);
// Infers and sets the types of the node's outputs. Errors carry the node's name.
Status infer_node(Graph& graph, NodeId node);
// The same without the name: where the caller says it, as import does with the name in the file.
Status infer_types(Graph& graph, NodeId node);
// Elements by which a computed constant may exceed what it is made from (ConstantOfShape, a folded Expand): a small file must
// not ask for any amount of memory.
inline constexpr std::int64_t kMostGenerated = std::int64_t{1} << 26;
// append + infer_node; returns the first output.
Result<ValueId> append_inferred(Graph& graph, NodeSpec spec);

// The node that alone reads `value` and has as_read; nullptr when there is none, or the value is a graph output.
const Node* selective_reader(const Graph& graph, ValueId value);

// The activation fused into `node`, if any: its definition and its own attributes (without the prefix).
struct FusedActivation {
  const OpDef* op = nullptr;  // nullptr: none
  Attrs attrs;
  bool is_clamp() const;
  std::pair<double, double> clamp() const;  // (-inf, inf) without activation
  float apply(float x) const { return op == nullptr ? x : op->activation->apply(x, attrs); }
};
FusedActivation fused_activation(const Node& node);
void set_fused_activation(Graph& graph, NodeId node, const Node& activation);
void clear_fused_activation(Graph& graph, NodeId node);
// Applies a fused activation in place to a f32 tensor (for operators without a faster way).
void apply_fused_activation(const Node& node, Tensor& values);

// permute() of elementwise operators: constants of any broadcastable shape are reshaped to full rank and transposed.
bool permute_elementwise(Graph& graph, NodeId node, const std::vector<int>& perm);
Tensor transposed(const Tensor& tensor, const std::vector<int>& perm);  // any dtype

}  // namespace narrow
