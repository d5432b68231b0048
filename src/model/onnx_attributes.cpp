#include "model/onnx_attributes.h"

#include <fmt/core.h>

#include "ops/attributes.h"

namespace narrow {
namespace {

std::string text_of(const OnnxAttribute& attribute) {
  constexpr std::string_view kTexts[] = {"an integer", "a number", "a string", "a list of integers", "a list of numbers", "a list of strings", "a tensor"};
  if (const auto* other = std::get_if<OnnxOther>(&attribute.value)) return other->kind;
  return std::string(kTexts[attribute.value.index()]);
}

// Integers are real numbers too; an empty list has no type; `value` may be a tensor.
bool fits(AttrKind kind, const OnnxAttribute& attribute) {
  const auto& v = attribute.value;
  const bool is_int = std::holds_alternative<std::int64_t>(v), is_ints = std::holds_alternative<std::vector<std::int64_t>>(v);
  switch (kind) {
    case AttrKind::kInt: return is_int;
    case AttrKind::kFloat: return is_int || std::holds_alternative<double>(v) || (attribute.name == "value" && std::holds_alternative<Tensor>(v));
    case AttrKind::kString: return std::holds_alternative<std::string>(v);
    case AttrKind::kInts: return is_ints;
    case AttrKind::kStrings: return std::holds_alternative<std::vector<std::string>>(v);
    case AttrKind::kFloats: return is_ints || std::holds_alternative<std::vector<double>>(v);
  }
  return false;
}

}  // namespace

bool is_known_attribute(const std::string& name) { return onnx_attribute_kind(name).has_value(); }

std::optional<std::string> wrong_attribute(const OnnxAttribute& attribute) {
  const auto kind = onnx_attribute_kind(attribute.name);
  if (!kind || fits(*kind, attribute)) return std::nullopt;
  return fmt::format("attribute '{}' is {}, wanted {}", attribute.name, text_of(attribute), name_of(*kind));
}

}  // namespace narrow
