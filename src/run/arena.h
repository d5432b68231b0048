// Offsets for buffers with known lifetimes in one block of memory: greedy by size, lowest offset that fits
// (Pisarchyk and Lee 2020, "Efficient memory management for deep neural net inference", greedy-by-size).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace narrow {

struct ArenaBlock {
  std::size_t bytes = 0;    // 0: takes no room
  std::int64_t first = 0;   // step that writes it
  std::int64_t last = 0;    // last step that reads it
  std::size_t offset = 0;   // result; a multiple of 64
};

// Sets the offsets and returns the size of the arena. Blocks alive at the same step never overlap.
std::size_t plan_arena(std::vector<ArenaBlock>& blocks);

}  // namespace narrow
