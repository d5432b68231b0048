// What kind of value an attribute must have, by its name: ONNX uses a name for one kind throughout. Operators then read
// attributes without asking again.
#pragma once

#include <optional>
#include <string>

#include "model/onnx_proto.h"

namespace narrow {

// nullopt: right, or a name that no operator here reads. Otherwise "attribute 'axis' is a string, wanted an integer".
std::optional<std::string> wrong_kind(const OnnxAttribute& attribute);

}  // namespace narrow
