#include "ops/strided.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"

namespace narrow {
namespace {

// A stretch of the innermost axis: evenly spaced in x, or all fill.
struct Run {
  std::int64_t to = 0, from = 0, count = 0, step = 1;  // from == -1: fill
};

std::vector<Run> runs_of(const AxisSource& source) {
  std::vector<Run> out;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const std::int64_t s = source[i];
    Run* last = out.empty() ? nullptr : &out.back();
    if (last != nullptr && last->from != -1 && s != -1 && last->count == 1) last->step = s - last->from;
    if (last != nullptr && (s == -1 ? last->from == -1 : last->from != -1 && s == last->from + last->count * last->step)) {
      ++last->count;
    } else {
      out.push_back({static_cast<std::int64_t>(i), s, 1, 1});
    }
  }
  return out;
}

template <typename T>
void copy_spaced(const std::byte* x, std::int64_t step, std::byte* y, std::int64_t count) {
  const T* from = reinterpret_cast<const T*>(x);
  T* to = reinterpret_cast<T*>(y);
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
}

// y[i] = x[i * step] for blocks of `bytes`.
void copy_run(const std::byte* x, std::int64_t step, std::size_t bytes, std::byte* y, std::int64_t count) {
  if (step == 1) {
    std::memcpy(y, x, static_cast<std::size_t>(count) * bytes);
  } else if (bytes == 1) {
    copy_spaced<std::uint8_t>(x, step, y, count);
  } else if (bytes == 2) {
    copy_spaced<std::uint16_t>(x, step, y, count);
  } else if (bytes == 4) {
    copy_spaced<std::uint32_t>(x, step, y, count);
  } else {
    for (std::int64_t i = 0; i < count; ++i) std::memcpy(y + static_cast<std::size_t>(i) * bytes, x + i * step * static_cast<std::int64_t>(bytes), bytes);
  }
}

void fill_bytes(std::byte* y, const void* fill, std::size_t element, std::int64_t count) {
  if (element == 1) {
    std::memset(y, *static_cast<const unsigned char*>(fill), static_cast<std::size_t>(count));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(y + static_cast<std::size_t>(i) * element, fill, element);
}

// Blocks taken one by one from `source` (in blocks; -1: fill, whose bytes are `filled`). N: bytes of a block, 0: `bytes`.
template <std::size_t N>
void copy_blocks(const AxisSource& source, const std::byte* from, const std::byte* filled, std::byte* to, std::size_t bytes) {
  const std::size_t size = N == 0 ? bytes : N;
  for (std::size_t i = 0; i < source.size(); ++i) {
    std::memcpy(to + i * size, source[i] == -1 ? filled : from + static_cast<std::size_t>(source[i]) * size, size);
  }
}

using CopyBlocks = void (*)(const AxisSource&, const std::byte*, const std::byte*, std::byte*, std::size_t);
CopyBlocks copy_blocks_of(std::size_t bytes) {
  switch (bytes) {
    case 1: return copy_blocks<1>;
    case 2: return copy_blocks<2>;
    case 3: return copy_blocks<3>;
    case 4: return copy_blocks<4>;
    case 8: return copy_blocks<8>;
    case 12: return copy_blocks<12>;
    case 16: return copy_blocks<16>;
    default: return copy_blocks<0>;
  }
}

bool is_whole(const AxisSource& source, std::int64_t extent) {
  if (static_cast<std::int64_t>(source.size()) != extent) return false;
  for (std::int64_t i = 0; i < extent; ++i) {
    if (source[static_cast<std::size_t>(i)] != i) return false;
  }
  return true;
}

}  // namespace

void gather_axes(const Tensor& x, const std::vector<AxisSource>& source, const void* fill, Tensor& y) {
  if (y.elements() == 0) return;
  const std::size_t element = size_of(x.dtype());
  const auto* from = static_cast<const std::byte*>(x.raw());
  auto* to = static_cast<std::byte*>(y.raw());
  // Axes at the end that are taken whole move as one block.
  std::size_t rank = source.size();
  std::int64_t block = 1;
  while (rank > 0 && is_whole(source[rank - 1], x.shape()[rank - 1])) block *= x.shape()[--rank];
  const std::size_t block_bytes = static_cast<std::size_t>(block) * element;
  if (rank == 0) {
    std::memcpy(to, from, block_bytes);
    return;
  }
  std::vector<std::int64_t> strides(rank, block);  // of x, in elements
  for (std::size_t d = rank - 1; d-- > 0;) strides[d] = strides[d + 1] * x.shape()[d + 1];
  const std::vector<Run> runs = runs_of(source[rank - 1]);
  const auto row_extent = static_cast<std::int64_t>(source[rank - 1].size());
  // Steps and repetitions give runs of single blocks.
  const CopyBlocks one_by_one = static_cast<std::int64_t>(runs.size()) * 2 > row_extent ? copy_blocks_of(block_bytes) : nullptr;
  std::vector<std::byte> filled_block(one_by_one != nullptr ? block_bytes : 0);
  if (one_by_one != nullptr && fill != nullptr) fill_bytes(filled_block.data(), fill, element, block);
  const std::int64_t rows = y.elements() / (row_extent * block);
  const std::int64_t per_chunk = std::max<std::int64_t>(1, 16384 / (row_extent * block));
  parallel_for((rows + per_chunk - 1) / per_chunk, [&](std::int64_t chunk) {
    for (std::int64_t r = chunk * per_chunk; r < std::min(rows, (chunk + 1) * per_chunk); ++r) {
      std::int64_t offset = 0, rest = r;
      bool filled = false;
      for (std::size_t d = rank - 1; d-- > 0;) {
        const auto extent = static_cast<std::int64_t>(source[d].size());
        const std::int64_t s = source[d][static_cast<std::size_t>(rest % extent)];
        rest /= extent;
        filled = filled || s == -1;
        offset += s * strides[d];
      }
      std::byte* row = to + static_cast<std::size_t>(r * row_extent) * block_bytes;
      if (filled) {
        fill_bytes(row, fill, element, row_extent * block);
        continue;
      }
      if (one_by_one != nullptr) {
        one_by_one(source[rank - 1], from + static_cast<std::size_t>(offset) * element, filled_block.data(), row, block_bytes);
        continue;
      }
      for (const Run& run : runs) {
        std::byte* target = row + static_cast<std::size_t>(run.to) * block_bytes;
        if (run.from == -1) {
          fill_bytes(target, fill, element, run.count * block);
        } else {
          copy_run(from + static_cast<std::size_t>(offset + run.from * block) * element, run.step, block_bytes, target, run.count);
        }
      }
    }
  });
}

}  // namespace narrow
