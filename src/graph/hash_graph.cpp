#include "base/hash.h"
#include "base/text.h"
#include "graph/graph.h"

namespace narrow {

std::uint64_t Graph::hash() const {
  std::string text = name;
  const auto add_value = [&](ValueId id) {
    if (!id) {
      text += "|-";
      return;
    }
    const Value& v = value(id);
    text += fmt::format("|{}:{}{}", v.name, name_of(v.dtype), to_string(v.shape));
    if (v.quant) {
      text += fmt::format("q{} {} {} {}", name_of(v.quant->dtype), v.quant->axis, v.quant->bits, v.quant->narrow_range);
      for (const float s : v.quant->scale) text += " " + exact(s);
      for (const std::int32_t z : v.quant->zero_point) text += fmt::format(" {}", z);
    }
    if (v.is_constant()) text += hash_to_string(v.constant.hash());
  };
  for (const ValueId id : inputs_) add_value(id);
  for (const NodeId id : order_) {
    const Node& n = node(id);
    text += fmt::format("\n{} {}", n.op, n.name);
    for (const ValueId in : n.inputs) add_value(in);
    text += "->";
    for (const ValueId out : n.outputs) add_value(out);
    for (const auto& [key, attr] : n.attrs.all()) {
      text += fmt::format(" {}#{}=", key, attr.index());
      std::visit(
          [&](const auto& x) {
            using T = std::decay_t<decltype(x)>;
            if constexpr (std::is_same_v<T, std::int64_t>) text += std::to_string(x);
            else if constexpr (std::is_same_v<T, double>) text += exact(x);
            else if constexpr (std::is_same_v<T, std::string>) text += x;
            else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) text += to_string(x);
            else
              for (const double d : x) text += exact(d) + ",";
          },
          attr);
    }
  }
  text += "\nout";
  for (const ValueId id : outputs_) add_value(id);
  return hash_text(text);
}

}  // namespace narrow
