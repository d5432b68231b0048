// LSTM, which is unrolled on import: every step becomes Gemm, Sigmoid, Tanh, Mul and Add nodes, so that the passes, the planner
// and the integer loops of those operators serve it, and every step has ranges of its own (ONNX operator LSTM, versions 7 and 14).
//
// Per step, with z = [x(t), h(t-1)] and the weights [W, R] side by side (one Gemm and its activation for each gate):
//   i = f(z·[Wi, Ri]ᵀ + bi)   f = f(z·[Wf, Rf]ᵀ + bf)   g = g(z·[Wg, Rg]ᵀ + bg)   c(t) = f ⊙ c(t-1) + i ⊙ g
//   o = f(z·[Wo, Ro]ᵀ + bo)   h(t) = o ⊙ h(c(t))
// peepholes add P ⊙ c to the gates, `clip` bounds what the gate functions see. What an absent initial state would multiply is
// left out of the first step.
#include <array>

#include "base/text.h"
#include "ops/op_def.h"

namespace narrow {
namespace {

constexpr std::int64_t kMostSteps = 512;  // about ten nodes each
constexpr std::int64_t kMostHidden = 1 << 20;
constexpr std::size_t kGates = 4;         // in ONNX's order: input, output, forget, cell
enum Gate : std::size_t { kInput, kOutput, kForget, kCell };
enum Slot : std::size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kP };

// The constant in a slot, without data when it is absent. A copy of the handle: the graph's values move when it grows.
Result<Tensor> parameter(const RewriteContext& ctx, Slot slot, std::string_view what) {
  const Tensor* tensor = NARROW_TRY(ctx.constant_input(slot, what));
  return tensor == nullptr ? Tensor() : *tensor;
}

Status expect_shape(const Tensor& tensor, const Shape& wanted, std::string_view what) {
  if (!tensor.has_data() || tensor.shape() == wanted) return {};
  return error("{} have shape {}, wanted {}", what, to_string(tensor.shape()), to_string(wanted));
}

// One direction of one node.
class Unrolled {
 public:
  struct Problem {
    std::string name;                        // prefix of the new nodes
    std::int64_t steps, width, hidden;       // extents: sequence, inputs, states
    std::int64_t time_axis;                  // of X
    std::int64_t direction;                  // index into W, R, B, P
    bool reverse;
    Tensor w, r, b, p;                       // b and p may be absent
    std::array<std::string, 3> functions;    // of the gates, of the cell input, of the cell
    double clip;                             // 0: none
  };

  Unrolled(RewriteContext& ctx, Problem problem) : ctx_(ctx), p_(std::move(problem)) {
    for (std::size_t g = 0; g < kGates; ++g) make_gate(g);
  }

  // h and c: the initial states [batch, hidden], or none; afterwards the last ones. Returns h of every step, in the order of time.
  Result<std::vector<ValueId>> run(ValueId& h, ValueId& c) {
    std::vector<ValueId> all(static_cast<std::size_t>(p_.steps));
    for (std::int64_t k = 0; k < p_.steps; ++k) {
      const std::int64_t t = p_.reverse ? p_.steps - 1 - k : k;
      NARROW_TRY(step(t, h, c));
      all[static_cast<std::size_t>(t)] = h;
    }
    return all;
  }

 private:
  struct GateConstants { ValueId of_x, of_both, bias, peephole; };

  // Rows [row, row + hidden) of the direction's matrix with `columns` columns.
  const float* rows(const Tensor& tensor, std::int64_t height, std::int64_t columns, std::int64_t row) const {
    return tensor.data<float>() + (p_.direction * height + row) * columns;
  }

  void make_gate(std::size_t g) {
    const std::int64_t n = p_.hidden, in = p_.width, first = static_cast<std::int64_t>(g) * n;
    const std::string name = fmt::format("{}.{}", p_.name, std::array{"input", "output", "forget", "cell"}[g]);
    Tensor of_x(DType::kF32, {n, in}), of_both(DType::kF32, {n, in + n});
    const float *w = rows(p_.w, 4 * n, in, first), *r = rows(p_.r, 4 * n, n, first);
    std::copy_n(w, n * in, of_x.data<float>());
    for (std::int64_t o = 0; o < n; ++o) {
      float* row = of_both.data<float>() + o * (in + n);
      std::copy_n(w + o * in, in, row);
      std::copy_n(r + o * n, n, row + in);
    }
    gates_[g].of_x = ctx_.graph.add_constant(name + ".W", std::move(of_x));
    gates_[g].of_both = ctx_.graph.add_constant(name + ".WR", std::move(of_both));
    if (p_.b.has_data()) {
      Tensor bias(DType::kF32, {n});
      const float *of_w = rows(p_.b, 8 * n, 1, first), *of_r = rows(p_.b, 8 * n, 1, first + 4 * n);
      for (std::int64_t o = 0; o < n; ++o) bias.data<float>()[o] = of_w[o] + of_r[o];
      gates_[g].bias = ctx_.graph.add_constant(name + ".b", std::move(bias));
    }
    if (p_.p.has_data() && g != kCell) {
      Tensor peephole(DType::kF32, {n});
      std::copy_n(rows(p_.p, 3 * n, 1, first), n, peephole.data<float>());
      gates_[g].peephole = ctx_.graph.add_constant(name + ".P", std::move(peephole));
    }
  }

  Result<ValueId> add(const std::string& suffix, std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {}) {
    return ctx_.insert_before({.name = step_name_ + suffix, .op = std::string(op), .inputs = std::move(inputs), .attrs = std::move(attrs)});
  }

  // c: what the peephole sees, if anything.
  Result<ValueId> gate(Gate which, ValueId z, bool with_h, ValueId c) {
    const GateConstants& gate = gates_[which];
    const std::string name = std::array{".input", ".output", ".forget", ".cell"}[which];
    std::vector<ValueId> inputs{z, with_h ? gate.of_both : gate.of_x};
    if (gate.bias) inputs.push_back(gate.bias);
    ValueId y = NARROW_TRY(add(name, "Gemm", std::move(inputs)));
    if (gate.peephole && c) y = NARROW_TRY(add(name + ".sum", "Add", {y, NARROW_TRY(add(name + ".peephole", "Mul", {c, gate.peephole}))}));
    if (p_.clip > 0) {
      Attrs bounds;
      bounds.set("min", Attr(-p_.clip));
      bounds.set("max", Attr(p_.clip));
      y = NARROW_TRY(add(name + ".clip", "Clip", {y}, std::move(bounds)));
    }
    return add(name + ".gate", p_.functions[which == kCell ? 1 : 0], {y});
  }

  Status step(std::int64_t t, ValueId& h, ValueId& c) {
    step_name_ = fmt::format("{}.t{}", p_.name, t);
    Attrs along_time;
    along_time.set("axis", Attr(p_.time_axis));
    const ValueId index = ctx_.graph.add_constant(step_name_ + ".index", Tensor::scalar(t));
    ValueId z = NARROW_TRY(add(".x", "Gather", {ctx_.node().inputs[kX], index}, std::move(along_time)));
    const bool with_h = static_cast<bool>(h);
    if (with_h) {
      Attrs side_by_side;
      side_by_side.set("axis", 1);
      z = NARROW_TRY(add(".xh", "Concat", {z, h}, std::move(side_by_side)));
    }
    const ValueId i = NARROW_TRY(gate(kInput, z, with_h, c)), g = NARROW_TRY(gate(kCell, z, with_h, {}));
    ValueId next = NARROW_TRY(add(".written", "Mul", {i, g}));
    if (c) {
      const ValueId kept = NARROW_TRY(add(".kept", "Mul", {NARROW_TRY(gate(kForget, z, with_h, c)), c}));
      next = NARROW_TRY(add(".c", "Add", {kept, next}));
    }
    c = next;
    const ValueId o = NARROW_TRY(gate(kOutput, z, with_h, c));
    h = NARROW_TRY(add(".h", "Mul", {o, NARROW_TRY(add(".shown", p_.functions[2], {c}))}));
    return {};
  }

  RewriteContext& ctx_;
  Problem p_;
  std::array<GateConstants, kGates> gates_;
  std::string step_name_;
};

// Three functions a direction.
Result<std::vector<std::string>> functions_of(const Node& node, std::size_t directions) {
  std::vector<std::string> names;
  for (std::size_t d = 0; d < directions; ++d) names.insert(names.end(), {"Sigmoid", "Tanh", "Tanh"});
  if (!node.attrs.has("activations")) return names;
  const std::vector<std::string> given = split(node.attrs.get_string("activations"), ' ');
  if (given.size() != names.size()) return error("{} activations are given, wanted three for each direction", given.size());
  for (const std::string& name : given) {
    if (name != "Sigmoid" && name != "Tanh" && name != "Relu") return error("the activation '{}' is not supported here, only Sigmoid, Tanh and Relu", name);
  }
  return given;
}

// Initial states lie as [directions, batch, hidden], or with the batch in front.
Result<ValueId> initial_state(RewriteContext& ctx, Slot slot, std::int64_t direction, std::int64_t directions, bool batch_first, std::int64_t batch, std::int64_t hidden) {
  if (!ctx.has_input(slot)) return ValueId{};
  const Shape wanted = batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  const Value& state = ctx.input(slot);
  if (state.shape != wanted) return error("initial state '{}' has shape {}, wanted {}", state.name, to_string(state.shape), to_string(wanted));
  Attrs axis;
  axis.set("axis", batch_first ? 1 : 0);
  const ValueId index = ctx.graph.add_constant(state.name + ".direction", Tensor::scalar(direction));
  return ctx.insert_before({.name = state.name + ".initial", .op = "Gather", .inputs = {ctx.node().inputs[slot], index}, .attrs = std::move(axis)});
}

Result<ValueId> reshape(RewriteContext& ctx, ValueId value, Shape shape) {
  NodeSpec spec{.name = ctx.graph.value(value).name + ".row", .op = "Reshape", .inputs = {value}};
  spec.attrs.set("shape", Attr(std::move(shape)));
  return ctx.insert_before(std::move(spec));
}

Result<ValueId> concat(RewriteContext& ctx, const std::string& name, std::vector<ValueId> parts, std::int64_t axis) {
  if (parts.size() == 1) return parts[0];
  NodeSpec spec{.name = name, .op = "Concat", .inputs = std::move(parts)};
  spec.attrs.set("axis", Attr(axis));
  return ctx.insert_before(std::move(spec));
}

Status normalize(RewriteContext& ctx) {
  const Node node = ctx.node();
  const Shape x = ctx.input(kX).shape;
  if (x.size() != 3) return error("the input has shape {}, wanted [steps, batch, inputs]", to_string(x));
  const bool batch_first = node.attrs.get_int("layout") == 1;
  const std::string direction = node.attrs.get_string("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") return error("the direction '{}' is unknown", direction);
  if (node.attrs.get_int("input_forget") != 0) return error("coupled input and forget gates (input_forget) are not supported");
  const std::int64_t steps = x[batch_first ? 1 : 0], batch = x[batch_first ? 0 : 1], width = x[2], directions = direction == "bidirectional" ? 2 : 1;
  if (steps < 1 || steps > kMostSteps) return error("the sequence has {} steps, wanted 1 to {}: every step becomes nodes of its own", steps, kMostSteps).with_help("feed shorter sequences (--input-shape)");

  const Tensor w = NARROW_TRY(parameter(ctx, kW, "W")), r = NARROW_TRY(parameter(ctx, kR, "R"));
  const Tensor b = NARROW_TRY(parameter(ctx, kB, "B")), p = NARROW_TRY(parameter(ctx, kP, "P"));
  const std::int64_t hidden = node.attrs.get_int("hidden_size", r.shape().size() == 3 ? r.shape()[2] : 0);
  if (hidden < 1 || hidden > kMostHidden) return error("the hidden size is {}", hidden);
  NARROW_TRY(expect_shape(w, {directions, 4 * hidden, width}, "the weights"));
  NARROW_TRY(expect_shape(r, {directions, 4 * hidden, hidden}, "the recurrent weights"));
  NARROW_TRY(expect_shape(b, {directions, 8 * hidden}, "the biases"));
  NARROW_TRY(expect_shape(p, {directions, 3 * hidden}, "the peepholes"));
  if (const Tensor lengths = NARROW_TRY(parameter(ctx, kLengths, "sequence_lens")); lengths.has_data()) {
    for (const std::int64_t length : lengths.to_ints()) {
      if (length != steps) return error("a sequence has length {}, wanted {}, that of the input", length, steps).with_help("feed sequences of one length");
    }
  }
  const auto functions = NARROW_TRY(functions_of(node, static_cast<std::size_t>(directions)));

  const std::int64_t time_axis = batch_first ? 1 : 0, direction_axis = batch_first ? 2 : 1;  // of the sequence
  const std::int64_t state_axis = batch_first ? 1 : 0;                                       // of directions in the last states
  std::vector<ValueId> sequences, last_h, last_c;
  for (std::int64_t d = 0; d < directions; ++d) {
    ValueId h = NARROW_TRY(initial_state(ctx, kInitialH, d, directions, batch_first, batch, hidden));
    ValueId c = NARROW_TRY(initial_state(ctx, kInitialC, d, directions, batch_first, batch, hidden));
    const auto k = static_cast<std::size_t>(3 * d);
    Unrolled unrolled(ctx, {.name = node.name + (d == 1 ? ".reverse" : ""), .steps = steps, .width = width, .hidden = hidden, .time_axis = time_axis, .direction = d,
                            .reverse = d == 1 || direction == "reverse", .w = w, .r = r, .b = b, .p = p,
                            .functions = {functions[k], functions[k + 1], functions[k + 2]}, .clip = node.attrs.get_float("clip")});
    std::vector<ValueId> states = NARROW_TRY(unrolled.run(h, c));
    for (ValueId& state : states) state = NARROW_TRY(reshape(ctx, state, batch_first ? Shape{batch, 1, 1, hidden} : Shape{1, 1, batch, hidden}));
    sequences.push_back(NARROW_TRY(concat(ctx, node.name + ".sequence", std::move(states), time_axis)));
    const Shape one = batch_first ? Shape{batch, 1, hidden} : Shape{1, batch, hidden};
    last_h.push_back(NARROW_TRY(reshape(ctx, h, one)));
    last_c.push_back(NARROW_TRY(reshape(ctx, c, one)));
  }
  const std::vector<ValueId> results{NARROW_TRY(concat(ctx, node.name + ".Y", std::move(sequences), direction_axis)),
                                     NARROW_TRY(concat(ctx, node.name + ".Y_h", std::move(last_h), state_axis)),
                                     NARROW_TRY(concat(ctx, node.name + ".Y_c", std::move(last_c), state_axis))};
  for (std::size_t i = 0; i < std::min(ctx.results.size(), results.size()); ++i) ctx.results[i] = results[i];
  return {};
}

}  // namespace

extern const OpDef op_lstm;
constinit const OpDef op_lstm{.name = "LSTM", .summary = "is unrolled: a Gemm for each gate and step", .min_inputs = 3, .real_inputs = 4, .normalize = normalize};

}  // namespace narrow
