// Networks as text: what parses and fits its operators must run, by the plain loops and by the fast ones, on any data. Networks
// of integers alone give the same bytes by both.
#include <cstdint>
#include <string_view>

#include "ops/parse_network.h"
#include "ops/verify_network.h"
#include "whole_path.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace narrow;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size > 4096 || text.find("00000") != text.npos) return 0;  // generated constants may be large on purpose
  const auto graph = parse_network(text);
  if (!graph || !verify_network(*graph) || !fuzz::is_small(*graph)) return 0;
  fuzz::run_both_ways(*graph, fuzz::random_bits(*graph));
  return 0;
}
