#include "graph/graph.h"

namespace narrow {

std::int64_t Attrs::get_int(std::string_view key, std::int64_t fallback) const {
  const auto it = map_.find(key);
  if (it == map_.end()) return fallback;
  NARROW_CHECK(std::holds_alternative<std::int64_t>(it->second), "attribute {}", key);
  return std::get<std::int64_t>(it->second);
}

double Attrs::get_float(std::string_view key, double fallback) const {
  const auto it = map_.find(key);
  if (it == map_.end()) return fallback;
  if (const auto* i = std::get_if<std::int64_t>(&it->second)) return static_cast<double>(*i);
  NARROW_CHECK(std::holds_alternative<double>(it->second), "attribute {}", key);
  return std::get<double>(it->second);
}

std::string Attrs::get_string(std::string_view key, std::string fallback) const {
  const auto it = map_.find(key);
  if (it == map_.end()) return fallback;
  NARROW_CHECK(std::holds_alternative<std::string>(it->second), "attribute {}", key);
  return std::get<std::string>(it->second);
}

std::vector<std::int64_t> Attrs::get_ints(std::string_view key, std::vector<std::int64_t> fallback) const {
  const auto it = map_.find(key);
  if (it == map_.end()) return fallback;
  NARROW_CHECK(std::holds_alternative<std::vector<std::int64_t>>(it->second), "attribute {}", key);
  return std::get<std::vector<std::int64_t>>(it->second);
}

std::vector<double> Attrs::get_floats(std::string_view key, std::vector<double> fallback) const {
  const auto it = map_.find(key);
  if (it == map_.end()) return fallback;
  if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&it->second)) return {ints->begin(), ints->end()};
  NARROW_CHECK(std::holds_alternative<std::vector<double>>(it->second), "attribute {}", key);
  return std::get<std::vector<double>>(it->second);
}

void Attrs::erase(std::string_view key) {
  const auto it = map_.find(key);
  if (it != map_.end()) map_.erase(it);
}

}  // namespace narrow
