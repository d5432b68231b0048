// Floor, Ceil, Round (half to even) and Sign.
#include <cmath>

#include "ops/unary.h"

namespace narrow {
namespace {

float floor_of(float x, const Attrs&) { return std::floor(x); }
float ceil_of(float x, const Attrs&) { return std::ceil(x); }
float round_of(float x, const Attrs&) { return round_half_even(x); }
float sign_of(float x, const Attrs&) { return x > 0 ? 1.0F : x < 0 ? -1.0F : x; }
constexpr ActivationDef kFloor{.apply = floor_of}, kCeil{.apply = ceil_of}, kRound{.apply = round_of}, kSign{.apply = sign_of};

}  // namespace

extern const OpDef op_floor;
constinit const OpDef op_floor = unary_op({.name = "Floor", .summary = "largest integer not above x", .activation = &kFloor});

extern const OpDef op_ceil;
constinit const OpDef op_ceil = unary_op({.name = "Ceil", .summary = "smallest integer not below x", .activation = &kCeil});

extern const OpDef op_round;
constinit const OpDef op_round = unary_op({.name = "Round", .summary = "nearest integer, half to even", .activation = &kRound});

extern const OpDef op_sign;
constinit const OpDef op_sign = unary_op({.name = "Sign", .summary = "-1, 0 or 1", .activation = &kSign});

}  // namespace narrow
