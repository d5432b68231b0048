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
// Of |mean| + std, which data reach that the recipe is made for. Pictures in [0, 1], or normalised by a mean and std, reach 0.015 at
// most of what a recipe for codes expects; a photograph at night, whose brightest pixel has code 20, 0.08.
constexpr double kUnused = 0.03;
constexpr double kNormalised = 10;      // what normalised data do not reach, and codes do
constexpr double kTooLarge = 20;        // times |mean| + std, and
constexpr double kTooWide = 10;         // standard deviation as fed, where 1 is meant: no outliers reach that
constexpr double kBelowZero = -0.1;     // of pictures in [0, 1], with what resizing overshoots
constexpr double kTwiceDivided = 2;     // standard deviation of what was divided by its own twice, where 1 is meant
constexpr double kOffCentre = 0.5;      // mean of colour pictures from which it was subtracted twice, where 0 is meant
constexpr double kDimmest = 64;         // the brightest of four pictures that somebody resized and stored as reals; features seldom reach it
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

// What was in the files: the least and the greatest value of each channel taken back.
std::optional<std::pair<double, double>> before_recipe(const InputSpec& spec, const InputStatistics& s) {
  const std::vector<Moments> all = {s.all}, &channels = s.channels.empty() ? all : s.channels;
  if (s.channels.empty() && std::max(spec.recipe.mean.size(), spec.recipe.scale.size()) > 1) return std::nullopt;
  std::pair out(std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity());
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const auto channel = static_cast<std::int64_t>(c);
    if (spec.scale(channel) == 0) return std::nullopt;
    for (const double fed : {channels[c].min, channels[c].max}) {
      double x = fed / spec.scale(channel) + spec.mean(channel);
      const double whole = round_half_even(x), resolution = std::numeric_limits<float>::epsilon() * std::max(std::abs(x), std::abs(spec.mean(channel)));
      if (std::abs(x - whole) <= resolution) x = whole + 0.0;  // not -0; as far as what is fed tells
      out = {std::min(out.first, x), std::max(out.second, x)};
    }
  }
  return out;
}

std::string short_number(double x) { return fmt::format("{:.4g}", x + 0.0); }  // + 0.0: no "-0"

bool changes_values(const InputRecipe& recipe) {
  const auto differs_from = [](const std::vector<double>& list, double neutral) {
    return std::any_of(list.begin(), list.end(), [&](double v) { return v != neutral; });
  };
  return differs_from(recipe.mean, 0) || differs_from(recipe.scale, 1);
}

// One value per channel counts as such: the recipe's mean may differ between them.
bool is_constant(const InputStatistics& s) {
  return s.all.min == s.all.max || (!s.channels.empty() && std::all_of(s.channels.begin(), s.channels.end(), [](const Moments& m) { return m.min == m.max; }));
}

// Codes of pictures. Reals that were never whole may be features of any range, which a network reads as a map of one channel as well.
bool look_like_codes(const InputStatistics& s) {
  if (s.all.min < 0 || s.all.max <= 2 || s.all.max > 255) return false;
  const bool whole = s.all.min == std::floor(s.all.min) && s.all.max == std::floor(s.all.max);
  return whole || s.all.max >= kDimmest || !s.stored_type || !is_float(*s.stored_type);
}

struct Finding {
  std::string message, help;
};

// The recipe has a mean or a scale, so it is made for data of a certain size, |mean| + std. Data of another size are none that it fits.
std::optional<Finding> wrong_size(const InputSpec& spec, const InputStatistics& s) {
  const InputRecipe& recipe = spec.recipe;
  const auto [low, high] = *s.stored;
  const double largest = std::max(std::abs(low), std::abs(high));
  double expected = std::numeric_limits<double>::infinity();  // of the channel for which it is least
  bool made_for_unit = !recipe.mean.empty() && recipe.divide == 1;
  for (std::size_t c = 0; c < std::max(recipe.mean.size(), recipe.scale.size()); ++c) {
    const double mean = spec.mean(static_cast<std::int64_t>(c)), deviation = 1 / std::abs(spec.scale(static_cast<std::int64_t>(c)));
    expected = std::min(expected, std::abs(mean) + deviation);
    made_for_unit = made_for_unit && mean > 0 && mean < 1 && deviation <= 1;  // a zero point would be a whole number
  }
  const std::string fed = fmt::format("input '{}' is fed values from {} to {}", s.name, short_number(s.all.min), short_number(s.all.max));
  const std::string hold = fmt::format("the data hold values from {} to {}", short_number(low), short_number(high));
  const bool features = !spec.image && s.stored_type && !is_float(*s.stored_type);  // quantized ones may have any scale
  if (largest < kUnused * expected && !features) {
    const std::string message = fmt::format("{}: {}, the recipe is made for values up to {} at least", fed, hold, short_number(expected));
    if (largest < kNormalised) return Finding{message + "; they look normalised already", "if they are, remove 'divide', 'mean', 'std' and 'scale' from the recipe"};
    if (recipe.divide == 1 || recipe.mean.empty()) return Finding{message, "check the units of 'divide', 'mean', 'std' and 'scale'"};
    return Finding{message, fmt::format("'mean' and 'std' are those of the data after 'divide: {}', as 0.485 and 0.229 for pictures in [0, 1]; or leave 'divide' out", short_number(recipe.divide))};
  }
  if (!made_for_unit) return std::nullopt;
  const std::string message = fmt::format("{}: {}, but 'mean' and 'std' are made for data in [0, 1]", fed, hold);
  if (largest > kTooLarge * expected && s.all.deviation > kTooWide) {
    return Finding{message, low >= 0 && high <= 255 ? "add 'divide: 255' to the recipe of this input" : "add to the recipe of this input a 'divide' that brings them to [0, 1]"};
  }
  const bool off_centre = s.all.deviation > kTwiceDivided || (spec.image && spec.image->channels == 3 && std::abs(s.all.mean) > kOffCentre);
  if (spec.image && low < kBelowZero && largest < kNormalised && off_centre) {
    return Finding{message + "; they look normalised already", "if they are, remove 'mean', 'std' and 'scale' from the recipe"};
  }
  return std::nullopt;
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
  for (SampleStream stream(data, 0, data.size()); !stream.done() && inputs[0].samples < samples;) {
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
    if (s.elements > 0) s.stored = before_recipe(input.spec, s);
    s.stored_type = data.stored_type(out.size());
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
    const std::string span = s.all.min == s.all.max ? short_number(s.all.min) : fmt::format("{} to {}", short_number(s.all.min), short_number(s.all.max));
    if (s.not_finite > 0) {
      diagnostics.warn(fmt::format("input '{}' is fed {} values that are NaN or infinite", s.name, s.not_finite), "look for a division by zero in what made the data");
    }
    if (s.elements == 0 || !is_float(spec->type.dtype)) continue;
    if (is_constant(s)) {
      if (spec->image) diagnostics.warn(fmt::format("input '{}' is fed {} {}", s.name, s.all.min == s.all.max ? "the constant" : "one constant per channel, from", span), "look at the data: there is nothing to see for the network");
    } else if (spec->image && !spec->normalised() && look_like_codes(s)) {
      diagnostics.warn(fmt::format("input '{}' is fed values from {} and the recipe has neither mean nor scale: the data look un-normalised", s.name, span),
                       "if the network expects [0, 1], write 'divide: 255' for this input, or its 'mean' and 'std'; if it expects these values, write 'scale: 1' to say so");
    } else if (changes_values(spec->recipe) && s.stored) {
      if (const auto found = wrong_size(*spec, s)) diagnostics.warn(found->message, found->help, spec->recipe.where);
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
