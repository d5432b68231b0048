#include "measure/causes.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace narrow {
namespace {

constexpr double kGoodSqnr = 40;          // dB; about what 8 bits give a well-filled grid
constexpr double kClipped = 0.002;        // share
constexpr double kEmptyGrid = 6;          // grid width over the width that 99.9 % of the values need
constexpr double kUnevenChannels = 12;    // widest channel over the median channel
constexpr double kUnevenWeights = 8;
constexpr double kExplains = 4;           // dB; a source of noise this close to what the layer shows is its cause

std::string layer_wish(const std::string& layer, const char* wish) {
  std::string name;
  for (const char c : layer) {
    if (c == '"' || c == '\\') name += '\\';
    name += c;
  }
  return fmt::format("{{match: \"{}\", {}}}", name, wish);
}
constexpr const char* kWide = "activations: int16";
constexpr const char* kFloat = "keep: float";

bool wide(const Plan& plan, const std::string& value) {
  const ActivationPlan* planned = plan.activation(value);
  return planned != nullptr && size_of(planned->params.dtype) > 1;
}

double weight_channel_ratio(const Tensor& weight, int axis) {
  const Shape& shape = weight.shape();
  const std::int64_t channels = shape[static_cast<std::size_t>(axis)];
  std::int64_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) inner *= shape[i];
  std::vector<double> largest(static_cast<std::size_t>(channels), 0);
  const std::span<const float> values = weight.span<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& of_channel = largest[(i / static_cast<std::size_t>(inner)) % static_cast<std::size_t>(channels)];
    of_channel = std::max(of_channel, std::abs(static_cast<double>(values[i])));
  }
  std::sort(largest.begin(), largest.end());
  const double median = largest[largest.size() / 2];
  return median > 0 ? largest.back() / median : 1;
}

// One layer under examination: reasons gather in `why`, remedies in `wishes`.
class Examination {
 public:
  Examination(const Graph& graph, const Stats& stats, const Plan& plan, const LayerComparison& layer) : graph_(graph), stats_(stats), plan_(plan), layer_(layer), node_(graph.node(graph.find_node(layer.node))) { finding_.layer = layer.node; }

  Finding result(const ValueStats* seen, const NoiseSources* sources) {
    if (sources != nullptr && std::min(sources->inputs.sqnr_db(), sources->weights.sqnr_db()) < layer_.isolated.sqnr_db() + kExplains) {
      judge_sources(*sources);
      return std::move(finding_);
    }
    judge_clipping(seen);
    if (seen != nullptr) judge_range(*seen);
    judge_weights();
    if (finding_.why.empty()) judge_own_grid();
    return std::move(finding_);
  }

 private:
  void add(std::string why, const std::vector<std::string>& wishes) {
    finding_.why += (finding_.why.empty() ? "" : "; ") + why;
    for (const std::string& wish : wishes) {
      if (std::find(finding_.wishes.begin(), finding_.wishes.end(), wish) == finding_.wishes.end()) finding_.wishes.push_back(wish);
    }
  }
  std::string wish(const char* text) const { return layer_wish(layer_.node, text); }

  // The range is that of calibration where it is known: the one that the report shows of the layer.
  void judge_clipping(const ValueStats* seen) {
    if (layer_.clipped.share() <= kClipped) return;
    const double low = seen != nullptr ? static_cast<double>(seen->min) : layer_.min, high = seen != nullptr ? static_cast<double>(seen->max) : layer_.max;
    add(fmt::format("{:.1f} % of the values are clipped: the grid ends at [{:.3g}, {:.3g}], the data reach [{:.3g}, {:.3g}]", 100 * layer_.clipped.share(), layer_.params.lowest(),
                    layer_.params.highest(), low, high),
        {wish("calibration: max"), wish(kWide)});
  }

  void judge_range(const ValueStats& stats) {
    if (size_of(layer_.params.dtype) > 1) return;
    const Spread spread = spread_of(stats);
    const double grid = layer_.params.highest() - layer_.params.lowest();
    const double needed = std::max(spread.high, 0.0) - std::min(spread.low, 0.0);
    if (needed > 0 && grid / needed > kEmptyGrid) {
      add(fmt::format("outliers: 99.9 % of the values lie in [{:.3g}, {:.3g}], the grid covers [{:.3g}, {:.3g}]; they share {:.0f} steps", spread.low, spread.high,
                      layer_.params.lowest(), layer_.params.highest(), needed / static_cast<double>(layer_.params.scale[0])),
          {wish(kWide), wish("calibration: percentile")});
    }
    if (spread.channel_ratio > kUnevenChannels) add(fmt::format("channel ranges differ: the widest is {:.0f}x the median one, and one scale serves all", spread.channel_ratio), {wish(kWide)});
  }

  // A weight with one scale for channels of very different size.
  void judge_weights() {
    const OpDef& op = op_of(node_);
    if (op.linear == nullptr) return;
    const ConstantPlan* weight = plan_.constant(layer_.node, op.linear->weight);
    const ValueId value = node_.inputs[static_cast<std::size_t>(op.linear->weight)];
    if (weight == nullptr || weight->params.per_channel() || !graph_.value(value).is_constant()) return;
    const double ratio = weight_channel_ratio(graph_.value(value).constant, op.linear->out_axis);
    if (ratio < kUnevenWeights) return;
    add(fmt::format("weights have one scale, but the largest output channel is {:.0f}x the median one", ratio), {wish("weights: {per_channel: true}")});
  }

  // Rounding to the layer's own grid alone would leave a known noise: a twelfth of the squared step.
  double own_grid_db() const {
    const auto step = static_cast<double>(layer_.params.scale[0]);
    return rms() > 0 ? 20 * std::log10(rms() / step) + 10 * std::log10(12) : 0;
  }
  double rms() const { return layer_.isolated.elements() == 0 ? 0 : std::sqrt(layer_.isolated.signal_power() / static_cast<double>(layer_.isolated.elements())); }

  // Why one scale is coarse for a value, when it is its channels.
  std::string uneven(const std::string& value) const {
    const ValueStats* seen = wide(plan_, value) ? nullptr : stats_.find(value);
    const double ratio = seen != nullptr ? spread_of(*seen).channel_ratio : 1;
    return ratio > kUnevenChannels ? fmt::format(" (one scale, but its widest channel is {:.0f}x the median one)", ratio) : std::string();
  }

  // The computed inputs of the layer, as text, and wishes that widen those that have 8 bits.
  std::pair<std::string, std::vector<std::string>> inputs() const {
    std::string names;
    std::vector<std::string> wishes;
    for (const ValueId in : node_.inputs) {
      if (!in || graph_.value(in).is_constant() || graph_.value(in).dtype != DType::kF32) continue;
      const std::string& name = graph_.value(in).name;
      names += fmt::format("{}'{}'{}", names.empty() ? "" : ", ", name, uneven(name));
      if (!wide(plan_, name)) wishes.push_back(layer_wish(graph_.producer(in) != nullptr ? graph_.producer(in)->name : name, kWide));
    }
    if (wishes.empty()) wishes.push_back(wish(kFloat));
    return {names, wishes};
  }

  void judge_sources(const NoiseSources& sources) {
    const auto [names, widened] = inputs();
    const double by_inputs = sources.inputs.sqnr_db(), by_weights = sources.weights.sqnr_db();
    if (by_inputs <= by_weights) {
      add(fmt::format("{:.1f} dB alone: the rounding of its input {} leaves {:.1f} dB, that of its weights {:.1f}, its own grid {:.1f}", layer_.isolated.sqnr_db(), names, by_inputs,
                      by_weights, own_grid_db()),
          widened);
      return;
    }
    judge_weights();
    add(fmt::format("{:.1f} dB alone: the rounding of its weights leaves {:.1f} dB, that of its input {} {:.1f}, its own grid {:.1f}", layer_.isolated.sqnr_db(), by_weights, names, by_inputs,
                    own_grid_db()),
        {wish(kFloat)});
  }

  void judge_own_grid() {
    const double alone = layer_.isolated.sqnr_db();
    if (own_grid_db() - alone < kExplains && size_of(layer_.params.dtype) == 1) {
      add(fmt::format("its grid is coarse for its values: the step is {:.3g}, a typical (rms) value {:.3g}, the largest {:.3g}; {:.1f} dB alone", layer_.params.scale[0], rms(),
                      std::max(std::abs(layer_.min), std::abs(layer_.max)), alone),
          {wish(kWide)});
      return;
    }
    const auto [names, widened] = inputs();
    add(fmt::format("its own grid would leave {:.1f} dB, it has {:.1f} dB alone: the damage enters with the rounding of its input {}{}", own_grid_db(), alone, names,
                    op_of(node_).linear != nullptr ? " and its weights" : ""),
        widened);
  }

  const Graph& graph_;
  const Stats& stats_;
  const Plan& plan_;
  const LayerComparison& layer_;
  const Node& node_;
  Finding finding_;
};

}  // namespace

std::vector<std::size_t> by_damage(const Comparison& comparison) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < comparison.layers.size(); ++i) {
    if (comparison.layers[i].integer && !comparison.layers[i].moves) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const LayerComparison &x = comparison.layers[a], &y = comparison.layers[b];
    return std::tuple(x.output.sqnr_db(), x.isolated.sqnr_db(), x.cumulative.sqnr_db()) < std::tuple(y.output.sqnr_db(), y.isolated.sqnr_db(), y.cumulative.sqnr_db());
  });
  return order;
}

Spread spread_of(const ValueStats& stats, double tail) {
  Spread spread{.low = stats.min, .high = stats.max};
  const auto limit = static_cast<double>(stats.histogram.total()) * tail;
  const std::span<const std::uint64_t> counts = stats.histogram.counts();
  double below = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    below += static_cast<double>(counts[i]);
    if (below > limit) {
      spread.low = std::max(spread.low, stats.histogram.left_edge(i));
      break;
    }
  }
  double above = 0;
  for (std::size_t i = counts.size(); i-- > 0;) {
    above += static_cast<double>(counts[i]);
    if (above > limit) {
      spread.high = std::min(spread.high, stats.histogram.left_edge(i) + stats.histogram.width());
      break;
    }
  }
  std::vector<double> widths;
  for (std::size_t c = 0; c < stats.channel_min.size(); ++c) {
    widths.push_back(std::max(static_cast<double>(stats.channel_max[c]), 0.0) - std::min(static_cast<double>(stats.channel_min[c]), 0.0));
  }
  std::sort(widths.begin(), widths.end());
  if (!widths.empty() && widths[widths.size() / 2] > 0) spread.channel_ratio = widths.back() / widths[widths.size() / 2];
  return spread;
}

std::string Finding::advice() const { return wishes.empty() ? std::string() : wishes[0]; }

std::vector<std::string> damaged_layers(const Comparison& comparison, std::size_t worst) {
  std::vector<std::string> names;
  for (const std::size_t index : by_damage(comparison)) {
    const LayerComparison& layer = comparison.layers[index];
    // Sorted by what is asked here: a layer that is good alone may still cost most at the outputs.
    const double harm = layer.has_output() ? layer.output.sqnr_db() : layer.isolated.sqnr_db();
    if (names.size() == worst || harm >= kGoodSqnr) break;
    names.push_back(layer.node);
  }
  return names;
}

std::vector<Finding> find_causes(const Graph& graph, const Stats& stats, const Plan& plan, const Comparison& comparison, const SourcesByLayer& sources, std::size_t worst) {
  std::vector<Finding> findings;
  const std::vector<std::size_t> order = by_damage(comparison);
  const std::size_t count = damaged_layers(comparison, worst).size();
  for (std::size_t i = 0; i < count; ++i) {
    const LayerComparison& layer = comparison.layers[order[i]];
    const auto source = sources.find(layer.node);
    findings.push_back(Examination(graph, stats, plan, layer).result(stats.find(layer.value), source == sources.end() ? nullptr : &source->second));
  }
  return findings;
}

}  // namespace narrow
