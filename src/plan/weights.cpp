#include "plan/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace narrow {
namespace {

// Elements of a tensor by index of one axis, without copying: fn(channel, values of a contiguous run).
template <typename Fn>
void for_channels(const Tensor& tensor, int axis, const Fn& fn) {
  const Shape& shape = tensor.shape();
  const float* x = tensor.data<float>();
  if (axis < 0) return fn(std::size_t{0}, std::span<const float>(x, static_cast<std::size_t>(tensor.elements())));
  std::int64_t outer = 1, inner = 1;
  for (int d = 0; d < axis; ++d) outer *= shape[static_cast<std::size_t>(d)];
  for (std::size_t d = static_cast<std::size_t>(axis) + 1; d < shape.size(); ++d) inner *= shape[d];
  const std::int64_t channels = shape[static_cast<std::size_t>(axis)];
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t c = 0; c < channels; ++c) fn(static_cast<std::size_t>(c), std::span<const float>(x + (o * channels + c) * inner, static_cast<std::size_t>(inner)));
  }
}

std::size_t channels_of(const Tensor& tensor, int axis) { return axis < 0 ? 1 : static_cast<std::size_t>(tensor.shape()[static_cast<std::size_t>(axis)]); }

// Clips of |w| per channel, as shares of the largest magnitude, by least squared error over 60 candidates.
std::vector<double> searched_clips(const Tensor& weight, int axis, int bits, const std::vector<double>& largest) {
  constexpr int kCandidates = 60;
  const double levels = static_cast<double>((1 << (bits - 1)) - 1);
  std::vector<double> best = largest, least(largest.size(), std::numeric_limits<double>::infinity());
  for (int i = 0; i < kCandidates; ++i) {
    const double share = 1 - 0.8 * i / kCandidates;
    std::vector<double> cost(largest.size(), 0.0);
    for_channels(weight, axis, [&](std::size_t c, std::span<const float> run) {
      const double clip = largest[c] * share, step = clip / levels;
      if (step == 0) return;
      for (const float w : run) {
        const double magnitude = std::abs(static_cast<double>(w)), clipped = std::min(magnitude, clip);
        const double code = round_half_even(clipped / step);
        cost[c] += (magnitude - code * step) * (magnitude - code * step);
      }
    });
    for (std::size_t c = 0; c < cost.size(); ++c) {
      if (cost[c] >= least[c]) continue;
      least[c] = cost[c];
      best[c] = largest[c] * share;
    }
  }
  return best;
}

std::int64_t reach_of(const QuantParams& activation) {
  return std::max<std::int64_t>(activation.qmax() - activation.zero_point[0], activation.zero_point[0] - activation.qmin());
}

// Widens weight scales until, for every output channel, sum |w| * reach + |bias| fits the accumulator and |bias| its type.
// Both shrink in proportion to the scale. The bias and the weights' sum are both along `axis` of the weight.
void guard_accumulators(const Tensor& weight, int axis, const Tensor* bias, const QuantParams& activation, const WeightOptions& options, QuantParams* params, std::vector<std::int64_t>* widened) {
  const bool wide = size_of(activation.dtype) > 1;
  const double accumulator = std::exp2(wide ? 47 : std::min(options.accumulator_bits, 32) - 1) - 1;  // ours have 32, whatever the hardware's
  const double bias_limit = std::exp2(wide ? 47 : options.bias_bits - 1) - 1;
  const auto reach = static_cast<double>(reach_of(activation));
  const std::size_t channels = channels_of(weight, axis);
  // Codes that round up may leave a sum a little too large: the margin grows until none does, at last with all codes at 0.
  for (double margin = 0.001;; margin *= 2) {
    const Tensor codes = quantize(weight, *params);
    std::vector<double> sums(channels, 0.0);
    {
      const Shape& shape = weight.shape();
      std::int64_t inner = 1;
      for (std::size_t d = static_cast<std::size_t>(axis) + 1; d < shape.size(); ++d) inner *= shape[d];
      const auto* q = codes.data<std::int8_t>();
      for (std::int64_t i = 0, n = codes.elements(); i < n; ++i) sums[static_cast<std::size_t>(i / inner) % channels] += std::abs(static_cast<double>(q[i]));
    }
    std::vector<double> worst(params->scale.size(), 1.0);  // of the channels that share a scale
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t s = params->per_channel() ? c : 0;
      const float scale = params->scale[s];
      const double b = bias != nullptr ? std::abs(static_cast<double>(bias->data<float>()[bias->elements() == 1 ? 0 : c])) / (static_cast<double>(activation.scale[0]) * static_cast<double>(scale)) + 1 : 0;
      const double excess = std::max((sums[c] * reach + b) / accumulator, b / bias_limit);
      worst[s] = std::max(worst[s], excess);
      if (excess > 1) widened->push_back(static_cast<std::int64_t>(c));
    }
    bool good = true;
    for (std::size_t s = 0; s < worst.size(); ++s) {
      if (worst[s] <= 1) continue;
      params->scale[s] = static_cast<float>(static_cast<double>(params->scale[s]) * worst[s] * (1 + margin));
      good = false;
    }
    if (good) return;
  }
}

std::string list_of(std::vector<std::int64_t> channels) {
  std::sort(channels.begin(), channels.end());
  channels.erase(std::unique(channels.begin(), channels.end()), channels.end());
  std::string text = channels.size() == 1 ? "channel " : "channels ";
  for (std::size_t i = 0; i < channels.size() && i < 8; ++i) text += (i > 0 ? ", " : "") + std::to_string(channels[i]);
  return channels.size() > 8 ? text + fmt::format(" and {} more", channels.size() - 8) : text;
}

}  // namespace

QuantParams weight_params(const Tensor& weight, int axis, int bits) {
  std::vector<double> clips(channels_of(weight, axis), 0.0);
  for_channels(weight, axis, [&](std::size_t c, std::span<const float> run) {
    for (const float w : run) clips[c] = std::max(clips[c], std::abs(static_cast<double>(w)));
  });
  const double widest = *std::max_element(clips.begin(), clips.end());
  // A channel of zeros is exact at any scale, but its bias needs a fine one: it takes that of the widest channel.
  for (double& clip : clips) clip = clip > 0 ? clip : widest;
  if (bits <= kSearchedWeightBits) clips = searched_clips(weight, axis, bits, clips);
  QuantParams params;
  params.dtype = DType::kI8;
  params.bits = bits == 8 ? 0 : bits;
  params.narrow_range = true;
  params.axis = axis;
  for (const double clip : clips) {
    const QuantParams one = params_from_range(-clip, clip, {.dtype = DType::kI8, .bits = params.bits, .symmetric = true, .narrow_range = true});
    params.scale.push_back(one.scale[0]);
    params.zero_point.push_back(0);
  }
  return params;
}

ConstantPlan bias_plan(const Graph& graph, const Node& node, const QuantRule::Derived& rule, const QuantParams& activation, const QuantParams& weight) {
  QuantParams p;
  p.dtype = size_of(activation.dtype) > 1 ? DType::kI64 : DType::kI32;
  p.axis = weight.per_channel() ? 0 : -1;
  for (const float s : weight.scale) {
    p.scale.push_back(activation.scale[0] * s);
    p.zero_point.push_back(0);
  }
  const std::string& data = graph.value(node.inputs[static_cast<std::size_t>(rule.activation)]).name;
  return {.node = node.name, .slot = rule.input, .params = std::move(p), .decided_by = fmt::format("derived: scale of '{}' times scale of the weight", data)};
}

const QuantRule::Derived* bias_rule(const Node& node, const QuantRule& rule, const QuantRule::Weight& weight) {
  for (const QuantRule::Derived& d : rule.derived) {
    const auto slot = static_cast<std::size_t>(d.input);
    if (d.weight == weight.input && slot < node.inputs.size() && node.inputs[slot]) return &d;
  }
  return nullptr;
}

ValueId activation_of(const Node& node, const QuantRule& rule, const QuantRule::Weight& weight) {
  const auto derived = std::find_if(rule.derived.begin(), rule.derived.end(), [&](const QuantRule::Derived& d) { return d.weight == weight.input; });
  return node.inputs[static_cast<std::size_t>(derived != rule.derived.end() ? derived->activation : 0)];
}

std::string fit_weight(const Graph& graph, const Node& node, const QuantRule& rule, const QuantRule::Weight& weight, const QuantParams& activation, const WeightOptions& options, ConstantPlan* plan) {
  const QuantRule::Derived* bias = bias_rule(node, rule, weight);
  // The bias's scale is a product, which must be a normal number: training leaves channels with weights of 1e-36.
  const float finest = 2 * std::numeric_limits<float>::min() / activation.scale[0];
  for (float& scale : plan->params.scale) scale = std::max(scale, finest);
  std::vector<std::int64_t> widened;
  guard_accumulators(graph.value(node.inputs[static_cast<std::size_t>(weight.input)]).constant, weight.channel_axis, bias != nullptr ? &graph.value(node.inputs[static_cast<std::size_t>(bias->input)]).constant : nullptr,
                     activation, options, &plan->params, &widened);
  if (widened.empty()) return {};
  constexpr std::string_view kWidened = ", widened against overflow";
  if (!plan->decided_by.ends_with(kWidened)) plan->decided_by += kWidened;
  return fmt::format("weight scale of '{}' widened in {} so that bias and accumulator fit {} bits", node.name, list_of(widened), size_of(activation.dtype) > 1 ? 48 : std::min(options.accumulator_bits, 32));
}

Result<std::vector<ConstantPlan>> plan_constants(const Graph& graph, NodeId id, const QuantRule& rule, const LayerWishes& wishes, const WeightOptions& options,
                                                 const std::vector<const QuantParams*>& activations, std::vector<std::string>* notes) {
  const Node& node = graph.node(id);
  std::vector<ConstantPlan> plans;
  for (const QuantRule::Weight& w : rule.weights) {
    const Value& value = graph.value(node.inputs[static_cast<std::size_t>(w.input)]);
    NARROW_CHECK(value.is_constant(), "weight '{}' of '{}'", value.name, node.name);
    for (const float x : value.constant.span<float>()) {
      if (!std::isfinite(x)) return error("the weights '{}' of layer '{}' hold {}", value.name, node.name, exact(x)).with_help("repair the model: such a weight cannot be quantized");
    }
    const int bits = wishes.weight_bits ? wishes.weight_bits->value : options.bits;
    const bool per_channel = wishes.per_channel ? wishes.per_channel->value : options.per_channel;
    if (wishes.per_channel && per_channel && !options.may_per_channel) {
      return error("layer '{}' shall have weights per channel, but target '{}' has them per tensor only", node.name, options.target).at(wishes.per_channel->where);
    }
    ConstantPlan plan{.node = node.name, .slot = w.input, .params = weight_params(value.constant, per_channel ? w.channel_axis : -1, bits), .decided_by = bits <= kSearchedWeightBits ? "least squared error" : "largest magnitude"};
    plan.decided_by += per_channel ? " per channel" : " per tensor";
    if (const std::string by = wishes.per_channel ? place_of(wishes.per_channel->where) : options.per_channel_by; !by.empty()) plan.decided_by += " by " + by;
    if (const std::string by = wishes.weight_bits ? place_of(wishes.weight_bits->where) : options.bits_by; bits != 8 && !by.empty()) plan.decided_by += fmt::format("; {} bits by {}", bits, by);

    const QuantRule::Derived* bias = bias_rule(node, rule, w);
    if (bias != nullptr) {
      const Value& b = graph.value(node.inputs[static_cast<std::size_t>(bias->input)]);
      for (const float x : b.constant.span<float>()) {
        if (!std::isfinite(x)) return error("the bias '{}' of layer '{}' holds {}", b.name, node.name, exact(x)).with_help("repair the model: such a bias cannot be quantized");
      }
    }
    const QuantParams& activation = *activations[activation_of(node, rule, w).index];
    if (std::string note = fit_weight(graph, node, rule, w, activation, options, &plan); !note.empty()) notes->push_back(std::move(note));
    plans.push_back(std::move(plan));
    if (bias != nullptr) plans.push_back(bias_plan(graph, node, *bias, activation, plans.back().params));
  }
  return plans;
}

}  // namespace narrow
