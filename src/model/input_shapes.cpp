#include "model/input_shapes.h"

#include "base/text.h"

namespace narrow {
namespace {

// "[N,3,height,?]"
std::string text_of(const std::vector<OnnxDimension>& dimensions) {
  std::vector<std::string> extents;
  for (const OnnxDimension& d : dimensions) extents.push_back(d.extent ? std::to_string(*d.extent) : d.symbol.empty() ? "?" : d.symbol);
  return "[" + join(extents, ",") + "]";
}

Result<Shape> given_shape(const OnnxValueInfo& input, const Shape& given) {
  for (const std::int64_t extent : given) {
    if (extent <= 0) return error("the shape {} given for input '{}' is impossible", to_string(given), input.name).with_help("extents must be positive");
  }
  if (!input.shape) return given;
  bool fits = given.size() == input.shape->size();
  // The first of several extents counts samples: a model that was exported for four at a time also runs for one.
  for (std::size_t d = given.size() > 1 ? 1 : 0; fits && d < given.size(); ++d) fits = !(*input.shape)[d].extent || *(*input.shape)[d].extent == given[d];
  if (fits) return given;
  return error("the shape {} was given for input '{}', the model wants {}", to_string(given), input.name, text_of(*input.shape)).with_help("only dynamic extents and the first one, which counts samples, can be chosen");
}

}  // namespace

InputShapes::InputShapes(const std::vector<OnnxValueInfo>& inputs, const std::map<std::string, Shape>& given, const std::map<std::string, Shape>& known, std::int64_t batch, Diagnostics& diagnostics)
    : given_(given), known_(known), batch_(batch), diagnostics_(diagnostics) {
  for (const OnnxValueInfo& input : inputs) {
    const auto it = given.find(input.name);
    if (it == given.end() || !input.shape || input.shape->size() != it->second.size()) continue;
    for (std::size_t d = 0; d < it->second.size(); ++d) {
      if (!(*input.shape)[d].symbol.empty()) symbols_.emplace((*input.shape)[d].symbol, it->second[d]);
    }
  }
}

Result<Shape> InputShapes::of(const OnnxValueInfo& input) const {
  Shape shape = NARROW_TRY(chosen(input));
  if (is_plausible(shape)) return shape;
  return error("input '{}' would have the shape {}", input.name, to_string(shape)).with_help("no network reads that much: look at --input-shape, or export the model again");
}

Result<Shape> InputShapes::chosen(const OnnxValueInfo& input) const {
  if (const auto given = given_.find(input.name); given != given_.end()) return given_shape(input, given->second);
  if (!input.shape) return error("input '{}' has no shape in the model", input.name).with_help(fmt::format("give it: --input-shape {}=1x3x224x224", input.name));
  const auto known = known_.find(input.name);
  const bool is_known = known != known_.end() && known->second.size() == input.shape->size();
  Shape shape;
  std::vector<std::string> open, example;
  for (std::size_t d = 0; d < input.shape->size(); ++d) {
    const OnnxDimension& dimension = (*input.shape)[d];
    const auto symbol = symbols_.find(dimension.symbol);
    if (dimension.extent) shape.push_back(*dimension.extent);
    else if (symbol != symbols_.end()) shape.push_back(symbol->second);
    else if (is_known) shape.push_back(known->second[d]);
    else if (d == 0) shape.push_back(batch_);
    else {
      open.push_back(dimension.symbol.empty() ? fmt::format("number {}", d) : "'" + dimension.symbol + "'");
      example.push_back("N");
      continue;
    }
    example.push_back(std::to_string(shape.back()));
  }
  if (!open.empty()) {
    return error("input '{}' {} has dynamic extents ({}), and shapes must be known", input.name, text_of(*input.shape), join(open, ", "))
        .with_help(fmt::format("give them: --input-shape {}={}", input.name, join(example, "x")));
  }
  const OnnxDimension* first = input.shape->empty() ? nullptr : &(*input.shape)[0];
  if (first != nullptr && !first->extent && !symbols_.contains(first->symbol) && !is_known) {
    diagnostics_.note(fmt::format("input '{}' {}: the first extent is dynamic, {} is taken", input.name, text_of(*input.shape), batch_));
  }
  return shape;
}

}  // namespace narrow
