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
