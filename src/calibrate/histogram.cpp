#include "calibrate/histogram.h"

#include <algorithm>
#include <cmath>

#include "kernels/range_scan.h"

namespace narrow {
namespace {

// floor(x / 2^exponent); exact: the quotient of a float by a power of two is a double.
std::int64_t bin_of(double x, int exponent) { return static_cast<std::int64_t>(std::floor(std::ldexp(x, -exponent))); }

// Bins between the two, zero's bin included: a quantized range always contains zero, and indices stay below kMaxBins.
std::int64_t span_of(std::int64_t first, std::int64_t last) { return std::max<std::int64_t>(last, 0) - std::min<std::int64_t>(first, 0) + 1; }

}  // namespace

double DyadicHistogram::width() const { return std::ldexp(1.0, exponent_); }

void DyadicHistogram::cover(float lo, float hi) {
  NARROW_CHECK(std::isfinite(lo) && std::isfinite(hi) && lo <= hi);
  // Start where neither index can exceed an int64: |x| < 2^128.
  int exponent = std::max(exponent_, std::ilogb(std::max({std::abs(lo), std::abs(hi), 1e-38F})) - 40);
  const auto hull = [&](int e) {
    std::pair<std::int64_t, std::int64_t> range{bin_of(static_cast<double>(lo), e), bin_of(static_cast<double>(hi), e)};
    if (!empty()) {
      const int shift = std::min(e - exponent_, 62);
      range.first = std::min(range.first, first_ >> shift);
      range.second = std::max(range.second, (first_ + static_cast<std::int64_t>(counts_.size()) - 1) >> shift);
    }
    return range;
  };
  auto range = hull(exponent);
  while (span_of(range.first, range.second) > kMaxBins) range = hull(++exponent);
  coarsen(exponent);
  extend(range.first, range.second);
}

void DyadicHistogram::coarsen(int exponent) {
  const int shift = std::min(exponent - exponent_, 62);
  exponent_ = exponent;
  if (shift == 0 || counts_.empty()) return;
  const std::int64_t first = first_ >> shift;
  const std::int64_t last = (first_ + static_cast<std::int64_t>(counts_.size()) - 1) >> shift;
  std::vector<std::uint64_t> merged(static_cast<std::size_t>(last - first + 1));
  for (std::size_t i = 0; i < counts_.size(); ++i) merged[static_cast<std::size_t>(((first_ + static_cast<std::int64_t>(i)) >> shift) - first)] += counts_[i];
  first_ = first;
  counts_ = std::move(merged);
}

void DyadicHistogram::extend(std::int64_t first, std::int64_t last) {
  if (counts_.empty()) {
    first_ = first;
    counts_.assign(static_cast<std::size_t>(last - first + 1), 0);
    return;
  }
  if (first < first_) {
    counts_.insert(counts_.begin(), static_cast<std::size_t>(first_ - first), 0);
    first_ = first;
  }
  const auto size = static_cast<std::size_t>(last - first_ + 1);
  if (size > counts_.size()) counts_.resize(size);
}

void DyadicHistogram::add(std::span<const float> values) {
  std::vector<std::uint32_t> tables(counts_.size() * kBinTables);
  count_bins(values.data(), static_cast<std::int64_t>(values.size()), exponent_, static_cast<std::int32_t>(first_), tables.data());
  for (std::size_t i = 0; i < tables.size(); ++i) counts_[i / kBinTables] += tables[i];
}

void DyadicHistogram::add_count(std::int64_t bin, std::uint64_t count) {
  const std::int64_t i = bin - first_;
  NARROW_CHECK(i >= 0 && i < static_cast<std::int64_t>(counts_.size()), "bin {} is not covered", bin);
  counts_[static_cast<std::size_t>(i)] += count;
}

void DyadicHistogram::merge(const DyadicHistogram& other) {
  if (other.empty()) return;
  if (empty()) {
    *this = other;
    return;
  }
  // At a common exponent both are integers; then the hull may need a coarser one.
  DyadicHistogram theirs = other;
  int exponent = std::max(exponent_, theirs.exponent_);
  coarsen(exponent);
  theirs.coarsen(exponent);
  const auto last = [](const DyadicHistogram& h) { return h.first_ + static_cast<std::int64_t>(h.counts_.size()) - 1; };
  int shift = 0;
  while (span_of(std::min(first_, theirs.first_) >> shift, std::max(last(*this), last(theirs)) >> shift) > kMaxBins) ++shift;
  coarsen(exponent + shift);
  theirs.coarsen(exponent + shift);
  extend(std::min(first_, theirs.first_), std::max(last(*this), last(theirs)));
  for (std::size_t i = 0; i < theirs.counts_.size(); ++i) counts_[static_cast<std::size_t>(theirs.first_ - first_) + i] += theirs.counts_[i];
}

std::uint64_t DyadicHistogram::total() const {
  std::uint64_t sum = 0;
  for (const std::uint64_t c : counts_) sum += c;
  return sum;
}

Json DyadicHistogram::to_json() const {
  // One string, runs of equal counts as COUNTxLENGTH: thousands of JSON numbers would be slow to read.
  std::string text;
  for (std::size_t i = 0; i < counts_.size();) {
    std::size_t run = 1;
    while (i + run < counts_.size() && counts_[i + run] == counts_[i]) ++run;
    if (!text.empty()) text += ' ';
    text += std::to_string(counts_[i]);
    if (run > 1) text += "x" + std::to_string(run);
    i += run;
  }
  Json json;
  json["exponent"] = exponent_;
  json["first"] = first_;
  json["counts"] = text;
  return json;
}

Result<DyadicHistogram> DyadicHistogram::from_json(const Json& json) {
  const Json *exponent = json.find("exponent"), *first = json.find("first"), *counts = json.find("counts");
  if (exponent == nullptr || first == nullptr || counts == nullptr || !exponent->is_int() || !first->is_int() || !counts->is_string()) {
    return error("a histogram needs \"exponent\", \"first\" and \"counts\"").at(json.where);
  }
  DyadicHistogram h;
  const auto damaged = [&] { return error("damaged histogram: exponent {}, first bin {}", exponent->as_int(), first->as_int()).at(json.where); };
  if (exponent->as_int() < kMinExponent || exponent->as_int() > 128 || first->as_int() < -kMaxBins || first->as_int() > kMaxBins + 1) return damaged();
  h.exponent_ = static_cast<int>(exponent->as_int());
  h.first_ = first->as_int();
  const char* p = counts->as_string().c_str();
  while (*p != '\0') {
    char* end = nullptr;
    const std::uint64_t count = std::strtoull(p, &end, 10);
    std::uint64_t run = 1;
    bool good = end != p;
    if (good && *end == 'x') {
      p = end + 1;
      run = std::strtoull(p, &end, 10);
      good = end != p;
    }
    if (!good || run > static_cast<std::size_t>(kMaxBins) - h.counts_.size()) return error("damaged histogram counts near '{}'", std::string(p).substr(0, 20)).at(counts->where);
    h.counts_.insert(h.counts_.end(), run, count);
    p = end;
    while (*p == ' ') ++p;
  }
  if (h.first_ + static_cast<std::int64_t>(h.counts_.size()) - 1 > kMaxBins) return damaged();
  return h;
}

}  // namespace narrow
