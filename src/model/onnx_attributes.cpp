#include "model/onnx_attributes.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace narrow {
namespace {

// Indices of the variant in OnnxAttribute.
enum Kind : std::size_t { kInt, kFloat, kString, kInts, kFloats, kTensor };
constexpr const char* kNames[] = {"an integer", "a float", "a string", "a list of integers", "a list of floats", "a tensor"};

struct Entry {
  std::string_view name;
  Kind kind;
};
constexpr Entry kKinds[] = {
    {"allowzero", kInt}, {"alpha", kFloat}, {"antialias", kInt}, {"approximate", kString}, {"auto_pad", kString}, {"axes", kInts}, {"axis", kInt},
    {"beta", kFloat}, {"blocksize", kInt}, {"broadcast", kInt}, {"ceil_mode", kInt}, {"coordinate_transformation_mode", kString},
    {"count_include_pad", kInt}, {"cubic_coeff_a", kFloat}, {"dilations", kInts}, {"end", kInt}, {"ends", kInts}, {"epsilon", kFloat},
    {"exclude_outside", kInt}, {"extrapolation_value", kFloat}, {"group", kInt}, {"keep_aspect_ratio_policy", kString}, {"keepdims", kInt},
    {"kernel_shape", kInts}, {"max", kFloat}, {"min", kFloat}, {"mode", kString}, {"momentum", kFloat}, {"nearest_mode", kString},
    {"noop_with_empty_axes", kInt}, {"num_outputs", kInt}, {"output_padding", kInts}, {"output_shape", kInts}, {"pads", kInts}, {"perm", kInts},
    {"ratio", kFloat}, {"repeats", kInts}, {"scales", kFloats}, {"shape", kInts}, {"sizes", kInts}, {"spatial", kInt}, {"split", kInts},
    {"start", kInt}, {"starts", kInts}, {"steps", kInts}, {"storage_order", kInt}, {"strides", kInts}, {"to", kInt}, {"training_mode", kInt},
    {"transA", kInt}, {"transB", kInt},
};

}  // namespace

std::optional<std::string> wrong_kind(const OnnxAttribute& attribute) {
  const auto entry = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Entry& e) { return e.name == attribute.name; });
  const std::size_t found = attribute.value.index();
  if (entry == std::end(kKinds) || found == entry->kind || found > kTensor) return std::nullopt;
  return fmt::format("attribute '{}' is {}, wanted {}", attribute.name, kNames[found], kNames[entry->kind]);
}

}  // namespace narrow
