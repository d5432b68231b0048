#include "ops/attributes.h"

#include <algorithm>
#include <iterator>

#include "kernels/requantize.h"
#include "ops/op_def.h"

namespace narrow {
namespace {

using enum AttrKind;

struct Entry {
  std::string_view name;
  AttrKind kind;
};
// What ONNX has: the other names of its attributes say nothing about the arithmetic.
constexpr Entry kOfOnnx[] = {
    {"activation_alpha", kFloats}, {"activation_beta", kFloats}, {"activations", kStrings}, {"allowzero", kInt}, {"alpha", kFloat}, {"antialias", kInt}, {"approximate", kString}, {"auto_pad", kString}, {"axes", kInts},
    {"axis", kInt}, {"beta", kFloat}, {"block_size", kInt}, {"blocksize", kInt}, {"broadcast", kInt}, {"ceil_mode", kInt}, {"clip", kFloat},
    {"consumed_inputs", kInts}, {"coordinate_transformation_mode", kString}, {"count_include_pad", kInt}, {"cubic_coeff_a", kFloat},
    {"dilations", kInts}, {"direction", kString}, {"end", kInt}, {"ends", kInts}, {"epsilon", kFloat}, {"exclude_outside", kInt}, {"extrapolation_value", kFloat},
    {"fmod", kInt}, {"gamma", kFloat}, {"group", kInt}, {"hidden_size", kInt}, {"input_forget", kInt}, {"is_test", kInt}, {"keep_aspect_ratio_policy", kString}, {"keepdims", kInt},
    {"kernel_shape", kInts}, {"layout", kInt}, {"max", kFloat}, {"min", kFloat}, {"mode", kString}, {"momentum", kFloat}, {"nearest_mode", kString},
    {"noop_with_empty_axes", kInt}, {"num_outputs", kInt}, {"output_dtype", kInt}, {"output_padding", kInts}, {"output_shape", kInts},
    {"pads", kInts}, {"perm", kInts}, {"ratio", kFloat}, {"repeats", kInts}, {"saturate", kInt}, {"scales", kFloats}, {"seed", kInt},
    {"shape", kInts}, {"spatial", kInt}, {"split", kInts}, {"start", kInt}, {"starts", kInts}, {"stash_type", kInt},
    {"storage_order", kInt}, {"strides", kInts}, {"to", kInt}, {"training_mode", kInt}, {"transA", kInt},
    {"transB", kInt}, {"value", kFloat},
};
// What the internal form, the rewrites and lowering add, or mean otherwise.
constexpr Entry kOfOurs[] = {
    {"a_scale", kFloat}, {"a_zero_point", kInt}, {"activation", kString}, {"b_scale", kFloat}, {"b_zero_point", kInt}, {"dtype", kString},
    {"exponent", kFloat}, {"fraction_bits", kInt}, {"left_shift", kInt}, {"raw_codes", kInt}, {"rounding", kString}, {"scale", kFloat},
    {"sign_b", kInt}, {"sizes", kInts}, {"steps", kInts}, {"to", kString}, {"x_scale", kFloat}, {"x_zero_point", kInt}, {"y_dtype", kString}, {"y_max", kInt}, {"y_middle", kInt},
    {"y_min", kInt}, {"y_scale", kFloat}, {"y_zero_point", kInt}, {"zero_point", kInt},
};

template <std::size_t N>
std::optional<AttrKind> find(const Entry (&table)[N], std::string_view name) {
  const Entry* entry = std::find_if(std::begin(table), std::end(table), [&](const Entry& e) { return e.name == name; });
  return entry == std::end(table) ? std::nullopt : std::optional(entry->kind);
}

// In a graph.
std::optional<AttrKind> kind_in_graph(std::string_view name) {
  const auto ours = find(kOfOurs, name);
  return ours ? ours : find(kOfOnnx, name);
}

// In the order of the alternatives of Attr.
AttrKind kind_of(const Attr& value) {
  if (std::holds_alternative<std::int64_t>(value)) return kInt;
  if (std::holds_alternative<double>(value)) return kFloat;
  if (std::holds_alternative<std::string>(value)) return kString;
  return std::holds_alternative<std::vector<std::int64_t>>(value) ? kInts : kFloats;
}

bool is_rounding(const std::string& name) {
  return name == name_of(Rounding::kSingleRound) || name == name_of(Rounding::kDoubleRound) || name == name_of(Rounding::kFloatRne);
}

}  // namespace

std::optional<AttrKind> onnx_attribute_kind(std::string_view name) { return find(kOfOnnx, name); }

std::string_view name_of(AttrKind kind) {
  constexpr std::string_view kNames[] = {"an integer", "a number", "a string", "a list of integers", "a list of numbers", "a list of strings"};
  return kNames[static_cast<std::size_t>(kind)];
}

Status check_attributes(const Attrs& attrs) {
  constexpr std::string_view kOfActivation = "activation.";
  for (const auto& [key, value] : attrs.all()) {
    const std::string_view name = std::string_view(key).substr(key.starts_with(kOfActivation) ? kOfActivation.size() : 0);
    const auto wanted = kind_in_graph(name);
    const AttrKind found = kind_of(value);
    const bool integers = (wanted == kFloat && found == kInt) || (wanted == kFloats && found == kInts);
    if (wanted && found != *wanted && !integers) return error("attribute '{}' is {}, wanted {}", key, name_of(found), name_of(*wanted));
  }
  if (attrs.has("activation")) {
    const OpDef* op = find_op(attrs.get_string("activation"));
    if (op == nullptr || op->activation == nullptr) return error("the fused activation '{}' is unknown", attrs.get_string("activation"));
  }
  if (attrs.has("rounding") && !is_rounding(attrs.get_string("rounding"))) return error("the rounding '{}' is unknown", attrs.get_string("rounding"));
  return {};
}

}  // namespace narrow
