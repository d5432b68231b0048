#include "base/strict_map.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace narrow {
namespace {

// What stands there, for messages: a scalar itself, otherwise its kind.
std::string found(const Json& node) {
  if (node.is_null()) return "nothing";
  if (node.is_array()) {
    if (node.items().empty()) return "an empty list";
    const bool short_numbers = node.items().size() <= 4 && std::all_of(node.items().begin(), node.items().end(), [](const Json& item) { return item.is_number(); });
    return short_numbers ? node.dump(-1) : "a list";
  }
  if (node.is_object()) return node.members().empty() ? "an empty map" : "a map";
  if (node.is_number() && std::isnan(node.as_double())) return ".nan";
  if (node.is_number() && std::isinf(node.as_double())) return node.as_double() > 0 ? ".inf" : "-.inf";
  return node.is_string() ? fmt::format("'{}'", node.as_string()) : fmt::format("{}", node.dump(-1));
}

}  // namespace

Result<StrictMap> StrictMap::open(const Json& node, std::string what) {
  if (!node.is_object() && !node.is_null()) {
    return error("{} is {}, wanted a map", what, found(node)).at(node.where).with_help("write 'key: value' lines");
  }
  return StrictMap(&node, std::move(what));
}

const Json* StrictMap::find(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  return node_->find(key);
}

ErrorBuilder StrictMap::wrong_kind(std::string_view key, const Json& node, std::string_view wanted) const {
  return error("'{}' of {} is {}, wanted {}", key, what_, found(node), wanted).at(node.where);
}

ErrorBuilder StrictMap::wrong_choice(std::string_view key, const Json& node, const std::vector<std::string>& names, std::string_view wanted) const {
  return error("'{}' of {} is {}, wanted {}: {}", key, what_, found(node), wanted, join(names, ", "))
      .at(node.where)
      .with_help(node.is_string() ? did_you_mean(node.as_string(), names) : std::string());
}

Status StrictMap::read(std::string_view key, bool* out) {
  const Json* node = find(key);
  if (node == nullptr) return {};
  if (!node->is_bool()) return wrong_kind(key, *node, "true or false");
  *out = node->as_bool();
  return {};
}

Status StrictMap::read(std::string_view key, std::string* out) {
  const Json* node = find(key);
  if (node == nullptr) return {};
  if (!node->is_string()) return wrong_kind(key, *node, "a word");
  *out = node->as_string();
  return {};
}

Status StrictMap::read(std::string_view key, double* out, double low, double high) {
  const Json* node = find(key);
  if (node == nullptr) return {};
  if (!node->is_number()) return wrong_kind(key, *node, "a number");
  const double value = node->as_double();
  if (!(value >= low && value <= high)) {
    if (low == -kAnyNumber && high == kAnyNumber) return wrong_kind(key, *node, "a finite number");
    return wrong_kind(key, *node, high == kAnyNumber ? fmt::format("a number of at least {}", exact(low)) : fmt::format("a number in [{}, {}]", exact(low), exact(high)));
  }
  *out = value;
  return {};
}

Status StrictMap::read(std::string_view key, std::int64_t* out, std::int64_t low, std::int64_t high) {
  const Json* node = find(key);
  if (node == nullptr) return {};
  const bool fits = node->is_int() && node->as_int() >= low && node->as_int() <= high;
  if (!fits) {
    const bool open_end = high >= INT32_MAX;
    return wrong_kind(key, *node,
                      low <= INT32_MIN && open_end ? "an integer"
                      : open_end                   ? fmt::format("an integer of at least {}", low)
                                                   : fmt::format("an integer in [{}, {}]", low, high));
  }
  *out = node->as_int();
  return {};
}

Status StrictMap::read(std::string_view key, int* out, std::int64_t low, std::int64_t high) {
  std::int64_t wide = *out;
  NARROW_TRY(read(key, &wide, low, high));
  *out = static_cast<int>(wide);
  return {};
}

Status StrictMap::read(std::string_view key, std::vector<double>* out) {
  const Json* node = find(key);
  if (node == nullptr) return {};
  std::vector<double> values;
  const auto take = [&](const Json& item) {
    if (!item.is_number() || !std::isfinite(item.as_double())) return false;
    values.push_back(item.as_double());
    return true;
  };
  if (node->is_array()) {
    for (const Json& item : node->items()) {
      if (!take(item)) return wrong_kind(key, item, "a finite number");
    }
    if (values.empty()) return wrong_kind(key, *node, "a finite number or a list of them");
  } else if (!take(*node)) {
    return wrong_kind(key, *node, "a finite number or a list of them");
  }
  *out = std::move(values);
  return {};
}

Status StrictMap::finish() const {
  if (!node_->is_object()) return {};
  for (const auto& [key, value] : node_->members()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::string near = did_you_mean(key, known_);
    return error("unknown key '{}' in {}", key, what_)
        .at(value.key_where != nullptr ? *value.key_where : value.where)
        .with_help(near.empty() ? fmt::format("keys here: {}", join(known_, ", ")) : near);
  }
  return {};
}

}  // namespace narrow
