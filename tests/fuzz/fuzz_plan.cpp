// Wishes and decisions: a text that is a plan, a recipe or a target goes to a small network. Whatever is accepted gives a network
// that runs.
#include <cstdint>
#include <string_view>

#include "ops/parse_network.h"
#include "whole_path.h"

namespace {

using namespace narrow;

constexpr std::string_view kNetwork = R"(graph "sample"
in %x: f32[1,4,4,2]
%a = Conv(%x, %wa: f32[3,3,3,2] = rand(1), %ba: f32[3] = rand(2)) {strides=[1,1], pads=[1,1,1,1], dilations=[1,1], group=1, activation="Relu"} origin ["conv_a"]
%b = Conv(%a, %wb: f32[3,3,3,1] = rand(3), %bb: f32[3] = rand(4)) {strides=[1,1], pads=[1,1,1,1], dilations=[1,1], group=3, activation="SiLU"}
%c = Add(%a, %b)
%d = Mul(%c, %k: f32[3] = rand(5, 0.5, 1.5))
%e = MaxPool(%d) {kernel_shape=[2,2], strides=[2,2], pads=[0,0,0,0]}
%s = Sigmoid(%e)
%f = Concat(%e, %s) {axis=3}
%g = Reshape(%f) {shape=[1,24]}
%y = Gemm(%g, %wy: f32[5,24] = rand(6, -0.2, 0.2), %by: f32[5] = rand(7))
%p = Softmax(%y) {axis=1}
%n = ReduceMean(%y) {axes=[1]}
out %p
out %c
out %n
)";

const Graph& network() {
  static const Graph graph = parse_network(kNetwork).value();
  return graph;
}

const Target& usual_target() {
  static const Target target = load_target("generic-int8").value();
  return target;
}

void decide(const Recipe& recipe, const Target& target) {
  static const Stats all = fuzz::stats_of_noise(network(), {}, usual_target()).value();
  Diagnostics diagnostics;
  auto plan = make_plan(network(), all, recipe, target, diagnostics);
  if (!plan) return fuzz::check_error(plan.error());
  if (!fuzz::use_plan(network(), *plan, target)) return;  // a fixed scale that is out of reach
  const Status fits = accept_plan(*plan, network(), target, diagnostics);
  NARROW_CHECK(fits.has_value(), "{}\n{}", fits.error().to_string(), plan->to_text());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto plan = Plan::from_text(text, "fuzz.plan")) {
    plan->graph_hash = network().hash();
    plan->target = usual_target().name;
    Diagnostics diagnostics;
    if (const Status fits = accept_plan(*plan, network(), usual_target(), diagnostics)) (void)fuzz::use_plan(network(), *plan, usual_target());
    else fuzz::check_error(fits.error());
    return 0;
  }
  if (const auto recipe = parse_recipe(text, "fuzz.yaml")) decide(*recipe, usual_target());
  if (const auto target = parse_target(text, "fuzz.yaml")) decide({}, *target);
  return 0;
}
