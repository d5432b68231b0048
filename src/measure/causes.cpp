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
constexpr double kOwnGridExplains = 4;    // dB

std::string layer_wish(const std::string& layer, const char* wish) {
  return fmt::format("in the recipe, layers: [{{match: \"{}\", {}}}]", layer, wish);
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

// A weight with one scale for channels of very different size.
void judge_weights(const Graph& graph, const Plan& plan, const LayerComparison& layer, std::vector<Finding>& findings) {
  const NodeId id = graph.find_node(layer.node);
  const OpDef& op = op_of(graph.node(id));
  if (op.linear == nullptr) return;
  const ConstantPlan* weight = plan.constant(layer.node, op.linear->weight);
  const ValueId value = graph.node(id).inputs[static_cast<std::size_t>(op.linear->weight)];
  if (weight == nullptr || weight->params.per_channel() || !graph.value(value).is_constant()) return;
  const double ratio = weight_channel_ratio(graph.value(value).constant, op.linear->out_axis);
  if (ratio < kUnevenWeights) return;
  findings.push_back({layer.node, fmt::format("weights have one scale, but the largest output channel is {:.0f}x the median one", ratio),
                      "a target with per-channel weights, or " + layer_wish(layer.node, "weights: {per_channel: true}")});
}

void judge_range(const ValueStats& stats, const LayerComparison& layer, std::vector<Finding>& findings) {
  const Spread spread = spread_of(stats);
  const double grid = layer.params.highest() - layer.params.lowest();
  const double needed = std::max(spread.high, 0.0) - std::min(spread.low, 0.0);
  if (needed > 0 && grid / needed > kEmptyGrid) {
    const double steps = needed / static_cast<double>(layer.params.scale[0]);
    findings.push_back({layer.node,
                        fmt::format("outliers: 99.9 % of the values lie in [{:.3g}, {:.3g}], the grid covers [{:.3g}, {:.3g}]; they share {:.0f} steps", spread.low,
                                    spread.high, layer.params.lowest(), layer.params.highest(), steps),
                        layer_wish(layer.node, "activations: int16") + ", or calibration: percentile to give the outliers up"});
  }
  if (spread.channel_ratio > kUnevenChannels) {
    findings.push_back({layer.node, fmt::format("channel ranges differ: the widest is {:.0f}x the median one, and one scale serves all", spread.channel_ratio),
                        layer_wish(layer.node, "activations: int16")});
  }
}

// Rounding to the layer's own grid alone would leave a known noise (a twelfth of the squared step). What the layer shows beyond that
// enters through its inputs and weights.
Finding where_it_comes_from(const Graph& graph, const LayerComparison& layer) {
  const double mean_square = layer.isolated.elements() == 0 ? 0 : layer.isolated.signal_power() / static_cast<double>(layer.isolated.elements());
  const auto step = static_cast<double>(layer.params.scale[0]);
  const double own_grid = mean_square > 0 ? 10 * std::log10(mean_square / (step * step / 12)) : 0;
  const double alone = layer.isolated.sqnr_db();
  if (own_grid - alone < kOwnGridExplains) {
    return {layer.node, fmt::format("its grid is coarse for its values: the step is {:.3g}, a typical (rms) value {:.3g}, the largest {:.3g}; {:.1f} dB alone", step, std::sqrt(mean_square),
                                    std::max(std::abs(layer.min), std::abs(layer.max)), alone),
            layer_wish(layer.node, "activations: int16")};
  }
  const Node& node = graph.node(graph.find_node(layer.node));
  std::string sources;
  const Node* first = nullptr;
  for (const ValueId in : node.inputs) {
    if (!in || graph.value(in).is_constant()) continue;
    if (first == nullptr) first = graph.producer(in);
    sources += fmt::format("{}'{}'", sources.empty() ? "" : ", ", graph.value(in).name);
  }
  return {layer.node, fmt::format("its own grid would leave {:.1f} dB, it has {:.1f} dB alone: the damage enters with the rounding of its input {} and its weights", own_grid, alone, sources),
          first != nullptr ? layer_wish(first->name, "activations: int16") : layer_wish(layer.node, "keep: float")};
}

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

std::vector<Finding> find_causes(const Graph& graph, const Stats& stats, const Plan& plan, const Comparison& comparison, std::size_t worst) {
  std::vector<Finding> findings;
  std::vector<std::size_t> order = by_damage(comparison);
  if (order.size() > worst) order.resize(worst);
  for (const std::size_t index : order) {
    const LayerComparison& layer = comparison.layers[index];
    if (layer.isolated.sqnr_db() >= kGoodSqnr) break;
    const std::size_t before = findings.size();
    if (layer.clipped.share() > kClipped) {
      findings.push_back({layer.node,
                          fmt::format("{:.1f} % of the values are clipped: the grid ends at [{:.3g}, {:.3g}], the data reach [{:.3g}, {:.3g}]", 100 * layer.clipped.share(),
                                      layer.params.lowest(), layer.params.highest(), layer.min, layer.max),
                          layer_wish(layer.node, "calibration: max") + ", or activations: int16"});
    }
    if (const ValueStats* seen = stats.find(layer.value)) judge_range(*seen, layer, findings);
    judge_weights(graph, plan, layer, findings);
    if (findings.size() == before) findings.push_back(where_it_comes_from(graph, layer));
  }
  return findings;
}

}  // namespace narrow
