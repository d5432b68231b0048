// What kind of value each ONNX attribute holds. A name means the same kind in every operator that we read.
#pragma once

#include <optional>
#include <string>

#include "model/onnx_proto.h"

namespace narrow {

// Does some operator of ours have an attribute of this name? Others say nothing about the arithmetic.
bool is_known_attribute(const std::string& name);
// "attribute 'axis' is a real number, wanted an integer"; nullopt when it is as it should be, or not known.
std::optional<std::string> wrong_attribute(const OnnxAttribute& attribute);

}  // namespace narrow
