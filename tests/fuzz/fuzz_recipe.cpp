// Recipes and target files: strict YAML.
#include <cstdint>
#include <string_view>

#include "recipe/recipe.h"
#include "target/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto recipe = narrow::parse_recipe(text, "fuzz.yaml"); !recipe) NARROW_CHECK(!recipe.error().to_string().empty());
  if (const auto target = narrow::parse_target(text, "fuzz.yaml"); !target) NARROW_CHECK(!target.error().to_string().empty());
  return 0;
}
