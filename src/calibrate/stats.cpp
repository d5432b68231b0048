#include "calibrate/stats.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/hash.h"
#include "base/text.h"

namespace narrow {
namespace {

constexpr int kVersion = 1;
constexpr double kQuantum = 0x1p-40;
constexpr double kLargest = 0x1p64;  // beyond, a term saturates: 2^23 of them still fit 128 bits

std::string to_text(__int128 value) {
  const bool negative = value < 0;
  auto rest = negative ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  return negative ? "-" + digits : digits;
}

// Lists of numbers are kept as one string each: a Json node per number would be slow and large.
std::string to_text(const std::vector<float>& values) {
  std::string text;
  for (const float v : values) text += (text.empty() ? "" : " ") + exact(v);
  return text;
}

std::string to_text(const std::vector<ExactSum>& sums) {
  std::string text;
  for (const ExactSum& s : sums) text += (text.empty() ? "" : " ") + to_text(s.quanta);
  return text;
}

// Reads the members of one object; the first problem is kept, so that the reader below is a plain list.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  void read(std::string_view key, std::string* to) {
    if (const Json* j = want(key); j != nullptr && check(j->is_string(), key, "a string", *j)) *to = j->as_string();
  }
  void read(std::string_view key, std::uint64_t* to) {
    if (const Json* j = want(key); j != nullptr && check(j->is_int() && j->as_int() >= 0, key, "a count", *j)) *to = static_cast<std::uint64_t>(j->as_int());
  }
  void read(std::string_view key, float* to) {
    const Json* j = want(key);
    if (j != nullptr && check(j->is_number() && std::abs(j->as_double()) <= static_cast<double>(std::numeric_limits<float>::max()), key, "a number that a float holds", *j)) {
      *to = static_cast<float>(j->as_double());
    }
  }
  void read_hash(std::string_view key, std::uint64_t* to) {
    if (const Json* j = want(key); j != nullptr) check(j->is_string() && hash_from_string(j->as_string(), to), key, "16 hexadecimal digits", *j);
  }
  void read(std::string_view key, std::vector<float>* to) {
    each(key, [&](const std::string& token) {
      char* end = nullptr;
      to->push_back(std::strtof(token.c_str(), &end));
      return *end == '\0' && !std::isnan(to->back());
    });
  }
  void read(std::string_view key, std::vector<ExactSum>* to) {
    each(key, [&](const std::string& token) { return parse(token, &to->emplace_back().quanta); });
  }
  void read(std::string_view key, ExactSum* to) {
    if (const Json* j = want(key); j != nullptr) check(j->is_string() && parse(j->as_string(), &to->quanta), key, "a whole number", *j);
  }
  void read(std::string_view key, DyadicHistogram* to) {
    const Json* j = want(key);
    if (j == nullptr) return;
    Result<DyadicHistogram> h = DyadicHistogram::from_json(*j);
    if (h) *to = std::move(*h);
    else fail(std::move(h).error());
  }
  Status status() const {
    if (failed_) return tl::unexpected(error_);
    return {};
  }

 private:
  const Json* want(std::string_view key) {
    const Json* j = json_.find(key);
    if (j == nullptr) fail(error("statistics lack \"{}\"", key).at(json_.where));
    return failed_ ? nullptr : j;
  }
  bool check(bool good, std::string_view key, std::string_view wanted, const Json& j) {
    if (!good) fail(error("\"{}\" in the statistics is not {}", key, wanted).at(j.where));
    return good;
  }
  void fail(Error e) {
    if (!failed_) error_ = std::move(e);
    failed_ = true;
  }
  template <typename Fn>
  void each(std::string_view key, const Fn& fn) {
    const Json* j = want(key);
    if (j == nullptr || !check(j->is_string(), key, "a list of numbers in one string", *j) || j->as_string().empty()) return;
    for (const std::string& token : split(j->as_string(), ' ')) {
      if (!check(!token.empty() && fn(token), key, "a list of numbers in one string", *j)) return;
    }
  }
  static bool parse(std::string_view text, __int128* to) {
    const bool negative = !text.empty() && text[0] == '-';
    if (negative) text.remove_prefix(1);
    if (text.empty() || text.size() > 38) return false;
    *to = 0;
    for (const char c : text) {
      if (c < '0' || c > '9') return false;
      *to = *to * 10 + (c - '0');
    }
    if (negative) *to = -*to;
    return true;
  }

  const Json& json_;
  bool failed_ = false;
  Error error_;
};

}  // namespace

// Truncated to a whole number of quanta: the sum is exact from there on.
void ExactSum::add(double x) {
  constexpr double kFast = 0x1p22;  // the usual case fits 64 bits, whose conversion is one instruction
  if (std::abs(x) < kFast) quanta += static_cast<std::int64_t>(x / kQuantum);
  else quanta += static_cast<__int128>(std::clamp(x, -kLargest, kLargest) / kQuantum);
}
double ExactSum::value() const { return static_cast<double>(quanta) * kQuantum; }

double ValueStats::channel_variance(std::size_t c) const {
  if (samples == 0) return 0;
  const double mean = channel_mean(c);
  return std::max(0.0, channel_squares[c].value() / static_cast<double>(samples) - mean * mean);
}

void ValueStats::merge(const ValueStats& other) {
  NARROW_CHECK(value == other.value, "'{}' and '{}'", value, other.value);
  const bool has_any = elements > nan_count + inf_count, others_any = other.elements > other.nan_count + other.inf_count;
  elements += other.elements;
  samples += other.samples;
  nan_count += other.nan_count;
  inf_count += other.inf_count;
  if (!others_any) return;
  if (!has_any) {
    min = other.min;
    max = other.max;
    channel_min = other.channel_min;
    channel_max = other.channel_max;
    channel_sum = other.channel_sum;
    channel_squares = other.channel_squares;
  } else {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    NARROW_CHECK(channel_sum.size() == other.channel_sum.size());
    for (std::size_t c = 0; c < channel_sum.size(); ++c) {
      channel_min[c] = std::min(channel_min[c], other.channel_min[c]);
      channel_max[c] = std::max(channel_max[c], other.channel_max[c]);
      channel_sum[c].merge(other.channel_sum[c]);
      channel_squares[c].merge(other.channel_squares[c]);
    }
  }
  sum_of_min.merge(other.sum_of_min);
  sum_of_max.merge(other.sum_of_max);
  histogram.merge(other.histogram);
}

const ValueStats* Stats::find(std::string_view value) const {
  const auto it = std::find_if(values.begin(), values.end(), [&](const ValueStats& v) { return v.value == value; });
  return it == values.end() ? nullptr : &*it;
}

Status Stats::merge(const Stats& other) {
  const auto same_name = [](const ValueStats& a, const ValueStats& b) { return a.value == b.value; };
  if (graph_hash != other.graph_hash || !std::equal(values.begin(), values.end(), other.values.begin(), other.values.end(), same_name)) {
    return error("statistics of graph {} cannot be merged with those of graph {}", hash_to_string(graph_hash), hash_to_string(other.graph_hash))
        .with_help("calibrate both parts on the same model with the same recipe and target");
  }
  samples += other.samples;
  for (std::size_t i = 0; i < values.size(); ++i) values[i].merge(other.values[i]);
  return {};
}

std::uint64_t Stats::hash() const { return hash_text(to_json().dump(-1)); }

Json Stats::to_json() const {
  Json json;
  json["narrow_stats"] = kVersion;
  json["graph"] = hash_to_string(graph_hash);
  json["samples"] = samples;
  json["values"] = Json::array();
  for (const ValueStats& v : values) {
    Json j;
    j["value"] = v.value;
    j["elements"] = v.elements;
    j["samples"] = v.samples;
    j["nan"] = v.nan_count;
    j["inf"] = v.inf_count;
    j["min"] = static_cast<double>(v.min);
    j["max"] = static_cast<double>(v.max);
    j["channel_min"] = to_text(v.channel_min);
    j["channel_max"] = to_text(v.channel_max);
    j["channel_sum"] = to_text(v.channel_sum);
    j["channel_squares"] = to_text(v.channel_squares);
    j["sum_of_min"] = to_text(v.sum_of_min.quanta);
    j["sum_of_max"] = to_text(v.sum_of_max.quanta);
    j["histogram"] = v.histogram.to_json();
    json["values"].push_back(std::move(j));
  }
  return json;
}

Result<Stats> Stats::from_json(const Json& json) {
  const Json *version = json.find("narrow_stats"), *list = json.find("values");
  if (version == nullptr || list == nullptr || !list->is_array()) return error("this is not a statistics file of narrow").at(json.where);
  if (!version->is_int() || version->as_int() != kVersion) {
    return error("statistics of version {}, this program reads version {}", version->dump(-1), kVersion).at(version->where).with_help("calibrate again");
  }
  Stats stats;
  Reader top(json);
  top.read_hash("graph", &stats.graph_hash);
  top.read("samples", &stats.samples);
  NARROW_TRY(top.status());
  for (const Json& j : list->items()) {
    ValueStats& v = stats.values.emplace_back();
    Reader in(j);
    in.read("value", &v.value);
    in.read("elements", &v.elements);
    in.read("samples", &v.samples);
    in.read("nan", &v.nan_count);
    in.read("inf", &v.inf_count);
    in.read("min", &v.min);
    in.read("max", &v.max);
    in.read("channel_min", &v.channel_min);
    in.read("channel_max", &v.channel_max);
    in.read("channel_sum", &v.channel_sum);
    in.read("channel_squares", &v.channel_squares);
    in.read("sum_of_min", &v.sum_of_min);
    in.read("sum_of_max", &v.sum_of_max);
    in.read("histogram", &v.histogram);
    NARROW_TRY(in.status());
    if (v.channel_min.size() != v.channel_max.size() || v.channel_min.size() != v.channel_sum.size() || v.channel_min.size() != v.channel_squares.size() || !(v.min <= v.max)) {
      return error("the statistics of '{}' are damaged", v.value).at(j.where).with_help("calibrate again");
    }
  }
  return stats;
}

}  // namespace narrow
