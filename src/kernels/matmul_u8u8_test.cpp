#include "kernels/matmul_u8u8.h"

#include "base/parallel.h"
#include "support.h"

namespace narrow {
namespace {

TEST(MatMulU8U8, EqualsPlainLoops) {
  NARROW_SEEDED(rng);
  const auto pick = [&](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(rng); };
  for (int round = 0; round < 250; ++round) {
    MatMulU8U8Problem p{.m = pick(1, 40), .n = pick(1, 80), .k = pick(1, 70)};
    p.a_zero_point = static_cast<std::int32_t>(pick(0, 255));
    p.b_zero_point = static_cast<std::int32_t>(round % 4 == 0 ? 128 : pick(0, 255));
    p.rounding = static_cast<Rounding>(round % 3);
    p.grid.i16 = round % 5 == 0;
    p.grid.low = p.grid.i16 ? INT16_MIN : 0;
    p.grid.high = p.grid.i16 ? INT16_MAX : 255;
    p.grid.zero_point = static_cast<std::int32_t>(pick(p.grid.low, p.grid.high));
    p.rescale = make_rescale((p.grid.i16 ? 1.0 : 1.0 / 256) * std::exp2(static_cast<double>(pick(-60, 10)) / 10));
    const bool extreme = round % 7 == 0;
    std::vector<std::uint8_t> a(static_cast<std::size_t>(p.m * p.k)), b(static_cast<std::size_t>(p.k * p.n));
    for (auto* v : {&a, &b}) {
      for (std::uint8_t& x : *v) x = static_cast<std::uint8_t>(extreme ? 255 * pick(0, 1) : pick(0, 255));
    }
    set_thread_count(round % 2 == 0 ? 1 : 3);
    for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512Vnni}) {
      if (!isa_available(isa)) continue;
      const auto product = make_matmul_u8u8(p, isa);
      ASSERT_NE(product, nullptr);
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(p.m * p.n));
      std::vector<std::int16_t> words(bytes.size());
      product->run(a.data(), b.data(), p.grid.i16 ? static_cast<void*>(words.data()) : bytes.data());
      for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j) {
          std::int64_t acc = 0;
          for (std::int64_t t = 0; t < p.k; ++t) {
            acc += std::int64_t{a[static_cast<std::size_t>(i * p.k + t)] - p.a_zero_point} * (b[static_cast<std::size_t>(t * p.n + j)] - p.b_zero_point);
          }
          const auto at = static_cast<std::size_t>(i * p.n + j);
          ASSERT_EQ(p.grid.i16 ? words[at] : bytes[at], requantize(acc, p.rescale, p.rounding, p.grid.zero_point, p.grid.low, p.grid.high))
              << name_of(isa) << " m " << p.m << " n " << p.n << " k " << p.k << " row " << i << " column " << j;
        }
      }
    }
  }
  set_thread_count(1);
}

TEST(MatMulU8U8, RefusesSumsBeyond32Bits) {
  MatMulU8U8Problem p{.m = 1, .n = 1, .k = 16383, .rescale = make_rescale(0.001)};
  EXPECT_NE(make_matmul_u8u8(p), nullptr);
  p.k = 16384;
  EXPECT_EQ(make_matmul_u8u8(p), nullptr);
}

}  // namespace
}  // namespace narrow
