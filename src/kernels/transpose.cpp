#include "kernels/transpose.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/parallel.h"

namespace narrow {
namespace {

struct Axis {
  std::int64_t extent = 1, from = 0, to = 0;  // strides in x and y
};

// Axes of y in order, axes of extent 1 dropped and neighbours merged that are neighbours in x too.
std::vector<Axis> canonical_axes(const Shape& shape, std::span<const int> perm) {
  const std::vector<std::int64_t> strides = strides_of(shape);
  std::vector<Axis> axes;
  for (const int p : perm) {
    const std::int64_t extent = shape[static_cast<std::size_t>(p)], from = strides[static_cast<std::size_t>(p)];
    if (extent == 1) continue;
    if (!axes.empty() && axes.back().from == from * extent) {
      axes.back() = {axes.back().extent * extent, from, 0};
    } else {
      axes.push_back({extent, from, 0});
    }
  }
  std::int64_t to = 1;
  for (auto a = axes.rbegin(); a != axes.rend(); ++a) {
    a->to = to;
    to *= a->extent;
  }
  return axes;
}

// Offsets of combination `index` of the axes.
void offsets(const std::vector<Axis>& axes, std::int64_t index, std::int64_t& from, std::int64_t& to) {
  for (auto a = axes.rbegin(); a != axes.rend(); ++a) {
    from += index % a->extent * a->from;
    to += index % a->extent * a->to;
    index /= a->extent;
  }
}

std::int64_t combinations(const std::vector<Axis>& axes) {
  std::int64_t count = 1;
  for (const Axis& a : axes) count *= a.extent;
  return count;
}

// The last axis stays last: rows are copied whole.
void copy_rows(std::vector<Axis> axes, const std::byte* x, std::byte* y, std::size_t element) {
  const Axis row = axes.back();
  axes.pop_back();
  const std::size_t bytes = static_cast<std::size_t>(row.extent) * element;
  const std::int64_t rows = combinations(axes), per_chunk = std::max<std::int64_t>(1, 65536 / static_cast<std::int64_t>(bytes));
  parallel_for((rows + per_chunk - 1) / per_chunk, [&](std::int64_t chunk) {
    for (std::int64_t r = chunk * per_chunk; r < std::min(rows, (chunk + 1) * per_chunk); ++r) {
      std::int64_t from = 0, to = 0;
      offsets(axes, r, from, to);
      std::memcpy(y + static_cast<std::size_t>(to) * element, x + static_cast<std::size_t>(from) * element, bytes);
    }
  });
}

// y[r * pitch + c] = x[r + c * plane] for the few c < kCount: images between planes and pixels.
template <int kCount, typename T>
void interleave(const T* __restrict x, std::int64_t plane, T* __restrict y, std::int64_t pitch, std::int64_t rows) {
  if (pitch == kCount) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (int c = 0; c < kCount; ++c) y[r * kCount + c] = x[r + c * plane];
    }
  } else {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (int c = 0; c < kCount; ++c) y[r * pitch + c] = x[r + c * plane];
    }
  }
}

// The axis that is contiguous in x and the one contiguous in y are exchanged tile by tile, for every combination of the
// others.
template <typename T>
void exchange(std::vector<Axis> axes, const T* x, T* y) {
  const Axis inner = axes.back();  // to == 1
  axes.pop_back();
  const auto contiguous = std::find_if(axes.begin(), axes.end(), [](const Axis& a) { return a.from == 1; });
  const Axis outer = *contiguous;  // from == 1
  axes.erase(contiguous);
  const std::int64_t tile = inner.extent <= 4 ? 1024 : 64;
  const std::int64_t strips = (outer.extent + tile - 1) / tile;
  parallel_for(combinations(axes) * strips, [&](std::int64_t job) {
    std::int64_t from = 0, to = 0;
    offsets(axes, job / strips, from, to);
    const std::int64_t r0 = job % strips * tile, r1 = std::min(outer.extent, r0 + tile);
    switch (inner.extent) {
      case 2: return interleave<2>(x + from + r0, inner.from, y + to + r0 * outer.to, outer.to, r1 - r0);
      case 3: return interleave<3>(x + from + r0, inner.from, y + to + r0 * outer.to, outer.to, r1 - r0);
      case 4: return interleave<4>(x + from + r0, inner.from, y + to + r0 * outer.to, outer.to, r1 - r0);
      default: break;
    }
    for (std::int64_t c0 = 0; c0 < inner.extent; c0 += tile) {
      const std::int64_t c1 = std::min(inner.extent, c0 + tile);
      for (std::int64_t r = r0; r < r1; ++r) {
        const T* source = x + from + r;
        T* target = y + to + r * outer.to;
        for (std::int64_t c = c0; c < c1; ++c) target[c] = source[c * inner.from];
      }
    }
  });
}

}  // namespace

void transpose(const void* x, const Shape& shape, std::span<const int> perm, std::size_t element, void* y) {
  if (element_count(shape) == 0) return;
  const std::vector<Axis> axes = canonical_axes(shape, perm);
  if (axes.size() <= 1) {
    std::memcpy(y, x, static_cast<std::size_t>(element_count(shape)) * element);
  } else if (axes.back().from == 1) {
    copy_rows(axes, static_cast<const std::byte*>(x), static_cast<std::byte*>(y), element);
  } else if (element == 1) {
    exchange(axes, static_cast<const std::uint8_t*>(x), static_cast<std::uint8_t*>(y));
  } else if (element == 2) {
    exchange(axes, static_cast<const std::uint16_t*>(x), static_cast<std::uint16_t*>(y));
  } else if (element == 4) {
    exchange(axes, static_cast<const std::uint32_t*>(x), static_cast<std::uint32_t*>(y));
  } else {
    exchange(axes, static_cast<const std::uint64_t*>(x), static_cast<std::uint64_t*>(y));
  }
}

}  // namespace narrow
