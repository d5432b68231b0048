#include "ops/lower_context.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "lower/constants.h"
#include "lower/lowering.h"

namespace narrow {
namespace {

// One node being lowered. Hooks cannot return what they ask here for as a Result, so the first error is kept and
// reported when the hook is done.
class Context final : public LowerContext {
 public:
  Context(Lowering& lowering, NodeId id) : lowering_(lowering), id_(id), node_(lowering.source.node(id)) {
    for (std::size_t slot = 0; slot < node_.inputs.size(); ++slot) {
      const bool activation = lowering_.grids.role(id, slot) == Grids::Role::kActivation;
      in_.push_back(activation ? network_grid(lowering_.grids.wanted(id, slot)) : QuantParams{});
    }
    for (const ValueId v : node_.outputs) {
      const QuantParams* planned = lowering_.grids.carried(v);
      out_.push_back(planned != nullptr ? network_grid(*planned) : QuantParams{});
    }
  }

  const Graph& graph() const override { return lowering_.source; }
  const Node& node() const override { return node_; }
  const ArithmeticProfile& profile() const override { return lowering_.target.arithmetic; }
  const QuantParams& in(int slot) const override { return in_[static_cast<std::size_t>(slot)]; }
  const QuantParams& out(int slot) const override { return out_[static_cast<std::size_t>(slot)]; }

  ValueId input(int slot) override {
    const ValueId value = node_.inputs[static_cast<std::size_t>(slot)];
    if (!value) return {};
    if (lowering_.grids.role(id_, static_cast<std::size_t>(slot)) != Grids::Role::kActivation) return lowering_.copied(value);
    Result<ValueId> made = lowering_.on_grid(value, in(slot));
    if (made) return *made;
    keep(std::move(made.error()));
    return lowering_.real(value);
  }

  const QuantParams& weight_params(int slot) const override { return lowering_.grids.constant(id_, static_cast<std::size_t>(slot)); }
  Tensor weight(int slot) const override { return quantize(source_constant(slot), weight_params(slot)); }
  Tensor bias(int slot) const override {
    if (!has_input(slot)) return {};
    auto out = quantize_bias(source_constant(slot), weight_params(slot));
    if (out) return *out;
    keep(std::move(out.error()));
    return quantize(source_constant(slot), weight_params(slot));
  }

  ValueId constant(const std::string& suffix, Tensor tensor) override { return lowering_.constant(name(suffix), std::move(tensor)); }

  Rescales rescales(const std::string& suffix, const std::vector<double>& real, const std::vector<float>& single) override {
    const auto n = static_cast<std::int64_t>(real.size());
    std::vector<std::int32_t> multiplier, shift;
    for (const double r : real) {
      Result<FixedPoint> f = rescaling_factor(r);
      if (!f) keep(std::move(f.error()));
      multiplier.push_back(f ? f->multiplier : 0);
      shift.push_back(f ? f->shift : 1);
    }
    const std::string prefix = suffix.empty() ? "" : suffix + ".";
    Rescales out;
    out.multiplier = constant(prefix + "multiplier", Tensor::of<std::int32_t>({n}, multiplier));
    out.shift = constant(prefix + "shift", Tensor::of<std::int32_t>({n}, shift));
    if (profile().rounding == Rounding::kFloatRne) {
      NARROW_CHECK(single.size() == real.size(), "'{}'", node_.name);
      out.scale = constant(prefix + "scale", Tensor::of<float>({n}, single));
    }
    return out;
  }

  ValueId emit(const std::string& suffix, NodeSpec spec, DType dtype, Shape shape, QuantParams params) override {
    spec.name = name(suffix);
    return append(std::move(spec), dtype, std::move(shape), std::move(params));
  }

  void emit_output(NodeSpec spec, int slot) override {
    const ValueId source = node_.outputs[static_cast<std::size_t>(slot)];
    const Value& v = graph().value(source);
    spec.name = slot == 0 ? node_.name : name(std::to_string(slot));
    spec.output_names = {v.name};
    const QuantParams& grid = out(slot);
    lowering_.define(source, append(std::move(spec), grid.dtype, v.shape, grid), &grid);
  }

  Status result() {
    if (failed_) return tl::unexpected<Error>(std::move(*failed_));
    for (const ValueId v : node_.outputs) {
      const bool used = !graph().value(v).users.empty() || graph().is_output(v);
      NARROW_CHECK(!used || lowering_.defined(v), "operator '{}' did not emit '{}'", node_.op, graph().value(v).name);
    }
    return {};
  }

 private:
  std::string name(const std::string& suffix) const { return node_.name + "." + suffix; }
  const Tensor& source_constant(int slot) const { return graph().value(node_.inputs[static_cast<std::size_t>(slot)]).constant; }
  void keep(Error e) const {
    if (!failed_) failed_ = std::move(e);
  }

  ValueId append(NodeSpec spec, DType dtype, Shape shape, QuantParams params) {
    spec.output_types = {{dtype, std::move(shape)}};
    spec.attrs.set("rounding", Attr(std::string(name_of(profile().rounding))));
    spec.origin = node_.origin;
    const ValueId made = lowering_.out.node(lowering_.out.append(std::move(spec))).outputs[0];
    lowering_.out.set_quant(made, std::move(params));
    return made;
  }

  Lowering& lowering_;
  const NodeId id_;
  const Node& node_;
  std::vector<QuantParams> in_, out_;
  mutable std::optional<Error> failed_;
};

// |bias| + sum |w| * |x - zero point| bounds every partial sum of an output channel, in any order of summation.
Status check_accumulator(const Context& ctx, const LinearForm& form, const Target& target) {
  const QuantParams& x = ctx.in(0);
  const QuantParams& planned = ctx.weight_params(form.weight);
  const std::int64_t reach = std::max(x.qmax() - x.zero_point[0], x.zero_point[0] - x.qmin());
  // Ours has 32 bits under 8-bit activations and 48 under 16-bit ones; the hardware's may have fewer.
  const bool narrow = size_of(x.dtype) == 1;
  const auto most = [&](int bits) { return (std::int64_t{1} << ((narrow ? std::min(bits, 32) : 48) - 1)) - 1; };
  const std::int64_t limit = most(target.accumulator_bits), bias_limit = most(target.bias_bits);
  const Tensor w = ctx.weight(form.weight);
  const Tensor b = ctx.bias(form.bias);
  const Shape& shape = w.shape();
  const auto axis = static_cast<std::size_t>(form.out_axis);
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  std::vector<std::int64_t> sums(static_cast<std::size_t>(shape[axis]), 0);
  const auto* q = w.data<std::int8_t>();
  for (std::int64_t i = 0, n = w.elements(); i < n; ++i) sums[static_cast<std::size_t>(i / inner % shape[axis])] += std::abs(static_cast<int>(q[i]));
  const std::vector<std::int64_t> biases = b.has_data() ? b.to_ints() : std::vector<std::int64_t>(sums.size(), 0);
  for (std::size_t c = 0; c < sums.size(); ++c) {
    const std::string help = fmt::format("enlarge the weight scale of this channel ({}) in the plan", exact(planned.scale[planned.per_channel() ? c : 0]));
    if (std::abs(biases[c]) > bias_limit) return error("the bias of channel {} is {}, wanted at most {}", c, biases[c], bias_limit).with_help(help);
    const std::int64_t bound = sums[c] * reach + std::abs(biases[c]);
    if (bound > limit) return error("the accumulator of channel {} may reach {}, wanted at most {}", c, bound, limit).with_help(help);
  }
  return {};
}

}  // namespace

Result<FixedPoint> rescaling_factor(double real) {
  if (real > 0 && real < 0x1p30) return to_fixed_point(real);
  return error("the rescaling factor {} cannot be represented, wanted one in (0, 2^30)", exact(real)).with_help("the scales of inputs and output differ too much: keep the layer float in the recipe, or edit the plan");
}

Status lower_node(Lowering& lowering, NodeId id) {
  Context ctx(lowering, id);
  const OpDef& op = op_of(ctx.node());
  NARROW_TRY(op.lower(ctx));
  NARROW_TRY(ctx.result());
  const bool constant_weight = op.linear != nullptr && lowering.grids.role(id, static_cast<std::size_t>(op.linear->weight)) == Grids::Role::kWeight;
  if (constant_weight) NARROW_TRY(check_accumulator(ctx, *op.linear, lowering.target));
  return {};
}

}  // namespace narrow
