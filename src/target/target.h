// What the hardware can do: data read from targets/NAME.yaml (or any path), never code.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ops/lower_context.h"
#include "tensor/dtype.h"

namespace narrow {

struct Target {
  std::string name;
  std::string summary;
  std::vector<DType> activations{DType::kI8, DType::kU8, DType::kI16};  // allowed; the first is the default
  bool symmetric_activations = false;      // zero point in the middle is required
  int weight_bits = 8;
  bool per_channel_weights = true;
  int accumulator_bits = 32;
  int bias_bits = 32;                      // under 8-bit activations; 64 under 16-bit ones
  bool float_islands = true;               // may a node stay float?
  ArithmeticProfile arithmetic;
  // Operators that this hardware cannot run in integers, with the reason; every other operator with an integer form can.
  std::map<std::string, std::string, std::less<>> float_only;

  struct Answer { bool yes = true; std::string reason; };
  Answer supports(std::string_view op, DType activation) const;
  std::uint64_t hash() const;              // of the canonical form
};

// Where neither command line nor recipe nor plan names one.
inline constexpr const char* kDefaultTarget = "generic-int8";
// `name` is a file path, or a name looked up in $NARROW_TARGETS, beside the binary (../share/narrow/targets, ../targets), and in the source
// tree. Errors: unknown name (with suggestions), unknown key, bad value (file, line).
Result<Target> load_target(const std::string& name);
Result<Target> parse_target(std::string_view yaml, const std::string& file);
std::vector<std::string> target_names();   // sorted

}  // namespace narrow
