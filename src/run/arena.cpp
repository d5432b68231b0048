#include "run/arena.h"

#include <algorithm>

namespace narrow {

std::size_t plan_arena(std::vector<ArenaBlock>& blocks) {
  constexpr std::size_t kAlign = 64;
  // One spare line behind every block: vector kernels may read (never write) up to 64 bytes past the end.
  const auto room = [](const ArenaBlock& b) { return (b.bytes + kAlign - 1) / kAlign * kAlign + kAlign; };
  std::vector<std::size_t> by_size;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].bytes > 0) by_size.push_back(i);
  }
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<std::size_t> placed;  // by offset
  std::size_t total = 0;
  for (const std::size_t i : by_size) {
    ArenaBlock& block = blocks[i];
    std::size_t offset = 0;
    for (const std::size_t p : placed) {
      const ArenaBlock& other = blocks[p];
      if (other.last < block.first || block.last < other.first) continue;
      if (offset + room(block) <= other.offset) break;
      offset = std::max(offset, other.offset + room(other));
    }
    block.offset = offset;
    total = std::max(total, offset + room(block));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i, [&](std::size_t a, std::size_t b) { return blocks[a].offset < blocks[b].offset; }), i);
  }
  return total;
}

}  // namespace narrow
