// Statistics: whatever parses prints and parses back to itself, and every calibrator finds an interval in it.
#include <cmath>
#include <cstdint>

#include "calibrate/calibrators.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace narrow;
  const auto json = parse_json({reinterpret_cast<const char*>(data), size}, "fuzz.stats.json");
  if (!json) return 0;
  const auto stats = Stats::from_json(*json);
  if (!stats) {
    NARROW_CHECK(!stats.error().to_string().empty());
    return 0;
  }
  const std::string printed = stats->to_json().dump();
  const auto again = Stats::from_json(parse_json(printed, "again.stats.json").value());
  NARROW_CHECK(again.has_value() && again->to_json().dump() == printed && again->hash() == stats->hash());
  for (const ValueStats& value : stats->values) {
    for (const Calibrator& calibrator : calibrators()) {
      for (const bool symmetric : {false, true}) {
        const Range range = choose_range(value, {.calibrator = &calibrator}, {.symmetric = symmetric});
        NARROW_CHECK(range.lo <= 0 && range.hi >= 0 && std::isfinite(range.lo) && std::isfinite(range.hi), "{}", calibrator.name);
      }
    }
  }
  return 0;
}
