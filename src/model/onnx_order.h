// Who reads what in an ONNX file, and in which order its nodes can run. Files may list nodes in any order, define a name
// twice, and carry nodes that no output needs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/onnx_proto.h"

namespace narrow {

// A definition is a place where a value comes from: initializers first, then graph inputs, then node outputs.
constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

struct OnnxOrder {
  std::size_t definitions = 0;
  std::vector<std::size_t> initializers;             // definition of each
  std::vector<std::size_t> inputs;                   // kAbsent: an initializer of that name stands for it
  std::vector<std::vector<std::size_t>> node_inputs;   // per node and slot; kAbsent for ""
  std::vector<std::vector<std::size_t>> node_outputs;
  std::vector<std::size_t> outputs;                  // of the graph
  std::vector<std::size_t> order;                    // nodes that an output needs, producers first, else as in the file
  std::vector<std::size_t> readers;                  // per definition: slots of needed nodes and graph outputs that read it
};

// Errors: a name that nothing defines; a cycle (names its nodes).
Result<OnnxOrder> order_nodes(const OnnxModel& model);

// The node's name, or OPERATOR_INDEX for nodes without one.
std::string node_label(const OnnxModel& model, std::size_t node);

}  // namespace narrow
