// Graph text: whatever parses is consistent, and prints and parses back to itself.
#include <cstdint>
#include <string_view>

#include "graph/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace narrow;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find("rand") != text.npos || text.find("fill") != text.npos) {
    if (size > 4096 || text.find("00000") != text.npos) return 0;  // generated constants may be large on purpose
  }
  const auto graph = parse_graph(text);
  if (!graph) {
    NARROW_CHECK(!graph.error().to_string().empty());
    return 0;
  }
  std::int64_t elements = 0;
  for (const ValueId id : graph->live_values()) {
    if (graph->value(id).is_constant()) elements += element_count(graph->value(id).shape);
  }
  if (elements > 1 << 16) return 0;  // as text, seconds
  const std::string printed = print_graph(*graph);
  const auto again = parse_graph(printed);
  NARROW_CHECK(again.has_value(), "{}\n{}", again.error().to_string(), printed);
  NARROW_CHECK(again->hash() == graph->hash() && print_graph(*again) == printed, "{}", printed);
  return 0;
}
