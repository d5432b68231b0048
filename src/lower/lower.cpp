#include "lower/lower.h"

#include "base/hash.h"
#include "lower/constants.h"
#include "lower/lowering.h"
#include "ops/borders.h"
#include "ops/verify_network.h"

namespace narrow {

Lowering::Lowering(const Graph& source_graph, const Grids& g, const Target& t) : source(source_graph), grids(g), target(t), forms_(source_graph.value_slots()) {
  out.name = source.name;
  for (const ValueId id : source.inputs()) {
    const Value& v = source.value(id);
    const QuantParams* planned = grids.carried(id);
    if (planned == nullptr) {
      define(id, out.add_input(v.name, v.dtype, v.shape), nullptr);
    } else {
      const QuantParams grid = network_grid(*planned);
      define(id, out.add_input(v.name, grid.dtype, v.shape), &grid);
    }
  }
}

void Lowering::define(ValueId id, ValueId made, const QuantParams* params) {
  Forms& f = forms_[id.index];
  f.primary = made;
  f.primary_is_real = params == nullptr;
  if (params == nullptr) {
    f.real = made;
  } else {
    f.integer.emplace_back(*params, made);
    out.set_quant(made, *params);
  }
}

ValueId Lowering::convert(NodeSpec spec, std::string name, TensorType type, std::optional<QuantParams> quant) {
  spec.name = name;
  spec.output_types = {std::move(type)};
  const ValueId id = out.node(out.append(std::move(spec))).outputs[0];
  out.set_quant(id, std::move(quant));
  return id;
}

Result<ValueId> Lowering::on_grid(ValueId id, const QuantParams& params) {
  const Value& v = source.value(id);
  Forms& f = forms_[id.index];
  for (const auto& [have, made] : f.integer) {
    if (have == params) return made;
  }
  ValueId made;
  if (v.is_constant()) {
    made = out.add_constant(v.name, quantize(v.constant, params));
    out.set_quant(made, params);
  } else if (f.primary_is_real) {
    made = convert(quantize_spec(f.primary, params), v.name + ".quantized", {params.dtype, v.shape}, params);
  } else {
    const QuantParams from = f.integer[0].first;
    const FixedPoint factor = NARROW_TRY(rescaling_factor(static_cast<double>(from.scale[0]) / static_cast<double>(params.scale[0])));
    const std::string name = v.name + ".requantized";
    const ValueId multiplier = out.add_constant(name + ".multiplier", Tensor::of<std::int32_t>({1}, {factor.multiplier}));
    const ValueId shift = out.add_constant(name + ".shift", Tensor::of<std::int32_t>({1}, {factor.shift}));
    made = convert(requantize_spec(f.primary, multiplier, shift, from, params, target.arithmetic.rounding), name, {params.dtype, v.shape}, params);
  }
  f.integer.emplace_back(params, made);
  return made;
}

ValueId Lowering::constant(std::string name, Tensor tensor) {
  constexpr std::size_t kLarge = 256;  // bytes; smaller ones keep names of their own, for readers of the graph text
  if (tensor.bytes() < kLarge) return out.add_constant(std::move(name), std::move(tensor));
  const std::uint64_t hash = hash_bytes(tensor.raw(), tensor.bytes());
  const auto [begin, end] = large_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (out.value(it->second).constant.same_bytes(tensor)) return it->second;
  }
  const ValueId made = out.add_constant(std::move(name), std::move(tensor));
  large_.emplace(hash, made);
  return made;
}

ValueId Lowering::real(ValueId id) {
  const Value& v = source.value(id);
  Forms& f = forms_[id.index];
  if (!f.real) f.real = v.is_constant() ? out.add_constant(v.name, v.constant) : convert(dequantize_spec(f.primary, f.integer[0].first), v.name + ".real", {DType::kF32, v.shape}, std::nullopt);
  return f.real;
}

ValueId Lowering::copied(ValueId id) { return real(id); }

Status Lowering::copy(NodeId id) {
  const Node& node = source.node(id);
  NodeSpec spec{.name = node.name, .op = node.op, .inputs = {}, .attrs = node.attrs, .origin = node.origin};
  for (const ValueId in : node.inputs) spec.inputs.push_back(in ? real(in) : ValueId{});
  for (const ValueId v : node.outputs) {
    spec.output_names.push_back(source.value(v).name);
    spec.output_types.push_back({source.value(v).dtype, source.value(v).shape});
  }
  const NodeId made = out.append(std::move(spec));
  for (std::size_t i = 0; i < node.outputs.size(); ++i) define(node.outputs[i], out.node(made).outputs[i], nullptr);
  return {};
}

Status Lowering::node(NodeId id) {
  if (!grids.integer(id)) return copy(id);
  auto status = lower_node(*this, id);
  if (!status) return tl::unexpected<Error>(std::move(status.error()).in(fmt::format("node '{}' ({})", source.node(id).name, source.node(id).op)));
  return status;
}

Result<Graph> Lowering::finish() {
  for (const ValueId id : source.outputs()) {
    const Value& v = source.value(id);
    out.add_output(v.is_constant() ? real(id) : forms_[id.index].primary);
  }
  // Constants and intermediate values may have taken the name of a value of the model.
  for (std::uint32_t i = 0; i < forms_.size(); ++i) {
    const ValueId mine = forms_[i].primary;
    const std::string& wanted = source.value({i}).name;
    if (!mine || out.value(mine).name == wanted) continue;
    if (const ValueId other = out.find_value(wanted)) out.rename(other, wanted + ".constant");
    out.rename(mine, wanted);
  }
  out.remove_dead();
  NARROW_TRY(out.verify());
  NARROW_TRY(verify_network(out));  // as whoever reads the artifact does: what is written can be run
  return std::move(out);
}

Result<Graph> lower(const Graph& graph, const Plan& plan, const Target& target) {
  const Grids grids = NARROW_TRY(Grids::make(graph, plan));
  Lowering lowering(graph, grids, target);
  for (const NodeId id : graph.order()) NARROW_TRY(lowering.node(id));
  return lowering.finish();
}

}  // namespace narrow
