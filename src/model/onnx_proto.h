// ONNX files as plain structs. Only onnx_proto.cpp and onnx_tensors.cpp see the protobuf classes; they resolve every storage
// form of a tensor (raw bytes, typed fields, half precision, external files) into a Tensor. Half-precision types become
// f32, unsigned 32- and 64-bit integers i64.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "tensor/tensor.h"

namespace narrow {

// What an attribute may hold that we do not read: the text names it ("a sub-graph").
struct OnnxOther {
  std::string kind;
};

struct OnnxAttribute {
  std::string name;
  std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>, std::vector<std::string>, Tensor, OnnxOther> value;
};

struct OnnxNode {
  std::string name;    // may be empty
  std::string op;
  std::string domain;  // "" is ONNX's own
  std::vector<std::string> inputs;   // "" is an absent optional input
  std::vector<std::string> outputs;  // "" is an output nobody wants
  std::vector<OnnxAttribute> attributes;
};

struct OnnxDimension {
  std::optional<std::int64_t> extent;
  std::string symbol;  // of a dynamic extent; may be empty
};

struct OnnxValueInfo {
  std::string name;
  std::optional<DType> dtype;  // nullopt: a type that we do not read
  std::string type_name;       // as ONNX writes it: "FLOAT", "STRING", "a sequence"
  std::optional<std::vector<OnnxDimension>> shape;  // nullopt: even the rank is unknown
};

struct OnnxInitializer {
  std::string name;
  Tensor tensor;
};

struct OnnxModel {
  std::string graph_name;
  std::int64_t ir_version = 8;
  std::vector<std::pair<std::string, std::int64_t>> opsets;  // domain, version
  std::vector<OnnxNode> nodes;
  std::vector<OnnxInitializer> initializers;
  std::vector<OnnxValueInfo> inputs;  // older models list initializers here too
  std::vector<OnnxValueInfo> outputs;
};

// Errors name the file: not an ONNX model, truncated, an external data file that is missing or too short, a tensor of a
// type or size that cannot be.
Result<OnnxModel> read_onnx(const std::string& path);

// The same model always gives the same bytes; everything is stored in the file itself. Error: more than 2 GB.
Result<std::string> write_onnx(const OnnxModel& model, const std::string& producer_version);

// ONNX's number for an element type, as the attributes of Cast and QuantizeLinear carry it.
std::int64_t onnx_code_of(DType dtype);
// nullopt for types that have no counterpart (strings, complex, sub-byte); half precision gives f32.
std::optional<DType> dtype_of_onnx_code(std::int64_t code);

}  // namespace narrow
