#include "kernels/elementwise_u8.h"

#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "support.h"
#include "tensor/quant_params.h"

namespace narrow {
namespace {

std::vector<Isa> isas() {
  std::vector<Isa> all;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512Vnni}) {
    if (isa_available(isa)) all.push_back(isa);
  }
  return all;
}

TEST(ElementwiseU8, QuantizeMatchesTheFormula) {
  NARROW_SEEDED(rng);
  std::vector<float> x{0, -0.0F, 1e30F, -1e30F, std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN(), 1e-45F};
  for (int i = -700; i < 700; ++i) x.push_back(static_cast<float>(i) * 0.25F);  // ties of scale 0.5
  std::uniform_real_distribution<float> pick(-200, 200);
  for (int i = 0; i < 5001; ++i) x.push_back(pick(rng));
  for (const auto& [scale, zero_point, low, high] : {std::tuple{0.5F, 128, 0, 255}, {0.37F, 0, 0, 255}, {1.0F, 255, 3, 200}, {1e-30F, 7, 0, 255}}) {
    for (const Isa isa : isas()) {
      std::vector<std::uint8_t> y(x.size());
      quantize_f32_u8(x.data(), scale, zero_point, low, high, y.data(), static_cast<std::int64_t>(x.size()), isa);
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], quantize(x[i], scale, zero_point, low, high)) << x[i] << ' ' << name_of(isa);
    }
  }
}

TEST(ElementwiseU8, DequantizeMatchesTheFormula) {
  std::vector<std::uint8_t> x(256);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(i);
  std::vector<float> y(x.size());
  dequantize_u8_f32(x.data(), 0.37F, 100, y.data(), 256);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], dequantize(x[i], 0.37F, 100));
}

// All pairs of codes; expected values written out as the attributes of qadd define them (ops/add.cpp).
TEST(ElementwiseU8, AddOfAllPairs) {
  NARROW_SEEDED(rng);
  std::uniform_real_distribution<double> log_scale(-6, 0);
  std::uniform_int_distribution<int> code(0, 255);
  std::vector<std::uint8_t> a, b;
  for (int i = 0; i < 65536; ++i) a.push_back(static_cast<std::uint8_t>(i / 256)), b.push_back(static_cast<std::uint8_t>(i));
  a.push_back(3), b.push_back(200);  // not a multiple of any vector
  std::vector<std::uint8_t> y(a.size());
  for (int round = 0; round < 8; ++round) {
    const float sa = static_cast<float>(std::exp2(log_scale(rng))), sb = round == 0 ? sa : static_cast<float>(std::exp2(log_scale(rng)));
    const float sy = round == 1 ? sa : static_cast<float>(std::exp2(log_scale(rng)));
    const double common = 2.0 * std::max(sa, sb);
    for (const Rounding rounding : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
      const AddU8::Spec spec{.a = make_rescale(sa / common, sa), .b = make_rescale(sb / common, sb), .y = make_rescale(common / (static_cast<double>(sy) * (1 << 20)), sy),
                       .rounding = rounding, .left_shift = 20, .sign_b = round % 2 == 0 ? 1 : -1, .a_zero_point = code(rng), .b_zero_point = code(rng),
                       .grid = {code(rng), round == 2 ? 20 : 0, round == 2 ? 210 : 255, false}};
      const auto wanted = [&](int p, int q) {
        if (rounding == Rounding::kFloatRne) {
          if (spec.sign_b < 0) return quantize(dequantize(p, sa, spec.a_zero_point) - dequantize(q, sb, spec.b_zero_point), sy, spec.grid.zero_point, spec.grid.low, spec.grid.high);
          // Long doubles hold the products and these sums exactly enough: one rounding to float, as a fused multiplication and addition.
          const auto fused = [](float x, float y, float z) { return static_cast<float>(static_cast<long double>(x) * static_cast<long double>(y) + static_cast<long double>(z)); };
          const float ra = sa / sy, rb = sb / sy;
          const float fixed = static_cast<float>(spec.grid.zero_point) - fused(ra, static_cast<float>(spec.a_zero_point), rb * static_cast<float>(spec.b_zero_point));
          return round_to_grid(fused(static_cast<float>(p), ra, fused(static_cast<float>(q), rb, fixed)), 0, spec.grid.low, spec.grid.high);
        }
        const std::int64_t left = rescale(std::int64_t{p - spec.a_zero_point} << 20, spec.a, rounding), right = rescale(std::int64_t{q - spec.b_zero_point} << 20, spec.b, rounding);
        return requantize(left + spec.sign_b * right, spec.y, rounding, spec.grid.zero_point, spec.grid.low, spec.grid.high);
      };
      for (const Isa isa : isas()) {
        const AddU8 add(spec, isa);
        add.run({a.data(), b.data()}, y.data(), static_cast<std::int64_t>(y.size()));
        for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], wanted(a[i], b[i])) << name_of(isa) << ' ' << name_of(rounding) << " a " << int{a[i]} << " b " << int{b[i]};
        add.run({a.data() + 500, b.data(), 0, 1}, y.data(), 300);
        for (std::size_t i = 0; i < 300; ++i) ASSERT_EQ(y[i], wanted(a[500], b[i]));
      }
    }
  }
}

TEST(ElementwiseU8, MulOfAllPairs) {
  NARROW_SEEDED(rng);
  std::vector<std::uint8_t> a, b;
  for (int i = 0; i < 65536; ++i) a.push_back(static_cast<std::uint8_t>(i / 256)), b.push_back(static_cast<std::uint8_t>(i));
  std::vector<std::uint8_t> y(a.size());
  for (const double factor : {0.004, 0.0151, 0.7, 1.9}) {
    for (const Rounding rounding : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
      const MulU8::Spec spec{.factor = make_rescale(factor), .rounding = rounding, .a_zero_point = static_cast<int>(rng() % 256), .b_zero_point = static_cast<int>(rng() % 256), .grid = {77, 0, 255, false}};
      for (const Isa isa : isas()) {
        MulU8(spec, isa).run({a.data(), b.data()}, y.data(), static_cast<std::int64_t>(y.size()));
        for (std::size_t i = 0; i < y.size(); ++i) {
          const std::int32_t product = (a[i] - spec.a_zero_point) * (b[i] - spec.b_zero_point);
          const std::int32_t wanted = rounding == Rounding::kFloatRne ? round_to_grid(static_cast<float>(product) * spec.factor.scale + 77, 0, 0, 255)
                                                                      : requantize(product, spec.factor, rounding, 77, 0, 255);
          ASSERT_EQ(y[i], wanted) << name_of(isa) << ' ' << name_of(rounding) << " product " << product;
        }
      }
    }
  }
}

}  // namespace
}  // namespace narrow
