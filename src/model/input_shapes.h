// Shapes of a model's inputs: what the model says, with its open extents filled in by the user's shapes, or by what is known of
// another form of the model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/error.h"
#include "model/onnx_proto.h"
#include "tensor/shape.h"

namespace narrow {

class InputShapes {
 public:
  // given: shapes by input name. A symbolic extent that one of them fixes is known in every input. known: the same, for extents that
  // are open still. All arguments must outlive the object.
  InputShapes(const std::vector<OnnxValueInfo>& inputs, const std::map<std::string, Shape>& given, const std::map<std::string, Shape>& known, std::int64_t batch, Diagnostics& diagnostics);

  // An open first extent that nobody gave becomes `batch`, with a note. Errors: another open extent (names it and says how to
  // give it); a given shape that contradicts the model; more elements than any network reads.
  Result<Shape> of(const OnnxValueInfo& input) const;

 private:
  Result<Shape> chosen(const OnnxValueInfo& input) const;  // of any size

  const std::map<std::string, Shape>&given_, &known_;
  std::int64_t batch_;
  Diagnostics& diagnostics_;
  std::map<std::string, std::int64_t> symbols_;
};

}  // namespace narrow
