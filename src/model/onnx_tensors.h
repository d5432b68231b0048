// Tensors in ONNX files: element types, and every form in which their data can be stored. Includes the protobuf classes: for
// onnx_proto.cpp only.
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "base/file.h"
#include "tensor/tensor.h"

namespace narrow {

// Reads tensors; keeps the external files of the model open while it does.
class TensorReader {
 public:
  explicit TensorReader(const std::string& model_path) : folder_(std::filesystem::path(model_path).parent_path()) {}
  // Raw bytes, typed fields or an external file; half precision becomes f32, unsigned 32 and 64 bits i64. Errors (element type, shape,
  // sizes, external file) do not name the tensor: the caller does.
  Result<Tensor> read(const onnx::TensorProto& proto);

 private:
  Result<Tensor> external(const onnx::TensorProto& proto, const Shape& shape, std::size_t wanted);
  std::filesystem::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

// As raw little-endian bytes inside `proto`.
void write_tensor(const std::string& name, const Tensor& tensor, onnx::TensorProto* proto);
std::string onnx_type_name(int code);  // "FLOAT16"; "type 99"

}  // namespace narrow
