#include "kernels/matmul_u8u8.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "kernels/conv_u8s8_tile.h"

namespace narrow {
namespace {

// Four (VNNI) or two (widened) rows of b side by side per column, minus `offset`; rows beyond k are given as `offset`s.
template <typename T, int kRows>
void interleave(const std::uint8_t* const (&rows)[kRows], std::int32_t offset, std::int64_t columns, T* __restrict out) {
  for (std::int64_t c = 0; c < columns; ++c) {
    for (int r = 0; r < kRows; ++r) out[c * kRows + r] = static_cast<T>(rows[r][c] - offset);
  }
}

class Product final : public MatMulU8U8 {
 public:
  Product(const MatMulU8U8Problem& problem, Isa isa)
      : p_(problem), tiles_(conv_tile_set(isa)), offset_(tiles_.widened ? problem.b_zero_point : 128), groups_((problem.k + per_group() - 1) / per_group()),
        requantizer_(std::vector<Rescale>(kConvPanel, problem.rescale), problem.rounding, problem.grid, isa) {
    filler_.assign(kConvPanel, static_cast<std::uint8_t>(offset_));
  }

  void run(const std::uint8_t* a, const std::uint8_t* b, void* y) const override {
    // Left rows that end inside a group, or that must be widened, are copied.
    std::vector<std::uint8_t> copy;
    const std::int64_t pitch = groups_ * 4;
    const std::uint8_t* left = a;
    if (tiles_.widened || pitch != p_.k) {
      copy.assign(static_cast<std::size_t>(p_.m * pitch), 0);
      for (std::int64_t row = 0; row < p_.m; ++row) {
        std::uint8_t* out = copy.data() + row * pitch;
        if (tiles_.widened) {
          std::copy_n(a + row * p_.k, p_.k, reinterpret_cast<std::int16_t*>(out));
        } else {
          std::copy_n(a + row * p_.k, p_.k, out);
        }
      }
      left = copy.data();
    }
    // b is packed minus offset_ instead of its zero point: the difference counts once per element of the left row.
    std::vector<std::int32_t> row_terms(static_cast<std::size_t>(p_.m), 0);
    const std::int32_t per_code = offset_ - p_.b_zero_point;
    if (per_code != 0) {
      for (std::int64_t row = 0; row < p_.m; ++row) row_terms[static_cast<std::size_t>(row)] = per_code * std::accumulate(a + row * p_.k, a + (row + 1) * p_.k, 0);
    }
    constexpr std::int64_t kFewMacs = 100'000;
    const std::int64_t panels = (p_.n + kConvPanel - 1) / kConvPanel, per_job = std::max<std::int64_t>(1, kFewMacs / (p_.m * p_.k * kConvPanel + 1));
    parallel_for((panels + per_job - 1) / per_job, [&](std::int64_t job) {
      for (std::int64_t panel = job * per_job; panel < std::min(panels, (job + 1) * per_job); ++panel) {
        run_panel(panel * kConvPanel, left, row_terms, b, static_cast<char*>(y));
      }
    });
  }

 private:
  std::int64_t per_group() const { return tiles_.widened ? 2 : 4; }
  void pack(const std::uint8_t* b, std::int64_t columns, std::uint8_t* packed, std::int32_t* bias) const;
  void run_panel(std::int64_t first, const std::uint8_t* left, const std::vector<std::int32_t>& row_terms, const std::uint8_t* b, char* y) const;

  MatMulU8U8Problem p_;
  const ConvTileSet& tiles_;
  std::int32_t offset_;
  std::int64_t groups_;
  RowRequantizer requantizer_;
  std::vector<std::uint8_t> filler_;
};

// Columns of b from b[0] on, and -a_zero_point * (column sum + k * what the offset leaves of the zero point).
void Product::pack(const std::uint8_t* b, std::int64_t columns, std::uint8_t* packed, std::int32_t* bias) const {
  std::int32_t sums[kConvPanel] = {};
  if (columns < kConvPanel) std::memset(packed, 0, static_cast<std::size_t>(groups_ * 4 * kConvPanel));
  for (std::int64_t g = 0; g < groups_; ++g, packed += 4 * kConvPanel) {
    const std::uint8_t* rows[4];
    for (std::int64_t r = 0; r < per_group(); ++r) {
      const std::int64_t i = g * per_group() + r;
      rows[r] = i < p_.k ? b + i * p_.n : filler_.data();
      if (i < p_.k) {
        for (std::int64_t c = 0; c < columns; ++c) sums[c] += rows[r][c];
      }
    }
    if (tiles_.widened) {
      interleave<std::int16_t, 2>({rows[0], rows[1]}, offset_, columns, reinterpret_cast<std::int16_t*>(packed));
    } else {
      interleave<std::int8_t, 4>({rows[0], rows[1], rows[2], rows[3]}, offset_, columns, reinterpret_cast<std::int8_t*>(packed));
    }
  }
  for (std::int64_t c = 0; c < kConvPanel; ++c) {
    bias[c] = c < columns ? -p_.a_zero_point * (sums[c] - static_cast<std::int32_t>(p_.k) * p_.b_zero_point) : 0;
  }
}

void Product::run_panel(std::int64_t first, const std::uint8_t* left, const std::vector<std::int32_t>& row_terms, const std::uint8_t* b, char* y) const {
  thread_local std::vector<std::uint8_t> packed;
  packed.resize(static_cast<std::size_t>(groups_ * 4 * kConvPanel));
  alignas(64) std::int32_t acc[16 * kConvPanel], bias[kConvPanel];
  const std::int64_t columns = std::min<std::int64_t>(p_.n - first, kConvPanel), element = p_.grid.i16 ? 2 : 1;
  pack(b + first, columns, packed.data(), bias);
  const std::ptrdiff_t tap = 0;
  ConvTile tile{.pixel_stride = groups_ * 4, .taps = &tap, .tap_count = 1, .groups = groups_, .weights = packed.data(), .bias = bias, .acc = acc};
  const std::int64_t parts = (p_.m + tiles_.max_pixels - 1) / tiles_.max_pixels;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t row = p_.m * part / parts, rows = p_.m * (part + 1) / parts - row;
    tile.x = left + row * groups_ * 4;
    tiles_.wide[rows](tile);
    if (offset_ != p_.b_zero_point) {
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int32_t term = row_terms[static_cast<std::size_t>(row + r)];
        for (std::int64_t c = 0; c < kConvPanel; ++c) acc[r * kConvPanel + c] += term;
      }
    }
    requantizer_.run(acc, kConvPanel, rows, 0, columns, y + (row * p_.n + first) * element, p_.n);
  }
}

}  // namespace

std::unique_ptr<MatMulU8U8> make_matmul_u8u8(const MatMulU8U8Problem& problem, Isa isa) {
  const auto code = [](std::int32_t zero_point) { return zero_point >= 0 && zero_point <= 255; };
  // 2^17 exceeds what one term contributes to the sum of products, its column's and its row's correction together.
  if (problem.k > (INT32_MAX >> 17) || !code(problem.a_zero_point) || !code(problem.b_zero_point) || !problem.grid.valid()) return nullptr;
  if (!RowRequantizer::takes({&problem.rescale, 1})) return nullptr;
  return std::make_unique<Product>(problem, resolve_isa(isa));
}

}  // namespace narrow
