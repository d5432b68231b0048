// Quantizes a model for a target and writes what is needed to compare it with another runtime:
//   qdq_outputs MODEL RECIPE TARGET DATA CALIBRATION_SAMPLES TEST_SAMPLES OUT_DIR [--values=N]
// OUT_DIR/model.onnx is the QDQ model; input_N.npy the real input of test sample N (taken after the calibration samples);
// integer_N_K.npy and fake_N_K.npy are output K of the integer network and of the QDQ graph in our float executor, as real
// numbers. Prints per output its name and its scale. --values: also V.npy and V.fake.npy of every planned value of
// sample N, with their names and scales.
#include <cstdio>
#include <map>

#include "calibrate/calibrate.h"
#include "data/dataset.h"
#include "lower/lower.h"
#include "lower/qdq.h"
#include "model/export_onnx.h"
#include "model/import.h"
#include "passes/passes.h"
#include "plan/plan.h"
#include "run/executor.h"
#include "tensor/npy.h"

namespace narrow {
namespace {

Status run(const std::vector<std::string>& words, std::int64_t shown) {
  const std::string folder = words[6];
  const std::int64_t calibration = std::stoll(words[4]), tested = std::stoll(words[5]);
  Diagnostics diagnostics;
  Graph graph = NARROW_TRY(import_onnx(words[0], {}, diagnostics));
  NARROW_TRY(run_passes(graph));
  const Recipe recipe = NARROW_TRY(load_recipe(words[1]));
  const Target target = NARROW_TRY(load_target(words[2]));
  const auto data = NARROW_TRY(open_dataset({.paths = {words[3]}}, graph, recipe));
  const auto sites = quantizer_sites(graph, recipe, target);
  const Stats stats = NARROW_TRY(calibrate(graph, sites, *data, {.limit = calibration}));
  const Plan plan = NARROW_TRY(make_plan(graph, stats, recipe, target, diagnostics));
  const Graph network = NARROW_TRY(lower(graph, plan, target));
  Graph qdq = NARROW_TRY(build_qdq(graph, plan, &network));
  NARROW_TRY(export_onnx(qdq, folder + "/model.onnx"));
  for (const ValueId out : network.outputs()) {
    const Value& v = network.value(out);
    std::printf("output %s %.9g\n", v.name.c_str(), v.quant ? static_cast<double>(v.quant->scale[0]) : 0.0);
  }
  fold_constants(qdq);  // the weights are dequantized once, not at every run
  Executor integer(network), fake(qdq);
  for (std::int64_t n = 0; n < tested; ++n) {
    const Sample sample = NARROW_TRY(data->load(calibration + n));
    NARROW_TRY(write_npy(fmt::format("{}/input_{}.npy", folder, n), sample.inputs[0]));
    std::map<std::string, Tensor> seen;
    const auto keep = [&](const Graph& g, const char* suffix) {
      return [&, suffix](ValueId id, const Tensor& t) {
        if (n != shown) return;
        const Value& v = g.value(id);
        seen[v.name + suffix] = v.quant ? dequantize(t, *v.quant) : t.clone();
      };
    };
    const auto write = [&](const char* what, const std::vector<Tensor>& outputs) -> Status {
      for (std::size_t k = 0; k < outputs.size(); ++k) NARROW_TRY(write_npy(fmt::format("{}/{}_{}_{}.npy", folder, what, n, k), outputs[k]));
      return {};
    };
    NARROW_TRY(write("integer", NARROW_TRY(run_real(integer, sample.inputs, keep(network, "")))));
    NARROW_TRY(write("fake", NARROW_TRY(run_real(fake, sample.inputs, keep(qdq, ".fake")))));
    int number = 0;
    for (const ActivationPlan& a : plan.activations) {
      if (!seen.contains(a.value) || !seen.contains(a.value + ".fake")) continue;
      const ValueId id = graph.find_value(a.value);
      const Node* producer = graph.producer(id);
      NARROW_TRY(write_npy(fmt::format("{}/{}.npy", folder, number), seen[a.value]));
      NARROW_TRY(write_npy(fmt::format("{}/{}.fake.npy", folder, number), seen[a.value + ".fake"]));
      std::printf("value %d %s %.9g %s\n", number, a.value.c_str(), static_cast<double>(a.params.scale[0]), producer == nullptr ? "input" : producer->op.c_str());
      ++number;
    }
  }
  return {};
}

}  // namespace
}  // namespace narrow

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::int64_t shown = -1;
  if (!words.empty() && words.back().starts_with("--values=")) {
    shown = std::stoll(words.back().substr(9));
    words.pop_back();
  }
  if (words.size() != 7) {
    std::fprintf(stderr, "usage: qdq_outputs MODEL RECIPE TARGET DATA CALIBRATION_SAMPLES TEST_SAMPLES OUT_DIR [--values=N]\n");
    return 2;
  }
  const auto status = narrow::run(words, shown);
  if (status) return 0;
  std::fprintf(stderr, "%s\n", status.error().to_string().c_str());
  return 1;
}
