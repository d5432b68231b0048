#include "data/input_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/table.h"
#include "base/text.h"
#include "data/prepare.h"
#include "data/sample_stream.h"

namespace narrow {
namespace {

constexpr std::int64_t kMaxChannels = 16;
// Normalised data have a standard deviation near 1, pixels in [0, 1] one near 0.25; dividing either by 255 again, or
// treating [0, 1] as [0, 255], leaves less than this.
constexpr double kSqueezedDeviation = 0.02;
constexpr double kSqueezedRange = 0.05;
constexpr double kSmallPart = 0.05;   // of the calibrated grid; a dark picture fills more
constexpr double kFarBeyond = 1;      // widths of the calibrated grid

struct Accumulator {
  double min = std::numeric_limits<double>::infinity(), max = -std::numeric_limits<double>::infinity();
  double sum = 0, squares = 0;
  std::int64_t count = 0;
  void add(double x) {
    min = std::min(min, x);
    max = std::max(max, x);
    sum += x;
    squares += x * x;
    ++count;
  }
  void merge(const Accumulator& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    sum += other.sum;
    squares += other.squares;
    count += other.count;
  }
  Moments moments() const {
    if (count == 0) return {};
    const double mean = sum / static_cast<double>(count);
    return {min, max, mean, std::sqrt(std::max(0.0, squares / static_cast<double>(count) - mean * mean))};
  }
};

struct Gathered {
  InputSpec spec;
  std::vector<Accumulator> channels;
  std::int64_t samples = 0, not_finite = 0;
};

void gather(const Tensor& fed, Gathered* to) {
  const Tensor values = fed.cast(DType::kF64);
  const Shape& shape = to->spec.type.shape;
  std::int64_t inner = 1;
  for (std::size_t a = static_cast<std::size_t>(to->spec.channel_axis) + 1; to->channels.size() > 1 && a < shape.size(); ++a) inner *= shape[a];
  const auto channels = static_cast<std::int64_t>(to->channels.size());
  const double* x = values.data<double>();
  for (std::int64_t i = 0; i < values.elements(); ++i) {
    if (std::isfinite(x[i])) {
      to->channels[static_cast<std::size_t>(i / inner % channels)].add(x[i]);
    } else {
      ++to->not_finite;
    }
  }
  ++to->samples;
}

std::string short_number(double x) { return fmt::format("{:.4g}", x); }

bool changes_values(const InputRecipe& recipe) {
  const auto differs_from = [](const std::vector<double>& list, double neutral) {
    return std::any_of(list.begin(), list.end(), [&](double v) { return v != neutral; });
  };
  return differs_from(recipe.mean, 0) || differs_from(recipe.scale, 1);
}

}  // namespace

Result<std::vector<InputStatistics>> measure_inputs(const Dataset& data, const Graph& graph, const Recipe& recipe, std::int64_t samples) {
  std::vector<Gathered> inputs;
  for (const ValueId id : graph.inputs()) {
    Gathered input{NARROW_TRY(make_input_spec(graph.value(id), recipe)), {}};
    const std::int64_t channels = input.spec.channel_axis < 0 ? 1 : input.spec.type.shape[static_cast<std::size_t>(input.spec.channel_axis)];
    input.channels.resize(channels <= kMaxChannels ? static_cast<std::size_t>(channels) : 1);
    inputs.push_back(std::move(input));
  }
  std::optional<Error> first_error;
  for (SampleStream stream(data, 0, samples); !stream.done();) {
    const auto sample = stream.next();
    if (!sample) {
      if (!first_error) first_error = sample.error();
      continue;
    }
    for (std::size_t k = 0; k < inputs.size(); ++k) gather(sample->inputs[k], &inputs[k]);
  }
  if (first_error && inputs[0].samples == 0) return tl::unexpected<Error>(std::move(*first_error));
  std::vector<InputStatistics> out;
  for (const Gathered& input : inputs) {
    InputStatistics s;
    s.name = input.spec.name;
    s.samples = input.samples;
    s.not_finite = input.not_finite;
    Accumulator all;
    for (const Accumulator& channel : input.channels) all.merge(channel);
    s.elements = all.count;
    s.all = all.moments();
    for (const Accumulator& channel : input.channels) {
      if (input.channels.size() > 1) s.channels.push_back(channel.moments());
    }
    out.push_back(std::move(s));
  }
  return out;
}

std::vector<std::string> describe_inputs(const Dataset& data, const std::vector<InputStatistics>& statistics) {
  std::vector<std::string> lines;
  for (std::string& line : split(data.formula(), '\n')) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  for (const InputStatistics& s : statistics) {
    std::string seen = s.elements == 0 ? std::string("nothing finite")
                                       : fmt::format("min {}, max {}, mean {}, deviation {}", short_number(s.all.min), short_number(s.all.max), short_number(s.all.mean), short_number(s.all.deviation));
    lines.push_back(fmt::format("{} as fed: {} over {}", s.name, seen, counted(s.samples, "sample")));
  }
  return lines;
}

std::string to_string(const std::vector<InputStatistics>& statistics) {
  Table table({{"input"}, {"min", Align::kRight}, {"max", Align::kRight}, {"mean", Align::kRight}, {"std", Align::kRight}});
  const auto row = [&](const std::string& name, const Moments& m) {
    table.add_row({name, short_number(m.min), short_number(m.max), short_number(m.mean), short_number(m.deviation)});
  };
  for (const InputStatistics& s : statistics) {
    row(s.name, s.all);
    for (std::size_t c = 0; c < s.channels.size(); ++c) row(fmt::format("  channel {}", c), s.channels[c]);
  }
  return table.to_string();
}

void check_inputs(const std::vector<InputStatistics>& statistics, const Graph& graph, const Recipe& recipe, Diagnostics& diagnostics) {
  for (const InputStatistics& s : statistics) {
    const ValueId id = graph.find_value(s.name);
    if (!id) continue;
    const auto spec = make_input_spec(graph.value(id), recipe);
    if (!spec) continue;
    const std::string span = fmt::format("{} to {}", short_number(s.all.min), short_number(s.all.max));
    if (s.not_finite > 0) {
      diagnostics.warn(fmt::format("input '{}' is fed {} values that are NaN or infinite", s.name, s.not_finite), "look for a division by zero in what made the data");
    }
    if (s.elements == 0 || !is_float(spec->type.dtype)) continue;
    if (s.all.min == s.all.max) {
      if (spec->image) diagnostics.warn(fmt::format("input '{}' is fed the constant {}", s.name, short_number(s.all.min)), "look at the data: there is nothing to see for the network");
    } else if (spec->image && !spec->normalised() && s.all.min >= 0 && s.all.max > 2 && s.all.max <= 255) {
      diagnostics.warn(fmt::format("input '{}' is fed values from {} and the recipe has neither mean nor scale: the data look un-normalised", s.name, span),
                       "if the network expects [0, 1], write 'divide: 255' for this input, or its 'mean' and 'std'; if it expects these values, write 'scale: 1' to say so");
    } else if (changes_values(spec->recipe) && (s.all.max - s.all.min < kSqueezedRange || s.all.deviation < kSqueezedDeviation)) {
      diagnostics.warn(fmt::format("input '{}' is fed values from {} only, with a standard deviation of {}: the data look normalised twice", s.name, span, short_number(s.all.deviation)),
                       "if the data files are normalised already, remove 'divide', 'mean', 'std' and 'scale' from the recipe", spec->recipe.where);
    }
  }
}

void check_against_grids(const std::vector<InputStatistics>& statistics, const Graph& network, Diagnostics& diagnostics) {
  for (const InputStatistics& s : statistics) {
    const ValueId id = network.find_value(s.name);
    if (!id || !network.value(id).quant || s.elements == 0) continue;
    const QuantParams& grid = *network.value(id).quant;
    const double width = grid.highest() - grid.lowest(), margin = kFarBeyond * width;
    const bool beyond = s.all.min < grid.lowest() - margin || s.all.max > grid.highest() + margin;
    if (!beyond && s.all.max - s.all.min >= kSmallPart * width) continue;
    diagnostics.warn(fmt::format("input '{}' is fed values from {} to {}, but the network was calibrated for [{}, {}]", s.name, short_number(s.all.min), short_number(s.all.max),
                                 short_number(grid.lowest()), short_number(grid.highest())),
                     "data must be normalised once, as in calibration: `-c` gives another recipe than the artifact's");
  }
}

}  // namespace narrow
