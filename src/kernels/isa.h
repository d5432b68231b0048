// The instruction sets that the integer kernels are written for; chosen at run time from what the processor has. Which one
// runs never changes a result.
#pragma once

#include <string_view>

namespace narrow {

enum class Isa { kBest, kPortable, kAvx2, kAvx512Vnni };

// Can this processor run it? kBest and kPortable: always.
bool isa_available(Isa isa);
// kBest becomes the fastest available set; others stay. The set must be available.
Isa resolve_isa(Isa isa);
// From now on kBest becomes `isa` (kBest: the fastest again). For tests and benchmarks that walk through the sets.
void prefer_isa(Isa isa);
std::string_view name_of(Isa isa);  // "avx512vnni", for messages

}  // namespace narrow
