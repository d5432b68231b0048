#include "plan/scales.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "plan/importance.h"

namespace narrow {
namespace {

// Movement that keeps every element (Reshape, Transpose, Concat): nothing new to observe behind it.
bool only_reorders(const Graph& graph, const Node& node, const QuantRule& rule) {
  if (!rule.follows_input) return false;
  const DataSlots slots = data_slots(graph, node, rule);
  std::int64_t in = 0, out = 0;
  for (const ValueId v : slots.inputs) in += element_count(graph.value(v).shape);
  for (const ValueId v : slots.outputs) out += element_count(graph.value(v).shape);
  return in == out;
}

bool has_range(const LayerWishes& wish) { return wish.range || wish.scale; }
bool is_first_output(const Graph& graph, ValueId id) {
  const Node* producer = graph.producer(id);
  return producer == nullptr || producer->outputs[0] == id;
}

Range range_of_constant(const Tensor& tensor) {
  Range r;
  for (const float x : tensor.span<float>()) r = united(r, {static_cast<double>(x), static_cast<double>(x)});
  return r;
}

}  // namespace

std::vector<Participant> participants(const Graph& graph, const std::vector<NodeChoice>& choices) {
  std::vector<Participant> parts;
  std::vector<std::int32_t> index(graph.value_slots(), -1);
  const auto part = [&](ValueId id) -> Participant& {
    if (index[id.index] < 0) {
      index[id.index] = static_cast<std::int32_t>(parts.size());
      parts.push_back({.id = id, .reordered = false, .fixed = {}});
    }
    return parts[static_cast<std::size_t>(index[id.index])];
  };
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const NodeChoice& choice = choices[id.index];
    if (!choice.integer) continue;
    const DataSlots slots = data_slots(graph, node, choice.rule);
    for (const ValueId v : slots.inputs) part(v);
    for (const ValueId v : slots.outputs) part(v).reordered = only_reorders(graph, node, choice.rule);
    for (const QuantRule::Fixed& f : choice.rule.fixed) {
      const ValueId v = f.slot.output ? node.outputs[static_cast<std::size_t>(f.slot.index)] : node.inputs[static_cast<std::size_t>(f.slot.index)];
      if (v) part(v).fixed = f;
    }
  }
  return parts;
}

std::string to_string(Range range) { return fmt::format("[{:.4g}, {:.4g}]", range.lo, range.hi); }

QuantParams params_of_fixed(Range interval, DType dtype, bool symmetric) {
  if (dtype == DType::kI16) return QuantParams::per_tensor(dtype, static_cast<float>(std::max(-interval.lo, interval.hi) / 32768), 0);
  const double scale = (interval.hi - interval.lo) / 256;
  QuantParams p = QuantParams::per_tensor(dtype, static_cast<float>(scale), 0);
  const double zero = static_cast<double>(p.qmin()) - interval.lo / scale;
  if (symmetric && zero != (dtype == DType::kU8 ? 128 : 0)) return params_from_range(interval.lo, interval.hi, {.dtype = dtype, .symmetric = true});
  // An interval that does not put 0 on a code (none of the operators so far) is treated like a calibrated one.
  if (zero != std::floor(zero) || zero > static_cast<double>(p.qmax())) return params_from_range(interval.lo, interval.hi, {.dtype = dtype});
  p.zero_point = {static_cast<std::int32_t>(zero)};
  return p;
}

std::vector<ValueId> values_to_observe(const Graph& graph, const std::vector<NodeChoice>& choices, const Wishes& wishes) {
  std::vector<ValueId> sites;
  for (const Participant& p : participants(graph, choices)) {
    const LayerWishes& wish = wishes.of(graph, p.id);
    const bool given = has_range(wish) && is_first_output(graph, p.id);
    if (!graph.value(p.id).is_constant() && !p.reordered && !p.fixed && !given) sites.push_back(p.id);
  }
  return sites;
}

Scales::Scales(const Graph& graph, const Stats& stats, const Wishes& wishes, const ScaleOptions& options)
    : graph_(&graph), stats_(&stats), wishes_(&wishes), options_(&options), own_(graph.value_slots()), classes_(graph.value_slots()), parent_(graph.value_slots()), tied_by_(graph.value_slots()) {
  std::iota(parent_.begin(), parent_.end(), 0U);
}

Result<Scales> Scales::make(const Graph& graph, const Stats& stats, const Wishes& wishes, const ScaleOptions& options, const std::vector<NodeChoice>& choices) {
  Scales scales(graph, stats, wishes, options);
  for (const Participant& p : participants(graph, choices)) {
    Entry& e = scales.own_[p.id.index];
    const LayerWishes& wish = wishes.of(graph, p.id);
    e.dtype = wish.activations;
    if (!p.reordered || (has_range(wish) && is_first_output(graph, p.id))) {
      NARROW_TRY(scales.read_range(p.id, p.fixed, choices));
      continue;
    }
    const NodeId mover = graph.value(p.id).producer;
    const std::vector<ValueId> sources = data_slots(graph, graph.node(mover), choices[mover.index].rule).inputs;
    e.range = scales.own_[sources[0].index].range;
    for (const ValueId in : sources) e.range = united(e.range, scales.own_[in.index].range);
  }
  return scales;
}

Status Scales::read_range(ValueId id, const std::optional<QuantRule::Fixed>& fixed, const std::vector<NodeChoice>& choices) {
  Entry& e = own_[id.index];
  const Value& v = graph_->value(id);
  const Node* producer = graph_->producer(id);
  const LayerWishes& wish = wishes_->of(*graph_, id);
  const bool first_output = is_first_output(*graph_, id);
  if (wish.scale && first_output) {
    e.scale = wish.scale;
    e.source = place_of(wish.scale->where);
    const QuantParams p = NARROW_TRY(params(e, id));
    e.range = {p.lowest(), p.highest()};
    return {};
  }
  if (wish.range && first_output) {
    e.forced = Wish<Range>{{std::min(0.0, wish.range->value.first), std::max(0.0, wish.range->value.second)}, wish.range->where, wish.range->entry};
    e.range = e.forced->value;
    e.source = place_of(wish.range->where);
    return {};
  }
  if (v.is_constant()) {
    e.range = range_of_constant(v.constant);
    if (!std::isfinite(e.range.lo) || !std::isfinite(e.range.hi)) return error("constant '{}' holds an infinity, which no scale can represent", v.name).with_help("keep the layer that reads it float");
    e.source = "constant: its exact minimum and maximum";
    return {};
  }
  if (fixed) {
    e.fixed = Range{fixed->lo, fixed->hi};
    e.range = *e.fixed;
    e.source = fmt::format("fixed by {}", producer != nullptr ? producer->op : "its reader");
    return {};
  }
  const ValueStats* s = stats_->find(v.name);
  if (s == nullptr) return error("the statistics hold nothing about '{}'", v.name).with_help("calibrate again with this recipe and target");
  CalibratorChoice choice = options_->calibrator;
  std::string by = options_->calibrator_by;
  if (wish.calibrator) {
    Result<CalibratorChoice> named = calibrator_from_name(wish.calibrator->value, options_->percentile);
    if (!named) return tl::unexpected(std::move(named).error().at(wish.calibrator->where));
    choice = *named;
    by = place_of(wish.calibrator->where);
  }
  e.range = choose_range(*s, choice, grid(e), channel_importance(*graph_, id, *s, choices));
  // A fused clamp bounds what can come out, whatever the statistics say.
  if (producer != nullptr) {
    const auto [lo, hi] = fused_activation(*producer).clamp();
    e.range = {std::clamp(e.range.lo, std::min(lo, 0.0), 0.0), std::clamp(e.range.hi, 0.0, std::max(hi, 0.0))};
  }
  e.source = fmt::format("{}: {} over {} samples", by, choice.to_string(), s->samples);
  return {};
}

GridOptions Scales::grid(const Entry& entry) const {
  const DType dtype = entry.dtype ? entry.dtype->value : options_->default_type;
  return {.dtype = dtype, .symmetric = dtype == DType::kI16 || options_->symmetric};
}

Result<QuantParams> Scales::params(const Entry& e, ValueId id) const {
  const GridOptions options = grid(e);
  if (e.scale) {
    const auto [scale, zero_point] = e.scale->value;
    QuantParams p = QuantParams::per_tensor(options.dtype, static_cast<float>(scale), static_cast<std::int32_t>(zero_point));
    if (!(p.scale[0] >= std::numeric_limits<float>::min()) || !std::isfinite(p.scale[0])) return error("the scale {} of '{}' is not a positive normal number", exact(scale), graph_->value(id).name).at(e.scale->where);
    if (zero_point < p.qmin() || zero_point > p.qmax() || (options.dtype == DType::kI16 && zero_point != 0)) {
      return error("the zero point {} of '{}' does not fit {}, wanted {}", zero_point, graph_->value(id).name, name_of(options.dtype), options.dtype == DType::kI16 ? "0" : fmt::format("{} to {}", p.qmin(), p.qmax())).at(e.scale->where);
    }
    return p;
  }
  if (e.forced) return params_from_range(e.forced->value.lo, e.forced->value.hi, options);
  if (e.fixed) return params_of_fixed(*e.fixed, options.dtype, options.symmetric);
  return params_from_range(e.range.lo, e.range.hi, options);
}

}  // namespace narrow
