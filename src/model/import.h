// ONNX file -> Graph in the internal form (ops/op_def.h): static shapes, channels-last operators, parameters as
// attributes, constants folded. Values and nodes keep their ONNX names wherever they survive.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/diagnostics.h"
#include "base/error.h"
#include "graph/graph.h"
#include "model/onnx_proto.h"

namespace narrow {

struct ImportOptions {
  std::map<std::string, Shape> input_shapes = {};  // by input name; needed for dynamic extents other than the first
  std::map<std::string, Shape> known_shapes = {};  // of another form of the model, by input name: for extents that neither it nor input_shapes says
  std::int64_t batch = 1;                          // replaces a dynamic first extent
};

// Opsets 7 to 21, IR versions up to 10. Every node that cannot be imported is named in one Error, with its type and the reason.
// Other errors: those of read_onnx; cycles; dynamic extents without a given shape; NaN or Inf in weights.
Result<Graph> import_onnx(const std::string& path, const ImportOptions& options, Diagnostics& diagnostics);
// The same for a model in memory; `name` stands for the file in messages.
Result<Graph> import_onnx_model(const OnnxModel& model, const std::string& name, const ImportOptions& options, Diagnostics& diagnostics);
// Warns when the model was quantized by somebody else: its codes stay, and whatever is decided here rounds a second time.
void tell_quantized(const Graph& graph, Diagnostics& diagnostics);

}  // namespace narrow
