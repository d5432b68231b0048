#include "kernels/conv_u8s8.h"

namespace narrow {

bool isa_available(Isa isa) { return isa == Isa::kBest || isa == Isa::kPortable; }
std::unique_ptr<ConvU8S8> make_conv_u8s8(const ConvU8S8Problem&, Isa) { return nullptr; }

}  // namespace narrow
