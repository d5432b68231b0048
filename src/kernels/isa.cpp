#include "kernels/isa.h"

#include <atomic>

#include "base/error.h"

namespace narrow {
namespace {

std::atomic<Isa> preferred = Isa::kBest;

}  // namespace

void prefer_isa(Isa isa) {
  NARROW_CHECK(isa_available(isa), "no {} here", name_of(isa));
  preferred = isa;
}

bool isa_available(Isa isa) {
  switch (isa) {
    case Isa::kBest:
    case Isa::kPortable: return true;
#if defined(__x86_64__)
    case Isa::kAvx2: return __builtin_cpu_supports("avx2");
    case Isa::kAvx512Vnni:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
#else
    case Isa::kAvx2:
    case Isa::kAvx512Vnni: return false;
#endif
  }
  return false;
}

Isa resolve_isa(Isa isa) {
  NARROW_CHECK(isa_available(isa), "no {} here", name_of(isa));
  if (isa == Isa::kBest) isa = preferred;
  if (isa != Isa::kBest) return isa;
  return isa_available(Isa::kAvx512Vnni) ? Isa::kAvx512Vnni : isa_available(Isa::kAvx2) ? Isa::kAvx2 : Isa::kPortable;
}

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::kBest: return "best";
    case Isa::kPortable: return "portable";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512Vnni: return "avx512vnni";
  }
  return "?";
}

}  // namespace narrow
