// Reads a map of a configuration file strictly: every key is asked for by name and kind, and finish() rejects what was
// never asked for. Every error carries the place in the file, what was found, what was wanted, and a suggestion.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace narrow {

class StrictMap {
 public:
  template <typename T>
  using Choices = std::vector<std::pair<std::string_view, T>>;
  static constexpr double kAnyNumber = std::numeric_limits<double>::max();

  // `what` names the map in messages: "the target", "input 'images'". A null node is an empty map; `node` must outlive this.
  static Result<StrictMap> open(const Json& node, std::string what);

  // nullptr when absent. The key counts as known.
  const Json* find(std::string_view key);

  // Each leaves *out alone when the key is absent.
  Status read(std::string_view key, bool* out);
  Status read(std::string_view key, std::string* out);
  Status read(std::string_view key, double* out, double low = -kAnyNumber, double high = kAnyNumber);
  Status read(std::string_view key, std::int64_t* out, std::int64_t low = INT64_MIN, std::int64_t high = INT64_MAX);
  Status read(std::string_view key, int* out, std::int64_t low = INT32_MIN, std::int64_t high = INT32_MAX);
  Status read(std::string_view key, std::vector<double>* out);  // a finite number or a list of them
  template <typename T, typename... Limits>
  Status read(std::string_view key, std::optional<T>* out, Limits... limits) {
    if (find(key) == nullptr) return {};
    T value{};
    NARROW_TRY(read(key, &value, limits...));
    *out = std::move(value);
    return {};
  }

  // One of `choices`; several names may mean the same. A wrong one gets all of them as help.
  template <typename T>
  Status choose(std::string_view key, const Choices<T>& choices, T* out) {
    const Json* node = find(key);
    if (node == nullptr) return {};
    return choose_from(*node, key, choices, out);
  }
  template <typename T>
  Status choose(std::string_view key, const Choices<T>& choices, std::optional<T>* out) {
    if (find(key) == nullptr) return {};
    T value{};
    NARROW_TRY(choose(key, choices, &value));
    *out = value;
    return {};
  }
  // A list of choices.
  template <typename T>
  Status choose_many(std::string_view key, const Choices<T>& choices, std::vector<T>* out) {
    const Json* node = find(key);
    if (node == nullptr) return {};
    if (!node->is_array() || node->items().empty()) return wrong_choice(key, *node, names_of(choices), "a list of at least one of");
    out->clear();
    for (const Json& item : node->items()) {
      T value{};
      NARROW_TRY(choose_from(item, key, choices, &value));
      out->push_back(value);
    }
    return {};
  }

  // Error for the first key that nobody asked for.
  Status finish() const;
  const SourceSpan& where() const { return node_->where; }
  ErrorBuilder wrong_kind(std::string_view key, const Json& node, std::string_view wanted) const;

 private:
  StrictMap(const Json* node, std::string what) : node_(node), what_(std::move(what)) {}
  template <typename T>
  Status choose_from(const Json& node, std::string_view key, const Choices<T>& choices, T* out) const {
    if (node.is_string()) {
      for (const auto& [name, value] : choices) {
        if (node.as_string() == name) {
          *out = value;
          return {};
        }
      }
    }
    return wrong_choice(key, node, names_of(choices), "one of");
  }
  template <typename T>
  static std::vector<std::string> names_of(const Choices<T>& choices) {
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) names.emplace_back(name);
    return names;
  }
  ErrorBuilder wrong_choice(std::string_view key, const Json& node, const std::vector<std::string>& names, std::string_view wanted) const;

  const Json* node_;
  std::string what_;
  std::vector<std::string> known_;
};

}  // namespace narrow
