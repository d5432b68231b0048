// Plan text: whatever parses prints and parses back to itself.
#include <cstdint>

#include "plan/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace narrow;
  const auto plan = Plan::from_text({reinterpret_cast<const char*>(data), size}, "fuzz.plan");
  if (!plan) {
    NARROW_CHECK(!plan.error().to_string().empty());
    return 0;
  }
  const auto again = Plan::from_text(plan->to_text(), "again.plan");
  NARROW_CHECK(again.has_value(), "{}", again.error().to_string());
  NARROW_CHECK(again->to_text() == plan->to_text());
  return 0;
}
