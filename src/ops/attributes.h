// What kind of value an attribute has, by its name: a name stands for one kind throughout, in ONNX's operators and in ours.
// Graphs that come from outside are checked, so that operators read attributes without asking again.
#pragma once

#include <optional>
#include <string_view>

#include "graph/graph.h"

namespace narrow {

enum class AttrKind : std::uint8_t { kInt, kFloat, kString, kInts, kFloats, kStrings };

// Of an attribute of ONNX's; nullopt: a name that no operator here reads.
std::optional<AttrKind> onnx_attribute_kind(std::string_view name);
std::string_view name_of(AttrKind kind);  // "a list of integers"

// The attributes of an operator are of the right kind (integers pass for reals); a fused activation exists, and a rounding
// mode is known. The error does not name the node.
Status check_attributes(const Attrs& attrs);

}  // namespace narrow
