// Every fast form of the integer convolution against plain loops written for this test: 64-bit sums, then requantize().
#include "kernels/conv_u8s8.h"

#include <chrono>

#include "base/parallel.h"
#include "support.h"

namespace narrow {
namespace {

struct Case {
  ConvShape shape;
  Rounding rounding = Rounding::kSingleRound;
  std::int32_t x_zero_point = 0, y_zero_point = 0, y_min = 0, y_max = 255;
  bool output_i16 = false;
  std::vector<std::uint8_t> x;
  std::vector<std::int8_t> weights;
  std::vector<std::int32_t> bias;  // may be empty
  std::vector<Rescale> rescale;
};

std::vector<std::int32_t> expected(const Case& c) {
  const ConvShape& s = c.shape;
  std::vector<std::int32_t> y;
  const std::int64_t in_per_group = s.in_c / s.groups, out_per_group = s.out_c / s.groups;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t oy = 0; oy < s.out_h; ++oy) {
      for (std::int64_t ox = 0; ox < s.out_w; ++ox) {
        for (std::int64_t o = 0; o < s.out_c; ++o) {
          std::int64_t acc = c.bias.empty() ? 0 : c.bias[static_cast<std::size_t>(o)];
          for (std::int64_t ky = 0; ky < s.kernel_h; ++ky) {
            for (std::int64_t kx = 0; kx < s.kernel_w; ++kx) {
              const std::int64_t iy = oy * s.stride_h - s.pad_top + ky * s.dilation_h, ix = ox * s.stride_w - s.pad_left + kx * s.dilation_w;
              if (iy < 0 || iy >= s.in_h || ix < 0 || ix >= s.in_w) continue;
              for (std::int64_t i = 0; i < in_per_group; ++i) {
                const std::int64_t channel = (o / out_per_group) * in_per_group + i;
                const int x = c.x[static_cast<std::size_t>(((n * s.in_h + iy) * s.in_w + ix) * s.in_c + channel)];
                acc += (x - c.x_zero_point) * c.weights[static_cast<std::size_t>(((o * s.kernel_h + ky) * s.kernel_w + kx) * in_per_group + i)];
              }
            }
          }
          y.push_back(requantize(acc, c.rescale[static_cast<std::size_t>(o)], c.rounding, c.y_zero_point, c.y_min, c.y_max));
        }
      }
    }
  }
  return y;
}

std::string describe(const Case& c) {
  const ConvShape& s = c.shape;
  return fmt::format("x [{},{},{},{}] y [{},{},{}] kernel {}x{} stride {}x{} pad {},{} dilation {}x{} groups {} {} i16 {} zero points {} {}", s.batch, s.in_h,
                     s.in_w, s.in_c, s.out_h, s.out_w, s.out_c, s.kernel_h, s.kernel_w, s.stride_h, s.stride_w, s.pad_top, s.pad_left, s.dilation_h,
                     s.dilation_w, s.groups, name_of(c.rounding), c.output_i16, c.x_zero_point, c.y_zero_point);
}

ConvU8S8Problem problem_of(const Case& c) {
  return {.shape = c.shape, .weights = c.weights.data(), .bias = c.bias.empty() ? nullptr : c.bias.data(), .rescale = c.rescale.data(),
          .rounding = c.rounding, .x_zero_point = c.x_zero_point, .y_zero_point = c.y_zero_point, .y_min = c.y_min, .y_max = c.y_max,
          .output_i16 = c.output_i16};
}

// All instruction sets; the input stands at the very end of its memory so that a sanitizer sees reads beyond it.
void expect_equal(const Case& c, int threads) {
  SCOPED_TRACE(describe(c));
  const std::vector<std::int32_t> wanted = expected(c);
  const int before = thread_count();
  set_thread_count(threads);
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512Vnni}) {
    if (!isa_available(isa)) continue;
    const auto conv = make_conv_u8s8(problem_of(c), isa);
    ASSERT_NE(conv, nullptr);
    const std::unique_ptr<std::uint8_t[]> x(new std::uint8_t[c.x.size()]);
    std::copy(c.x.begin(), c.x.end(), x.get());
    constexpr std::size_t kGuard = 64;
    std::vector<std::uint8_t> bytes(wanted.size() + kGuard, 0xA5);
    std::vector<std::int16_t> words(wanted.size() + kGuard, 0x5A5A);
    for (int run = 0; run < 2; ++run) conv->run(x.get(), c.output_i16 ? static_cast<void*>(words.data()) : bytes.data());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(c.output_i16 ? words[i] : bytes[i], wanted[i]) << name_of(isa) << ", threads " << threads << ", element " << i;
    }
    for (std::size_t i = wanted.size(); i < wanted.size() + kGuard; ++i) {
      ASSERT_TRUE(words[i] == 0x5A5A && bytes[i] == 0xA5) << name_of(isa) << " wrote beyond the end";
    }
  }
  set_thread_count(before);
}

class Random {
 public:
  explicit Random(std::mt19937_64& rng) : rng_(rng) {}
  std::int64_t in(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(rng_); }
  bool chance(int one_in) { return in(1, one_in) == 1; }

  // Values for a shape whose outputs are filled in by the caller.
  Case fill(ConvShape s) {
    Case c;
    s.out_h = (s.in_h + 2 * s.pad_top - (s.kernel_h - 1) * s.dilation_h - 1) / s.stride_h + 1;
    s.out_w = (s.in_w + 2 * s.pad_left - (s.kernel_w - 1) * s.dilation_w - 1) / s.stride_w + 1;
    c.shape = s;
    c.rounding = static_cast<Rounding>(in(0, 2));
    c.output_i16 = chance(4);
    const std::int64_t first = c.output_i16 ? INT16_MIN : 0, last = c.output_i16 ? INT16_MAX : 255;
    c.x_zero_point = static_cast<std::int32_t>(chance(3) ? (chance(2) ? 0 : 255) : in(0, 255));
    c.y_zero_point = static_cast<std::int32_t>(chance(4) ? (chance(2) ? first : last) : in(first, last));
    const std::int64_t a = in(first, last), b = in(first, last);
    const bool clamps = chance(4);
    c.y_min = static_cast<std::int32_t>(clamps ? std::min(a, b) : first);
    c.y_max = static_cast<std::int32_t>(clamps ? std::max(a, b) : last);
    const bool extreme = chance(4);
    for (std::int64_t i = 0; i < s.batch * s.in_h * s.in_w * s.in_c; ++i) c.x.push_back(static_cast<std::uint8_t>(extreme ? 255 * in(0, 1) : in(0, 255)));
    const std::int64_t k = s.kernel_h * s.kernel_w * (s.in_c / s.groups);
    for (std::int64_t i = 0; i < s.out_c * k; ++i) c.weights.push_back(static_cast<std::int8_t>(extreme ? (chance(2) ? 127 : -128) : in(-128, 127)));
    if (!chance(5)) {
      for (std::int64_t o = 0; o < s.out_c; ++o) c.bias.push_back(static_cast<std::int32_t>(in(-200000, 200000)));
    }
    for (std::int64_t o = 0; o < s.out_c; ++o) {
      const double spread = (last - first) / (std::sqrt(static_cast<double>(k)) * 128 * 74);
      c.rescale.push_back(make_rescale(spread * std::exp2(static_cast<double>(in(-200, chance(10) ? 800 : 200)) / 100)));
    }
    return c;
  }

 private:
  std::mt19937_64& rng_;
};

// Runs cases until the time is up, at least `least`.
template <typename Make>
void run_cases(Random& random, double seconds, int least, const Make& make) {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  for (int i = 0; i < least || elapsed() < seconds; ++i) {
    const int threads = i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 7;
    ASSERT_NO_FATAL_FAILURE(expect_equal(random.fill(make()), threads));
  }
}

TEST(ConvU8S8, RandomShapes) {
  NARROW_SEEDED(rng);
  Random r(rng);
  run_cases(r, 2.0, 60, [&] {
    ConvShape s{.batch = r.in(1, 2), .in_h = r.in(1, 17), .in_w = r.in(1, 40), .in_c = r.in(1, 37), .out_c = r.in(1, 75)};
    s.kernel_h = r.in(1, std::min<std::int64_t>(5, s.in_h));
    s.kernel_w = r.in(1, std::min<std::int64_t>(5, s.in_w));
    s.stride_h = r.in(1, 3);
    s.stride_w = r.in(1, 3);
    s.pad_top = r.in(0, s.kernel_h);  // up to whole rows of padding
    s.pad_left = r.in(0, s.kernel_w);
    if (s.in_h > 2 * s.kernel_h && r.chance(3)) s.dilation_h = 2;
    if (s.in_w > 3 * s.kernel_w && r.chance(3)) s.dilation_w = r.in(1, 3);
    return s;
  });
}

TEST(ConvU8S8, MatrixProducts) {
  NARROW_SEEDED(rng);
  Random r(rng);
  run_cases(r, 1.0, 40, [&] { return ConvShape{.batch = r.in(1, 3), .in_h = r.in(1, 5), .in_w = r.in(1, 90), .in_c = r.in(1, 300), .out_c = r.in(1, 140)}; });
}

TEST(ConvU8S8, Groups) {
  NARROW_SEEDED(rng);
  Random r(rng);
  run_cases(r, 1.0, 40, [&] {
    ConvShape s{.batch = 1, .in_h = r.in(3, 9), .in_w = r.in(3, 20)};
    s.groups = r.in(2, 5);
    s.in_c = s.groups * r.in(1, 9);
    s.out_c = s.groups * r.in(4, 40);
    s.kernel_h = s.kernel_w = 2 * r.in(0, 1) + 1;
    s.pad_top = s.pad_left = s.kernel_h / 2;
    s.stride_h = s.stride_w = r.in(1, 2);
    return s;
  });
}

TEST(ConvU8S8, Depthwise) {
  NARROW_SEEDED(rng);
  Random r(rng);
  run_cases(r, 2.0, 60, [&] {
    ConvShape s{.batch = r.in(1, 2), .in_h = r.in(1, 14), .in_w = r.in(1, 40)};
    s.groups = s.in_c = s.out_c = r.in(2, 150);
    s.kernel_h = r.in(1, std::min<std::int64_t>(7, s.in_h));
    s.kernel_w = r.in(1, std::min<std::int64_t>(7, s.in_w));
    if (s.in_h >= 3 && s.in_w >= 3 && r.chance(2)) s.kernel_h = s.kernel_w = 3;
    s.stride_h = r.in(1, 3);
    s.stride_w = r.in(1, 3);
    s.pad_top = r.in(0, s.kernel_h);
    s.pad_left = r.in(0, s.kernel_w);
    if (s.in_w > 2 * s.kernel_w && r.chance(4)) s.dilation_w = 2;
    if (s.in_h > 2 * s.kernel_h && r.chance(4)) s.dilation_h = 2;
    return s;
  });
}

// What saturates in 16-bit pair sums: 255 * 127 + 255 * 127 and 255 * -128 * 2.
TEST(ConvU8S8, LargestPairsDoNotSaturate) {
  for (const int weight : {127, -127, -128}) {
    for (const std::int64_t groups : {1, 20}) {
      Case c;
      c.shape = {.batch = 1, .in_h = 4, .in_w = 9, .in_c = 20, .out_h = 4, .out_w = 9, .out_c = 20, .kernel_h = 3, .kernel_w = 3, .pad_top = 1, .pad_left = 1, .groups = groups};
      c.output_i16 = true;
      c.y_min = INT16_MIN, c.y_max = INT16_MAX;
      c.x.assign(4 * 9 * 20, 255);
      c.weights.assign(static_cast<std::size_t>(20 * 9 * 20 / groups), static_cast<std::int8_t>(weight));
      c.rescale.assign(20, make_rescale(1.0 / 256));
      expect_equal(c, 1);
      c.x_zero_point = 255;
      expect_equal(c, 1);
    }
  }
}

// The bias may lie beyond 32 bits once the zero point is folded in, as long as every sum fits.
TEST(ConvU8S8, SumsUpToTheLimitsOf32Bits) {
  Case c;
  c.shape = {.in_h = 1, .in_w = 3, .in_c = 64, .out_h = 1, .out_w = 3, .out_c = 33};
  c.x_zero_point = 128;
  c.weights.assign(64 * 33, 127);
  c.bias.assign(33, INT32_MAX - 64 * 127 * 127);
  c.rescale.assign(33, make_rescale(1.0 / (1 << 24)));
  c.y_zero_point = 100;
  for (int i = 0; i < 3 * 64; ++i) c.x.push_back(static_cast<std::uint8_t>(i < 64 ? 255 : i < 128 ? 0 : i));
  expect_equal(c, 1);
  c.bias.assign(33, INT32_MAX - 64 * 127 * 127 + 1);
  EXPECT_EQ(make_conv_u8s8(problem_of(c)), nullptr) << "one more could overflow";
}

TEST(ConvU8S8, RefusesWhatIsOffTheGrid) {
  NARROW_SEEDED(rng);
  Random r(rng);
  Case c = r.fill({.in_h = 2, .in_w = 2, .in_c = 4, .out_c = 4});
  c.output_i16 = false;
  c.y_zero_point = 0, c.y_min = 0, c.y_max = 255;
  EXPECT_NE(make_conv_u8s8(problem_of(c)), nullptr);
  c.y_max = 256;
  EXPECT_EQ(make_conv_u8s8(problem_of(c)), nullptr);
  c.y_max = 255, c.x_zero_point = -1;
  EXPECT_EQ(make_conv_u8s8(problem_of(c)), nullptr);
}

}  // namespace
}  // namespace narrow
