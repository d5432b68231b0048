// The public C++ interface: compile a model, run the artifact. Needs nothing else of narrow's headers; link narrow_core.
// Nothing throws: what fails returns nothing, and `error` (when given) receives the message that the command line would print.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace narrow::api {

// What `narrow compile` is told; only model is needed.
struct CompileRequest {
  std::string model;               // ONNX file
  std::vector<std::string> data;   // calibration samples: files or folders
  std::string recipe;              // YAML file; empty: defaults
  std::string target;              // name or file; empty: that of the recipe, else generic-int8
  std::string output;              // OUT of OUT.narrow, OUT.qdq.onnx, OUT.plan, OUT.report.json, OUT.html
};
// The report as JSON (docs/report.md).
std::optional<std::string> compile(const CompileRequest& request, std::string* error = nullptr);

// An input or output.
struct Port {
  std::string name;
  std::vector<std::int64_t> shape;  // outermost extent first
};

// An integer network, ready to run. Real numbers in and out; row-major. Not for use by several threads at once.
class Network {
 public:
  // nullptr: unreadable, damaged, or of another format.
  static std::unique_ptr<Network> open(const std::string& artifact, std::string* error = nullptr);
  virtual ~Network() = default;
  virtual const std::vector<Port>& inputs() const = 0;
  virtual const std::vector<Port>& outputs() const = 0;
  // One array per input, each with as many numbers as its shape says; returns one per output. nullopt: their number or sizes are others.
  virtual std::optional<std::vector<std::vector<float>>> run(const std::vector<std::vector<float>>& inputs, std::string* error = nullptr) = 0;
};

}  // namespace narrow::api
