// Table look-ups over arrays (the loops of qlut and qlut16; see ops/lut.h for the meaning of the tables). Every
// instruction set gives the same bits.
#pragma once

#include <cstdint>

#include "kernels/isa.h"

namespace narrow {

// y = table[x], counted from the lowest code of x: 256 entries for u8, 65,536 for i16.
void look_up(const std::uint8_t* x, const std::uint8_t* table, std::uint8_t* y, std::int64_t count, Isa isa = Isa::kBest);
void look_up(const std::uint8_t* x, const std::int16_t* table, std::int16_t* y, std::int64_t count);
void look_up(const std::int16_t* x, const std::uint8_t* table, std::uint8_t* y, std::int64_t count);
void look_up(const std::int16_t* x, const std::int16_t* table, std::int16_t* y, std::int64_t count);

struct Lut16Spec {
  const std::int16_t* entries = nullptr;  // [513]
  std::int32_t fraction_bits = 0;         // 0 or 7
  std::int32_t middle = 0;
  std::int32_t low = 0, high = 0;         // of y
};
// i = (x + 32768) >> 7, f = (x + 32768) & 127:
// y = clamp(middle + round_half_up((entries[i] * (128 - f) + entries[i + 1] * f) / 2^(7 + fraction_bits))).
void lut_i16_u8(const std::int16_t* x, const Lut16Spec& spec, std::uint8_t* y, std::int64_t count, Isa isa = Isa::kBest);
void lut_i16_i16(const std::int16_t* x, const Lut16Spec& spec, std::int16_t* y, std::int64_t count, Isa isa = Isa::kBest);

}  // namespace narrow
