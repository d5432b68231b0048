// Graph -> ONNX file: float graphs, and QDQ graphs (lower/qdq.h) for everybody else's runtime and compiler. Fused activations
// become nodes again, channels-last operators get their Transposes back, and those cancel as they did on import.
#pragma once

#include <string>

#include "base/error.h"
#include "graph/graph.h"

namespace narrow {

struct ExportOptions {
  int opset = 0;  // 0: 13, or 21 when 16-bit integers are quantized to
  // Leave out a clamp behind which every reader quantizes to a grid that ends no farther than the clamp: saturation does the same.
  bool drop_implied_clamps = true;
  std::string producer_version = "0.1.0";
};

// The same graph always gives the same bytes. Inputs and outputs keep their names. Errors: what has no ONNX form; that of write_file.
Status export_onnx(const Graph& graph, const std::string& path, const ExportOptions& options = {});
Result<std::string> onnx_bytes(const Graph& graph, const ExportOptions& options = {});

}  // namespace narrow
