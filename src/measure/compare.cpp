#include "measure/compare.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/clones.h"
#include "base/parallel.h"
#include "data/sample_stream.h"
#include "measure/top_k.h"
#include "ops/op_def.h"
#include "run/executor.h"

namespace narrow {
namespace {

// The value of `network` that stands for `value` of the float graph; none when it has no counterpart of the same shape.
ValueId counterpart(const Graph& reference, ValueId value, const Graph& network) {
  const Value& v = reference.value(value);
  const ValueId found = network.find_value(v.name);
  if (!found || network.value(found).shape != v.shape || network.value(found).is_constant()) return {};
  const Value& n = network.value(found);
  const bool readable = n.quant ? !n.quant->per_channel() && v.dtype == DType::kF32 : n.dtype == v.dtype;
  return readable ? found : ValueId{};
}

// Reuses the memory of the sample before.
void keep_copy(const Tensor& from, Tensor& to) {
  if (!to.has_data()) to = Tensor(from.dtype(), from.shape());
  constexpr std::int64_t kBytes = 1 << 18;
  const auto size = static_cast<std::int64_t>(from.bytes());
  parallel_for((size + kBytes - 1) / kBytes, [&](std::int64_t i) {
    std::copy_n(static_cast<const std::byte*>(from.raw()) + i * kBytes, std::min(kBytes, size - i * kBytes), static_cast<std::byte*>(to.raw()) + i * kBytes);
  });
}

// One compared layer output, by its ids in both graphs.
struct Site {
  LayerComparison* layer = nullptr;
  ValueId reference;
  const Node* reader = nullptr;  // of the float graph; the only one, when it does not see everything (OpDef::as_read)
};

Tensor as_read(const Node& reader, Tensor values) {
  op_of(reader).as_read(reader, values);
  return values;
}

using RealValues = std::map<ValueId, Tensor>;

// Adds a network's value to the metrics of its layer; keeps it as real numbers where that is wanted.
class LayerObserver {
 public:
  LayerObserver(const Graph& network, const std::map<ValueId, Site>& sites, const RealValues& expected, ErrorMetrics LayerComparison::*metrics)
      : network_(network), sites_(sites), expected_(expected), metrics_(metrics) {}
  void keep(RealValues* kept) { kept_ = kept; }
  void operator()(ValueId id, const Tensor& tensor) const {
    const auto site = sites_.find(id);
    if (site == sites_.end()) return;
    const Value& value = network_.value(id);
    const Tensor& expected = expected_.at(site->second.reference);
    ErrorMetrics& metrics = site->second.layer->*metrics_;
    if (const Node* reader = site->second.reader) metrics.add(as_read(*reader, expected.clone()), as_read(*reader, value.quant ? dequantize(tensor, *value.quant) : tensor.clone()));
    else if (value.quant) metrics.add_quantized(expected, tensor, *value.quant);
    else metrics.add(expected, tensor);
    if (kept_ != nullptr && value.quant) (*kept_)[site->second.reference] = dequantize(tensor, *value.quant);
  }

 private:
  const Graph& network_;
  const std::map<ValueId, Site>& sites_;
  const RealValues& expected_;
  ErrorMetrics LayerComparison::*metrics_;
  RealValues* kept_ = nullptr;
};

void overwrite(Tensor& tensor, const Tensor& contents) {
  std::copy_n(static_cast<const std::byte*>(contents.raw()), contents.bytes(), static_cast<std::byte*>(tensor.raw()));
}

// The integer network, end to end or cut apart at every value that the float network knows: there, whatever a node gave, its readers
// get the float network's value on the grid of the integer one, so that one run evaluates every layer alone.
class Network {
 public:
  Network(const Graph& network, const std::map<ValueId, ValueId>& references, const RealValues& real_values)
      : executor_(network, {.keep = {}, .edit = [this, &network, &references, &real_values](ValueId id, Tensor& tensor) {
                    const auto reference = apart_ ? references.find(id) : references.end();
                    if (reference == references.end()) return;
                    const Tensor& real = real_values.at(reference->second);
                    if (const auto& quant = network.value(id).quant) quantize(real, *quant, tensor);
                    else overwrite(tensor, real);
                  }}) {}
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, const Executor::Observer& observer) {
    apart_ = false;
    return run_real(executor_, inputs, observer);
  }
  Status run_apart(std::span<const Tensor> inputs, const Executor::Observer& observer) {
    apart_ = true;
    NARROW_TRY(run_real(executor_, inputs, observer));
    return {};
  }

 private:
  bool apart_ = false;
  Executor executor_;
};

// The float network with one value replaced.
class Probe {
 public:
  explicit Probe(const Graph& reference)
      : executor_(reference, {.keep = {}, .edit = [this](ValueId id, Tensor& tensor) {
                    if (id == value_) overwrite(tensor, *contents_);
                  }}) {}
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs, ValueId value, const Tensor& contents) {
    value_ = value;
    contents_ = &contents;
    return executor_.run(inputs);
  }

 private:
  ValueId value_;
  const Tensor* contents_ = nullptr;
  Executor executor_;
};

Status measure_at_outputs(Probe& probe, std::span<const Tensor> inputs, const std::vector<Tensor>& expected, const std::map<ValueId, Site>& sites, const RealValues& alone) {
  for (const auto& [id, site] : sites) {
    const auto found = alone.find(site.reference);
    if (found == alone.end() || site.layer->moves) continue;
    NARROW_TRY(check_cancelled());
    const std::vector<Tensor> outputs = NARROW_TRY(probe.run(inputs, site.reference, found->second));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (expected[k].dtype() == DType::kF32) site.layer->output.add(expected[k], outputs[k]);
    }
  }
  return {};
}

// Lanes side by side: a single chain of comparisons would wait for itself.
NARROW_CLONES void widen(std::span<const float> values, float& low, float& high) {
  constexpr std::size_t kLanes = 32;
  float lo[kLanes], hi[kLanes];
  std::fill_n(lo, kLanes, low);
  std::fill_n(hi, kLanes, high);
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float x = values[i + lane];
      lo[lane] = x < lo[lane] ? x : lo[lane];
      hi[lane] = x > hi[lane] ? x : hi[lane];
    }
  }
  for (std::size_t lane = 0; i < values.size(); ++i, ++lane) {
    lo[lane] = std::min(lo[lane], values[i]);
    hi[lane] = std::max(hi[lane], values[i]);
  }
  low = *std::min_element(lo, lo + kLanes);
  high = *std::max_element(hi, hi + kLanes);
}

std::pair<double, double> extremes_of(std::span<const float> values) {
  constexpr std::size_t kChunk = 1 << 15;
  const std::size_t chunks = (values.size() + kChunk - 1) / kChunk;
  std::vector<float> low(chunks, values[0]), high(chunks, values[0]);
  parallel_for(static_cast<std::int64_t>(chunks), [&](std::int64_t i) {
    const auto k = static_cast<std::size_t>(i);
    widen(values.subspan(k * kChunk, std::min(kChunk, values.size() - k * kChunk)), low[k], high[k]);
  });
  return {static_cast<double>(*std::min_element(low.begin(), low.end())), static_cast<double>(*std::max_element(high.begin(), high.end()))};
}

void observe_real(LayerComparison& layer, const Tensor& whole, const Node* reader, bool first) {
  const Tensor real = reader == nullptr ? whole : as_read(*reader, whole.clone());
  const std::span<const float> values = real.span<float>();
  if (values.empty()) return;
  const auto [low, high] = extremes_of(values);
  layer.min = first ? low : std::min(layer.min, low);
  layer.max = first ? high : std::max(layer.max, high);
  if (layer.integer) layer.clipped.add(real, layer.params);
}

bool only_moves(const Graph& graph, const Node& node) {
  const OpDef& op = op_of(node);
  if (op.quant_rule == nullptr || !op.quant_rule(graph, node).follows_input) return false;
  return std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId in) { return in && graph.value(in).dtype == DType::kF32; }) == 1;
}

std::vector<LayerComparison> list_layers(const Graph& reference, const Graph& network, std::vector<ValueId>& values) {
  std::vector<LayerComparison> layers;
  for (const NodeId id : reference.order()) {
    const Node& node = reference.node(id);
    for (const ValueId out : node.outputs) {
      if (reference.value(out).dtype != DType::kF32) continue;
      const ValueId other = counterpart(reference, out, network);
      if (!other) continue;
      LayerComparison layer{.node = node.name, .op = node.op, .value = reference.value(out).name, .origin = node.origin};
      layer.moves = only_moves(reference, node);
      if (network.value(other).quant) {
        layer.integer = true;
        layer.params = *network.value(other).quant;
      }
      layers.push_back(std::move(layer));
      values.push_back(out);
    }
  }
  return layers;
}

Status check_same_inputs(const Graph& reference, const Graph& network) {
  if (reference.inputs().size() != network.inputs().size()) {
    return error("the two networks have {} and {} inputs; wanted the same number", reference.inputs().size(), network.inputs().size());
  }
  for (std::size_t i = 0; i < reference.inputs().size(); ++i) {
    const Value& a = reference.value(reference.inputs()[i]);
    const Value& b = network.value(network.inputs()[i]);
    if (a.name != b.name || a.shape != b.shape) {
      return error("input {} is '{}' {} in one network and '{}' {} in the other", i, a.name, to_string(a.shape), b.name, to_string(b.shape))
          .with_help("compare a model with an artifact made from that model");
    }
  }
  return {};
}

}  // namespace

void report_lost(const Graph& reference, const Comparison& comparison, Diagnostics& diagnostics) {
  const auto first = std::find_if(comparison.layers.begin(), comparison.layers.end(), [](const LayerComparison& layer) { return layer.cumulative.lost() > 0; });
  if (first == comparison.layers.end()) return;
  std::string in_front;
  for (const ValueId in : reference.node(reference.find_node(first->node)).inputs) {
    const Node* producer = in ? reference.producer(in) : nullptr;
    if (producer != nullptr) in_front += fmt::format("{}{{match: \"{}\", keep: float}}", in_front.empty() ? "" : ", ", producer->name);
  }
  const ErrorMetrics& metrics = first->cumulative;
  diagnostics.warn(fmt::format("layer '{}' ({}) gives NaN or infinities in {} of {} elements, where the float network gives numbers", first->node, first->op, metrics.lost(), metrics.elements() + metrics.non_finite()),
                   in_front.empty() ? "look at what it reads: a number has become 0 on its grid"
                                    : fmt::format("what it reads has become 0 on its grid; keep that in float: in the recipe, layers: [{}]", in_front));
}

double Comparison::lowest_output_sqnr() const {
  double lowest = std::numeric_limits<double>::infinity();
  for (const OutputComparison& output : outputs) lowest = std::min(lowest, output.metrics.sqnr_db());
  return lowest;
}

double Comparison::lowest_output_cosine() const {
  double lowest = 1;
  for (const OutputComparison& output : outputs) lowest = std::min(lowest, output.metrics.cosine());
  return lowest;
}

double Comparison::argmax_agreement() const {
  if (outputs.empty() || samples == 0 || !outputs[0].scores) return 100;
  return 100.0 * static_cast<double>(outputs[0].same_argmax) / static_cast<double>(samples);
}

Result<Comparison> compare_layers(const Graph& reference, const Graph& network, const Dataset& dataset, const CompareOptions& options, Progress& progress) {
  NARROW_TRY(check_same_inputs(reference, network));
  Comparison result;
  std::vector<ValueId> values;
  result.layers = list_layers(reference, network, values);
  std::map<ValueId, Site> sites;            // by id in the network
  std::map<ValueId, LayerComparison*> layers;  // by id in the float graph
  for (std::size_t i = 0; i < values.size(); ++i) {
    sites[counterpart(reference, values[i], network)] = {&result.layers[i], values[i], selective_reader(reference, values[i])};
    layers[values[i]] = &result.layers[i];
  }
  for (const ValueId out : reference.outputs()) {
    const Shape& shape = reference.value(out).shape;
    const bool scores = !shape.empty() && shape.back() > 1 && element_count(shape) == shape.back();
    result.outputs.push_back({.name = reference.value(out).name, .metrics = {}, .scores = scores});
  }

  RealValues float_values;                // what one sample needs again
  std::map<ValueId, ValueId> references;  // of the network's values: theirs in the float graph
  for (const ValueId id : reference.live_values()) {
    const ValueId other = reference.value(id).is_constant() ? ValueId{} : counterpart(reference, id, network);
    if (!other) continue;
    references[other] = id;
    float_values[id];
  }
  const LayerObserver cumulative(network, sites, float_values, &LayerComparison::cumulative);
  LayerObserver isolated(network, sites, float_values, &LayerComparison::isolated);
  Executor run_reference(reference);
  Network run_network(network, references, float_values);
  std::optional<Probe> probe;
  if (options.output_samples > 0) probe.emplace(reference);

  const std::int64_t count = std::min(options.samples, dataset.size() - options.first);
  for (SampleStream stream(dataset, options.first, dataset.size()); !stream.done() && result.samples < options.samples;) {
    NARROW_TRY(check_cancelled());
    const std::int64_t index = stream.index();
    Result<Sample> loaded = stream.next();
    if (!loaded && (result.samples > 0 || !stream.done())) {
      if (options.diagnostics != nullptr) warn_left_out(dataset, index, loaded.error(), *options.diagnostics);
      continue;
    }
    const Sample sample = NARROW_TRY(std::move(loaded));
    const std::vector<Tensor> expected = NARROW_TRY(run_reference.run(sample.inputs, [&](ValueId id, const Tensor& tensor) {
      if (const auto wanted = float_values.find(id); wanted != float_values.end()) keep_copy(tensor, wanted->second);
      if (const auto layer = layers.find(id); layer != layers.end()) observe_real(*layer->second, tensor, selective_reader(reference, id), result.samples == 0);
    }));
    const std::vector<Tensor> found = NARROW_TRY(run_network.run(sample.inputs, cumulative));
    RealValues alone;
    const bool at_outputs = result.samples < options.output_samples;
    isolated.keep(at_outputs ? &alone : nullptr);
    NARROW_TRY(run_network.run_apart(sample.inputs, isolated));
    if (at_outputs) NARROW_TRY(measure_at_outputs(*probe, sample.inputs, expected, sites, alone));
    for (std::size_t k = 0; k < expected.size(); ++k) {
      if (expected[k].dtype() != DType::kF32) {
        result.outputs[k].metrics.add(expected[k].cast(DType::kF32), found[k].cast(DType::kF32));
        continue;
      }
      result.outputs[k].metrics.add(expected[k], found[k]);
      if (result.outputs[k].scores) result.outputs[k].same_argmax += argmax(expected[k].span<float>()) == argmax(found[k].span<float>()) ? 1 : 0;
    }
    ++result.samples;
    progress.step(result.samples, count, "samples");
  }
  return result;
}

}  // namespace narrow
