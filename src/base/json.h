// One tree type for JSON and YAML: what was read, or what is to be written. Objects keep the order in which keys were
// added, so that products are stable and readable. Parsed trees remember line and column of every node.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace narrow {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;  // null
  Json(bool value) : data_(value) {}                                    // NOLINT: implicit by design, also below
  Json(int value) : data_(static_cast<std::int64_t>(value)) {}          // NOLINT
  Json(std::int64_t value) : data_(value) {}                            // NOLINT
  Json(std::uint64_t value) : data_(static_cast<std::int64_t>(value)) {}  // NOLINT
  Json(double value) : data_(value) {}                                  // NOLINT
  Json(const char* value) : data_(std::string(value)) {}                // NOLINT
  Json(std::string value) : data_(std::move(value)) {}                  // NOLINT
  Json(std::string_view value) : data_(std::string(value)) {}           // NOLINT
  Json(Array value) : data_(std::move(value)) {}                        // NOLINT
  Json(Object value) : data_(std::move(value)) {}                       // NOLINT
  static Json array() { return Json(Array{}); }
  static Json object() { return Json(Object{}); }

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<std::int64_t>(data_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_array() const { return std::holds_alternative<Array>(data_); }
  bool is_object() const { return std::holds_alternative<Object>(data_); }
  std::string_view kind() const;  // "null", "bool", "number", "string", "list", "map"

  // The caller must have asked is_*.
  bool as_bool() const { return std::get<bool>(data_); }
  std::int64_t as_int() const { return is_int() ? std::get<std::int64_t>(data_) : static_cast<std::int64_t>(std::get<double>(data_)); }
  double as_double() const { return is_int() ? static_cast<double>(std::get<std::int64_t>(data_)) : std::get<double>(data_); }
  const std::string& as_string() const { return std::get<std::string>(data_); }
  const Array& items() const { return std::get<Array>(data_); }
  const Object& members() const { return std::get<Object>(data_); }

  const Json* find(std::string_view key) const;  // nullptr when absent or not an object
  Json& operator[](std::string_view key);        // object: finds or appends; null becomes an object
  void push_back(Json value);                    // array; null becomes an array

  // indent < 0: one line. Doubles print in their shortest exact form; non-finite ones as null.
  std::string dump(int indent = 2) const;

  SourceSpan where;  // of a parsed node; empty otherwise
  std::shared_ptr<const SourceSpan> key_where;  // YAML: of the key that leads to this node in its map; else nullptr

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> data_;
};

// `name` is the file name for messages. Errors carry line and column.
Result<Json> parse_json(std::string_view text, const std::string& name);
// YAML 1.2 core scalars: true/false, integers, floats, null; quoted scalars stay strings; duplicate keys are an error.
Result<Json> parse_yaml(std::string_view text, const std::string& name);

}  // namespace narrow
