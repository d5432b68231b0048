// Single-thread speed of the integer kernels on typical layers, in GMAC/s and as a share of the processor's vpdpbusd peak,
// which is measured first.   kernels_bench [--benchmark_filter=3x3]
#include <benchmark/benchmark.h>
#include <immintrin.h>

#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "kernels/conv_u8s8.h"

namespace narrow {
namespace {

// Multiply-adds per second of independent vpdpbusd on registers; 0 without VNNI.
__attribute__((target("avx512f,avx512vnni"))) double vnni_macs_per_second() {
  if (!isa_available(Isa::kAvx512Vnni)) return 0;
  __m512i acc[12];
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) {
    acc[i] = _mm512_setzero_si512();
    asm volatile("" : "+v"(acc[i]));  // all different, as far as the compiler knows
  }
  __m512i x = _mm512_set1_epi8(3), w = _mm512_set1_epi8(2);
  double best = 0;
  for (int repeat = 0; repeat < 7; ++repeat) {
    constexpr int kSteps = 200'000;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
      for (int j = 0; j < 12; ++j) acc[j] = _mm512_dpbusd_epi32(acc[j], x, w);
      asm volatile("" : "+v"(x), "+v"(w));
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, kSteps * 12.0 * 64 / seconds);
  }
  __m512i sum = acc[0];
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) sum = _mm512_add_epi32(sum, acc[i]);
  std::int32_t out[16];
  std::memcpy(out, &sum, sizeof out);
  benchmark::DoNotOptimize(out[3]);
  return best;
}

double peak() {
  static const double value = vnni_macs_per_second();
  return value;
}

struct Layer {
  std::string name;
  ConvShape shape;
};

Layer conv(int size, int in_c, int out_c, int kernel, int stride = 1) {
  ConvShape s{.in_h = size, .in_w = size, .in_c = in_c, .out_h = size / stride, .out_w = size / stride, .out_c = out_c, .kernel_h = kernel, .kernel_w = kernel,
              .stride_h = stride, .stride_w = stride, .pad_top = (kernel - 1) / 2, .pad_left = (kernel - 1) / 2};
  return {std::to_string(kernel) + "x" + std::to_string(kernel) + (stride == 1 ? "" : "s" + std::to_string(stride)) + "/" + std::to_string(size) + "x" +
              std::to_string(size) + "/" + std::to_string(in_c) + "->" + std::to_string(out_c), s};
}

Layer depthwise(int size, int channels, int kernel, int stride) {
  Layer layer = conv(size, channels, channels, kernel, stride);
  layer.shape.groups = channels;
  layer.name = "dw" + layer.name;
  return layer;
}

void run(benchmark::State& state, const ConvShape& s, Isa isa, Rounding rounding) {
  std::mt19937 rng(1);
  std::vector<std::uint8_t> x(static_cast<std::size_t>(s.batch * s.in_h * s.in_w * s.in_c)), y(static_cast<std::size_t>(s.batch * s.out_h * s.out_w * s.out_c));
  std::vector<std::int8_t> w(static_cast<std::size_t>(s.out_c * s.kernel_h * s.kernel_w * (s.in_c / s.groups)));
  for (auto& v : x) v = static_cast<std::uint8_t>(rng());
  for (auto& v : w) v = static_cast<std::int8_t>(static_cast<int>(rng() % 255) - 127);
  const std::vector<std::int32_t> bias(static_cast<std::size_t>(s.out_c), 1000);
  const std::vector<Rescale> rescale(static_cast<std::size_t>(s.out_c), make_rescale(0.003));
  const auto kernel = make_conv_u8s8({.shape = s, .weights = w.data(), .bias = bias.data(), .rescale = rescale.data(), .rounding = rounding,
                                      .x_zero_point = 120, .y_zero_point = 3}, isa);
  double best = 1e30;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    kernel->run(x.data(), y.data());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    benchmark::ClobberMemory();
  }
  const double macs = static_cast<double>(s.macs());
  state.counters["us_best"] = best * 1e6;
  state.counters["GMAC/s"] = macs / best * 1e-9;
  if (peak() > 0) state.counters["%peak"] = 100 * macs / best / peak();
}

}  // namespace
}  // namespace narrow

int main(int argc, char** argv) {
  using namespace narrow;
  set_thread_count(1);
  std::printf("vpdpbusd peak: %.1f GMAC/s per core\n", peak() * 1e-9);
  const std::vector<Layer> layers{
      conv(56, 64, 64, 3), conv(28, 128, 128, 3), conv(14, 256, 256, 3), conv(80, 64, 64, 3), conv(40, 128, 128, 3), conv(20, 256, 256, 3),
      conv(28, 512, 128, 1), conv(14, 96, 576, 1), conv(14, 1024, 256, 1), conv(56, 64, 256, 1), conv(7, 512, 512, 3), conv(112, 32, 64, 1),
      conv(224, 3, 32, 3, 2), conv(112, 32, 16, 1), conv(112, 16, 96, 1), conv(7, 160, 960, 1), conv(1, 1280, 1000, 1), conv(32, 16, 16, 3),
      depthwise(112, 32, 3, 1), depthwise(112, 96, 3, 2), depthwise(56, 144, 3, 1), depthwise(14, 576, 3, 1), depthwise(7, 960, 3, 1),
      depthwise(28, 120, 5, 1), depthwise(28, 240, 5, 2)};
  for (const Isa isa : {Isa::kAvx512Vnni, Isa::kAvx2, Isa::kPortable}) {
    if (!isa_available(isa)) continue;
    for (const Rounding rounding : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
      if (isa != Isa::kAvx512Vnni && rounding != Rounding::kSingleRound) continue;
      for (const Layer& layer : layers) {
        const std::string name = layer.name + "/" + std::string(name_of(isa)) + "/" + std::string(name_of(rounding));
        benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { run(state, layer.shape, isa, rounding); })
            ->Unit(benchmark::kMicrosecond)->MinTime(0.1);
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
