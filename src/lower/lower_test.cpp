#include "lower/lower.h"

#include "graph/text.h"
#include "lower/qdq.h"
#include "lower_samples.h"
#include "ops/parse_network.h"
#include "run/executor.h"

namespace narrow {
namespace {

using test::must;

Target target_with(Rounding rounding) {
  Target t;
  t.arithmetic.rounding = rounding;
  return t;
}

int count(const Graph& graph, std::string_view op) {
  return static_cast<int>(std::count_if(graph.order().begin(), graph.order().end(), [&](NodeId id) { return graph.node(id).op == op; }));
}
const Value& value(const Graph& graph, std::string_view name) {
  EXPECT_TRUE(static_cast<bool>(graph.find_value(name))) << name << "\n" << print_graph(graph, {.max_inline_elements = 4});
  return graph.value(graph.find_value(name));
}
const Node& node(const Graph& graph, std::string_view name) { return graph.node(graph.find_node(name)); }

TEST(Lower, KeepsNamesAndSaysWhatTheIntegersMean) {
  NARROW_SEEDED(rng);
  const Graph graph = test::sample_network();
  const Plan plan = test::plan_from_ranges(graph, test::sample_inputs(graph, rng));
  const Graph integer = must(lower(graph, plan, target_with(Rounding::kSingleRound)));
  ASSERT_EQ(integer.inputs().size(), 1U);
  const Value& x = integer.value(integer.inputs()[0]);
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.dtype, DType::kU8);
  const QuantParams& planned = test::activation_of(plan, "x");
  EXPECT_EQ(x.quant->scale, planned.scale);
  EXPECT_EQ(x.quant->zero_point[0], planned.zero_point[0] + 128) << "i8 becomes u8";
  EXPECT_EQ(integer.value(integer.outputs()[0]).name, "p");
  EXPECT_EQ(integer.value(integer.outputs()[1]).name, "c");
  for (const NodeId id : graph.order()) {
    for (const ValueId v : graph.node(id).outputs) EXPECT_TRUE(value(integer, graph.value(v).name).quant.has_value()) << graph.value(v).name;
  }
  EXPECT_EQ(count(integer, "quantize") + count(integer, "dequantize"), 0);
  EXPECT_EQ(count(integer, "requantize"), 1) << "the grid of Sigmoid is fixed, that of Concat is not";
  EXPECT_EQ(node(integer, "a").attrs.get_string("rounding"), "single_round");
  EXPECT_EQ(node(integer, "a").origin, (std::vector<std::string>{"conv_a", "relu_a"}));
  EXPECT_TRUE(value(integer, "k").is_constant());
  EXPECT_EQ(value(integer, "k").dtype, DType::kU8) << "constant operands are quantized like activations";
}

TEST(Lower, FloatIslandsGetOneDequantizeAndOneQuantize) {
  NARROW_SEEDED(rng);
  const Graph graph = test::sample_network();
  const Plan plan = test::plan_from_ranges(graph, test::sample_inputs(graph, rng), DType::kI8, {"s"});
  const Graph integer = must(lower(graph, plan, target_with(Rounding::kSingleRound)));
  EXPECT_EQ(count(integer, "dequantize"), 1);
  EXPECT_EQ(count(integer, "quantize"), 1);
  EXPECT_EQ(value(integer, "s").dtype, DType::kF32);
  EXPECT_FALSE(value(integer, "s").quant.has_value());
  EXPECT_EQ(value(integer, "e.real").dtype, DType::kF32);
  EXPECT_EQ(node(integer, "f").inputs[1], integer.find_value("s.quantized"));
  EXPECT_EQ(value(integer, "s.quantized").quant, value(integer, "f").quant) << "the concatenation's grid, in one step";
}

TEST(Lower, AnUntiedBranchIsRequantized) {
  NARROW_SEEDED(rng);
  const Graph graph = test::sample_network();
  Plan plan = test::plan_from_ranges(graph, test::sample_inputs(graph, rng));
  for (ActivationPlan& a : plan.activations) {
    if (a.value == "s") a.params = QuantParams::per_tensor(DType::kI8, 1.0F / 256, -128);  // finer than the tied grid
  }
  const Graph integer = must(lower(graph, plan, target_with(Rounding::kSingleRound)));
  EXPECT_EQ(count(integer, "requantize"), 1);
  EXPECT_EQ(node(integer, "f").inputs[1], integer.find_value("s.requantized"));
  EXPECT_EQ(value(integer, "s.requantized").quant, value(integer, "f").quant);
  EXPECT_EQ(value(integer, "s").quant->zero_point[0], 0);
}

// Step-by-step agreement: every quantized value of the integer network against the fake-quantized float network that
// is fed with the same inputs. Errors of one step propagate, so the bound is on the share, and outputs may be two off.
void expect_agreement(const Graph& graph, const Plan& plan, Rounding rounding, std::mt19937_64& rng) {
  const Graph integer = must(lower(graph, plan, target_with(rounding)));
  const Graph qdq = must(build_qdq(graph, plan, &integer));
  Executor run_integer(integer), run_qdq(qdq);
  for (const bool normative : {false, true}) {
    Executor check(integer, {.normative = normative});
    for (const Tensor& x : test::sample_inputs(graph, rng, 4)) {
      std::map<std::string, Tensor> integers, reals;
      const auto a = must(run_real(run_integer, std::vector<Tensor>{x}, [&](ValueId id, const Tensor& t) { integers[integer.value(id).name] = t.clone(); }));
      must(run_qdq.run(std::vector<Tensor>{x}, [&](ValueId id, const Tensor& t) { reals[qdq.value(id).name] = t.clone(); }));
      const auto b = must(run_real(check, std::vector<Tensor>{x}));
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].same_bytes(b[i]));
      std::int64_t total = 0, different = 0;
      for (const ActivationPlan& planned : plan.activations) {
        if (!integers.contains(planned.value) || !reals.contains(planned.value) || planned.value == "x") continue;
        const Value& v = integer.value(integer.find_value(planned.value));
        if (!v.quant) continue;
        const Tensor real = dequantize(integers[planned.value], *v.quant);
        const Tensor& fake = reals[planned.value];
        for (std::int64_t k = 0; k < real.elements(); ++k) {
          const double steps = std::abs(static_cast<double>(real.data<float>()[k]) - static_cast<double>(fake.data<float>()[k])) / static_cast<double>(v.quant->scale[0]);
          ++total;
          if (steps > 0.5) ++different;
          // A step of its input is up to eight steps of Sigmoid's and Softmax's fixed, fine grids; the input may be two off.
          const bool fine = planned.value == "s" || planned.value == "p";
          EXPECT_LE(steps, size_of(v.dtype) == 2 ? 12.0 : fine ? 16.01 : 2.01) << planned.value << "[" << k << "]";
        }
      }
      EXPECT_GT(total, 1000);
      // The float network rounds once: two roundings differ from it more often.
      const std::int64_t share = rounding == Rounding::kDoubleRound ? 25 : 50;
      EXPECT_LE(different, size_of(integer.value(integer.inputs()[0]).dtype) == 1 ? total / share : total / 2) << name_of(rounding);
    }
  }
}

TEST(Lower, IntegersAgreeWithFakeQuantization) {
  NARROW_SEEDED(rng);
  const Graph graph = test::sample_network();
  const auto samples = test::sample_inputs(graph, rng);
  for (const Rounding rounding : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
    for (const DType dtype : {DType::kI8, DType::kU8, DType::kI16}) {
      SCOPED_TRACE(std::string(name_of(rounding)) + " " + std::string(name_of(dtype)));
      expect_agreement(graph, test::plan_from_ranges(graph, samples, dtype), rounding, rng);
    }
  }
}

TEST(Lower, IslandsAndUntiedBranchesAgreeWithFakeQuantization) {
  NARROW_SEEDED(rng);
  const Graph graph = test::sample_network();
  const auto samples = test::sample_inputs(graph, rng);
  expect_agreement(graph, test::plan_from_ranges(graph, samples, DType::kI8, {"s", "d"}), Rounding::kSingleRound, rng);
  Plan plan = test::plan_from_ranges(graph, samples);
  for (ActivationPlan& a : plan.activations) {
    if (a.value == "s") a.params = QuantParams::per_tensor(DType::kI8, 1.0F / 256, -128);
  }
  expect_agreement(graph, plan, Rounding::kFloatRne, rng);
}

TEST(Lower, TheIntegerNetworkSurvivesItsTextForm) {
  NARROW_SEEDED(rng);
  const Graph graph = test::sample_network();
  const Graph integer = must(lower(graph, test::plan_from_ranges(graph, test::sample_inputs(graph, rng)), target_with(Rounding::kFloatRne)));
  EXPECT_EQ(must(parse_graph(print_graph(integer))).hash(), integer.hash());
  EXPECT_EQ(must(parse_network(print_graph(integer))).hash(), integer.hash()) << "every integer operator infers its own types";
}

TEST(Lower, RefusesPlansThatDoNotFit) {
  NARROW_SEEDED(rng);
  const Graph graph = test::sample_network();
  const Target target = target_with(Rounding::kSingleRound);
  const Plan good = test::plan_from_ranges(graph, test::sample_inputs(graph, rng));
  Plan plan = good;
  plan.graph_hash ^= 1;
  EXPECT_EQ(lower(graph, plan, target).error().message.find("the plan was made for graph "), 0U);

  plan = good;
  std::erase_if(plan.activations, [](const ActivationPlan& a) { return a.value == "c"; });
  std::erase_if(plan.constants, [](const ConstantPlan& c) { return c.node == "y" && c.slot == 1; });
  const Error missing = lower(graph, plan, target).error();
  EXPECT_EQ(missing.message, "the plan lacks 3 scales");
  EXPECT_EQ(missing.notes, (std::vector<std::string>{"output 'c' of node 'c'", "input 0 ('c') of node 'd'", "input 1 ('wy') of node 'y'"}));

  plan = good;
  for (ConstantPlan& c : plan.constants) {
    if (c.node == "b" && c.slot == 2) c.params.scale[3] = 1e-12F;
  }
  const Error bias = lower(graph, plan, target).error();
  EXPECT_EQ(bias.message.find("node 'b' (Conv): the bias "), 0U) << bias.message;
  EXPECT_NE(bias.message.find(" of channel 3 does not fit i32 at scale 1e-12"), std::string::npos) << bias.message;
  EXPECT_EQ(build_qdq(graph, plan).error().message, bias.message);

  plan = good;
  for (ConstantPlan& c : plan.constants) {
    if (c.node == "b" && c.slot == 2) {
      // Fits the bias, but leaves no room for the products.
      c.params.scale[3] = std::abs(graph.value(graph.find_value("bb")).constant.data<float>()[3]) / 2147480000.0F;
    }
  }
  const Error overflow = lower(graph, plan, target).error();
  EXPECT_NE(overflow.message.find("the accumulator of channel 3 may reach "), std::string::npos) << overflow.message;
}

TEST(Lower, RefusesGridsThatNoRescalingConnects) {
  NARROW_SEEDED(rng);
  const Graph graph = test::sample_network();
  const Plan good = test::plan_from_ranges(graph, test::sample_inputs(graph, rng));
  for (const std::string scaled : {"s", "f", "a"}) {  // into a concatenation, its result, into everything else
    for (const float factor : {1e-20F, 1e20F}) {
      for (const Rounding rounding : {Rounding::kSingleRound, Rounding::kDoubleRound, Rounding::kFloatRne}) {
        Plan plan = good;
        for (ActivationPlan& a : plan.activations) {
          if (a.value == scaled) a.params.scale[0] *= factor;
        }
        const Result<Graph> network = lower(graph, plan, target_with(rounding));
        EXPECT_TRUE(network || network.error().message.find(" cannot be represented") != std::string::npos);
        EXPECT_TRUE(scaled != "s" || network.has_value() == (factor < 1)) << "what is coarser by so much has no codes there";
      }
    }
  }
}

TEST(Lower, RefusesPlansThatTheTargetsAccumulatorsDoNotHold) {
  NARROW_SEEDED(rng);
  const Graph graph = test::sample_network();
  Target target = target_with(Rounding::kSingleRound);
  const Plan plan = test::plan_from_ranges(graph, test::sample_inputs(graph, rng));
  must(lower(graph, plan, target));
  target.accumulator_bits = 16;
  EXPECT_NE(lower(graph, plan, target).error().message.find(", wanted at most 32767"), std::string::npos);
  target.accumulator_bits = 64;
  must(lower(graph, plan, target));
  Plan fine = plan;
  for (ConstantPlan& c : fine.constants) {
    if (c.node == "b" && c.slot == 2) c.params.scale[3] = std::abs(graph.value(graph.find_value("bb")).constant.data<float>()[3]) / 40000.0F;
  }
  must(lower(graph, fine, target));
  target.bias_bits = 16;
  const std::string message = lower(graph, fine, target).error().message;
  EXPECT_NE(message.find("the bias of channel 3 is "), std::string::npos) << message;
  EXPECT_NE(message.find(", wanted at most 32767"), std::string::npos) << message;
}

TEST(Lower, ModelNamesWinOverInventedOnes) {
  NARROW_SEEDED(rng);
  const Graph graph = must(parse_network(R"(
in %x: f32[1,4]
%g = Gemm(%x, %w: f32[4,4] = rand(1)) node "y"
%"y.multiplier" = Gemm(%g, %w2: f32[4,4] = rand(2)) node "z"
%"x.requantized" = Gemm(%"y.multiplier", %w3: f32[4,4] = rand(2)) node "y.shift"
out %"y.multiplier"
out %"x.requantized")"));
  const Graph integer = must(lower(graph, test::plan_from_ranges(graph, test::sample_inputs(graph, rng)), target_with(Rounding::kSingleRound)));
  EXPECT_EQ(integer.value(integer.outputs()[0]).name, "y.multiplier");
  EXPECT_EQ(integer.value(integer.outputs()[1]).name, "x.requantized");
}

}  // namespace
}  // namespace narrow
