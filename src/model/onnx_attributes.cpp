#include "model/onnx_attributes.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace narrow {
namespace {

enum class Kind { kInt, kFloat, kString, kInts, kFloats, kNumber };  // kNumber: a tensor or a real number

struct Known {
  std::string_view name;
  Kind kind;
};
constexpr std::array kKnown = {
    Known{"allowzero", Kind::kInt}, Known{"alpha", Kind::kFloat}, Known{"antialias", Kind::kInt}, Known{"approximate", Kind::kString}, Known{"auto_pad", Kind::kString},
    Known{"axes", Kind::kInts}, Known{"axis", Kind::kInt}, Known{"beta", Kind::kFloat}, Known{"block_size", Kind::kInt}, Known{"blocksize", Kind::kInt},
    Known{"ceil_mode", Kind::kInt}, Known{"consumed_inputs", Kind::kInts}, Known{"coordinate_transformation_mode", Kind::kString}, Known{"count_include_pad", Kind::kInt},
    Known{"cubic_coeff_a", Kind::kFloat}, Known{"dilations", Kind::kInts}, Known{"end", Kind::kInt}, Known{"ends", Kind::kInts}, Known{"epsilon", Kind::kFloat},
    Known{"exclude_outside", Kind::kInt}, Known{"extrapolation_value", Kind::kFloat}, Known{"fmod", Kind::kInt}, Known{"gamma", Kind::kFloat}, Known{"group", Kind::kInt},
    Known{"is_test", Kind::kInt}, Known{"keep_aspect_ratio_policy", Kind::kString}, Known{"keepdims", Kind::kInt}, Known{"kernel_shape", Kind::kInts}, Known{"max", Kind::kFloat},
    Known{"min", Kind::kFloat}, Known{"mode", Kind::kString}, Known{"momentum", Kind::kFloat}, Known{"nearest_mode", Kind::kString}, Known{"noop_with_empty_axes", Kind::kInt},
    Known{"num_outputs", Kind::kInt}, Known{"output_dtype", Kind::kInt}, Known{"output_padding", Kind::kInts}, Known{"output_shape", Kind::kInts}, Known{"pads", Kind::kInts},
    Known{"perm", Kind::kInts}, Known{"ratio", Kind::kFloat}, Known{"repeats", Kind::kInts}, Known{"saturate", Kind::kInt}, Known{"scales", Kind::kFloats}, Known{"seed", Kind::kInt},
    Known{"shape", Kind::kInts}, Known{"spatial", Kind::kInt}, Known{"split", Kind::kInts}, Known{"start", Kind::kInt}, Known{"starts", Kind::kInts}, Known{"stash_type", Kind::kInt},
    Known{"storage_order", Kind::kInt}, Known{"strides", Kind::kInts}, Known{"to", Kind::kInt}, Known{"training_mode", Kind::kInt}, Known{"transA", Kind::kInt}, Known{"transB", Kind::kInt},
    Known{"value", Kind::kNumber},
};

constexpr std::string_view text_of(Kind kind) {
  constexpr std::string_view kTexts[] = {"an integer", "a real number", "a string", "a list of integers", "a list of real numbers", "a number"};
  return kTexts[static_cast<std::size_t>(kind)];
}

const Known* find(const std::string& name) {
  const auto it = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return k.name == name; });
  return it == kKnown.end() ? nullptr : &*it;
}

std::string text_of(const OnnxAttribute& attribute) {
  constexpr std::string_view kTexts[] = {"an integer", "a real number", "a string", "a list of integers", "a list of real numbers", "a tensor"};
  if (const auto* other = std::get_if<OnnxOther>(&attribute.value)) return other->kind;
  return std::string(kTexts[attribute.value.index()]);
}

// Integers are real numbers too; an empty list has no type.
bool fits(Kind kind, const OnnxAttribute& attribute) {
  const auto& v = attribute.value;
  const bool is_int = std::holds_alternative<std::int64_t>(v), is_float = is_int || std::holds_alternative<double>(v), is_ints = std::holds_alternative<std::vector<std::int64_t>>(v);
  switch (kind) {
    case Kind::kInt: return is_int;
    case Kind::kFloat: return is_float;
    case Kind::kString: return std::holds_alternative<std::string>(v);
    case Kind::kInts: return is_ints;
    case Kind::kFloats: return is_ints || std::holds_alternative<std::vector<double>>(v);
    case Kind::kNumber: return is_float || std::holds_alternative<Tensor>(v);
  }
  return false;
}

}  // namespace

bool is_known_attribute(const std::string& name) { return find(name) != nullptr; }

std::optional<std::string> wrong_attribute(const OnnxAttribute& attribute) {
  const Known* known = find(attribute.name);
  if (known == nullptr || fits(known->kind, attribute)) return std::nullopt;
  return fmt::format("attribute '{}' is {}, wanted {}", attribute.name, text_of(attribute), text_of(known->kind));
}

}  // namespace narrow
