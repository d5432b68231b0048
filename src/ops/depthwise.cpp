#include "ops/depthwise.h"

namespace narrow {

NodeSpec make_depthwise_1x1(Graph& graph, ValueId x, const std::string& name, const std::vector<float>& scale, const std::vector<float>& shift) {
  const auto channels = static_cast<std::int64_t>(scale.size());
  NARROW_CHECK(graph.value(x).shape.size() == 4 && graph.value(x).shape[3] == channels && scale.size() == shift.size());
  const ValueId weight = graph.add_constant(name + ".scale", Tensor::of<float>({channels, 1, 1, 1}, scale));
  const ValueId bias = graph.add_constant(name + ".shift", Tensor::of<float>({channels}, shift));
  NodeSpec spec{.name = name, .op = "Conv", .inputs = {x, weight, bias}};
  spec.attrs.set("group", Attr(channels));
  spec.attrs.set("strides", Attr(std::vector<std::int64_t>{1, 1}));
  spec.attrs.set("pads", Attr(std::vector<std::int64_t>{0, 0, 0, 0}));
  spec.attrs.set("dilations", Attr(std::vector<std::int64_t>{1, 1}));
  return spec;
}

}  // namespace narrow
