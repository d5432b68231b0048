// Whole integer networks give the same bytes by the normative loops and by the fast kernels of every instruction set, on
// any number of threads, in every rounding mode.
#include "base/parallel.h"
#include "calibrate/calibrate.h"
#include "kernels/isa.h"
#include "lower/lower.h"
#include "model/import.h"
#include "passes/passes.h"
#include "plan/plan.h"
#include "run/executor.h"
#include "support.h"

namespace narrow {
namespace {

class Noise final : public Dataset {
 public:
  explicit Noise(const Graph& graph) : graph_(graph) {}
  std::int64_t size() const override { return 2; }
  std::string name_of(std::int64_t index) const override { return fmt::format("noise[{}]", index); }
  std::string formula() const override { return "uniform noise"; }
  Result<Sample> load(std::int64_t index) const override {
    std::mt19937_64 rng(test::seed() + static_cast<std::uint64_t>(index));
    Sample sample{.name = name_of(index), .inputs = {}};
    for (const ValueId id : graph_.inputs()) sample.inputs.push_back(test::random_tensor(graph_.value(id).shape, rng, -1, 1));
    return sample;
  }

 private:
  const Graph& graph_;
};

struct Network {
  const char* model;
  const char* target;
};
void PrintTo(const Network& n, std::ostream* out) { *out << n.model << " for " << n.target; }

class ExactNetwork : public ::testing::TestWithParam<Network> {};

TEST_P(ExactNetwork, SameBytesEverywhere) {
  NARROW_NEEDS_SHARED(shared);
  Diagnostics diagnostics;
  Graph graph = test::must(import_onnx(shared + "/models/" + GetParam().model, {}, diagnostics));
  test::must(run_passes(graph));
  const Target target = test::must(load_target(GetParam().target));
  const Noise noise(graph);
  const Stats stats = test::must(calibrate(graph, quantizer_sites(graph, {}, target), noise));
  const Graph integer = test::must(lower(graph, test::must(make_plan(graph, stats, {}, target, diagnostics)), target));
  std::vector<Tensor> inputs = test::must(noise.load(5)).inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& quant = integer.value(integer.inputs()[i]).quant;
    if (quant) inputs[i] = quantize(inputs[i], *quant);
  }
  // Hashes of every value, so that the first differing layer is named.
  const auto hashes = [&](bool normative) {
    std::vector<std::uint64_t> out(integer.value_slots(), 0);
    Executor executor(integer, {.normative = normative});
    test::must(executor.run(inputs, [&](ValueId value, const Tensor& tensor) { out[value.index] = tensor.hash(); }));
    return out;
  };
  struct Restore {
    int threads = thread_count();
    ~Restore() {
      prefer_isa(Isa::kBest);
      set_thread_count(threads);
    }
  } restore;
  const std::vector<std::uint64_t> wanted = hashes(true);
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512Vnni}) {
    if (!isa_available(isa)) continue;
    prefer_isa(isa);
    for (const int count : {1, 2, 7}) {
      if (count != 1 && isa == Isa::kPortable) continue;
      set_thread_count(count);
      const std::vector<std::uint64_t> found = hashes(false);
      for (const NodeId id : integer.order()) {
        const ValueId out = integer.node(id).outputs[0];
        ASSERT_EQ(found[out.index], wanted[out.index]) << name_of(isa) << ", threads " << count << ", " << integer.node(id).op << " '" << integer.node(id).name << "'";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ExactNetwork,
                         ::testing::Values(Network{"cifar10_resnet20.onnx", "generic-int8"}, Network{"cifar10_resnet20.onnx", "tflite"},
                                           Network{"cifar10_resnet20.onnx", "ort"}, Network{"mlperf_tiny_kws01_dscnn.onnx", "tflite"},
                                           Network{"mlperf_tiny_kws01_dscnn.onnx", "ort"}, Network{"mobilenet_v2_1.0_224_dequant_float.onnx", "generic-int8"},
                                           Network{"FastestDet.onnx", "generic-int8"}, Network{"vit_ibp_3_3_8.onnx", "generic-int8"},
                                           Network{"mnist_8_model.onnx", "generic-int8"}, Network{"yolox_nano.onnx", "generic-int8"}));

}  // namespace
}  // namespace narrow
