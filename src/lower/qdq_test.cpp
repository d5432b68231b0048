#include "lower/qdq.h"

#include "lower/lower.h"
#include "lower_samples.h"
#include "run/executor.h"

namespace narrow {
namespace {

using test::must;

std::string chain(const Graph& graph, std::string_view value) {
  std::string out;
  for (ValueId id = graph.find_value(value); id;) {
    const Node* p = graph.producer(id);
    out += graph.value(id).name + (p == nullptr ? "" : " < ");
    id = p == nullptr ? ValueId{} : p->inputs[0];
    if (p != nullptr && !p->op.starts_with("Quantize") && !p->op.starts_with("Dequantize")) return out + p->op;
  }
  return out;
}

TEST(Qdq, PairsStandWhereTheIntegerNetworkRounds) {
  NARROW_SEEDED(rng);
  const Graph graph = test::sample_network();
  const Plan plan = test::plan_from_ranges(graph, test::sample_inputs(graph, rng));
  const Graph qdq = must(build_qdq(graph, plan));
  EXPECT_EQ(chain(qdq, "a"), "a < a.quantize < a.raw < Conv");
  EXPECT_EQ(chain(qdq, "x.dequantize"), "x.dequantize < x.quantize < x");
  const Node& conv = qdq.node(qdq.find_node("b"));
  EXPECT_EQ(qdq.value(conv.inputs[0]).name, "a");
  EXPECT_EQ(qdq.value(conv.inputs[1]).name, "wb.dequantized");
  const Node& weight = *qdq.producer(conv.inputs[1]);
  EXPECT_EQ(weight.attrs.get_int("axis", -1), 0);
  EXPECT_EQ(qdq.value(weight.inputs[0]).dtype, DType::kI8);
  EXPECT_EQ(qdq.value(weight.inputs[0]).shape, (Shape{8, 3, 3, 1}));
  const Node& bias = *qdq.producer(conv.inputs[2]);
  EXPECT_EQ(qdq.value(bias.inputs[0]).dtype, DType::kI32);
  EXPECT_EQ(bias.inputs.size(), 2U) << "i32 has no zero point";
  EXPECT_EQ(qdq.value(qdq.outputs()[0]).name, "p");
  EXPECT_EQ(qdq.value(qdq.outputs()[1]).name, "c");
  EXPECT_EQ(qdq.node(qdq.find_node("a")).attrs.get_string("activation"), "Relu") << "nothing stands between an operator and its activation";
  EXPECT_EQ(qdq.value(qdq.find_value("a.quantize")).dtype, DType::kI8) << "the planned grid";
}

TEST(Qdq, CodesInFrontOfATableHaveTheirPair) {
  NARROW_SEEDED(rng);
  Graph graph = test::sample_network();
  graph.attrs(graph.find_node("a")).set("activation", Attr(std::string("HardSwish")));
  const Plan plan = test::plan_from_ranges(graph, test::sample_inputs(graph, rng));
  for (const DType dtype : {DType::kU8, DType::kI16}) {
    Target target;
    target.arithmetic.preactivation = dtype;
    const Graph network = must(lower(graph, plan, target));
    const Graph qdq = must(build_qdq(graph, plan, &network));
    if (dtype == DType::kI16) {
      EXPECT_EQ(chain(qdq, "a"), "a < a.quantize < a.raw < Conv") << "16 bits stay real in an 8-bit model";
      continue;
    }
    EXPECT_EQ(chain(qdq, "a"), "a < a.quantize < a.activation < HardSwish");
    const Node& activation = qdq.node(qdq.find_node("a.activation"));
    EXPECT_EQ(chain(qdq, qdq.value(activation.inputs[0]).name), "a.preactivation.dequantize < a.preactivation.quantize < a.raw < Conv");
    EXPECT_EQ(qdq.value(qdq.find_value("a.preactivation.quantize")).dtype, DType::kU8);
    EXPECT_FALSE(qdq.node(qdq.find_node("a")).attrs.has("activation"));
    // What the table reads is then what the integer network has there.
    Executor run_network(network), run_qdq(qdq);
    const std::vector<Tensor> x{test::sample_inputs(graph, rng)[0]};
    Tensor codes, real;
    must(run_real(run_network, x, [&](ValueId id, const Tensor& t) { if (network.value(id).name == "a.preactivation") codes = t.clone(); }));
    must(run_qdq.run(x, [&](ValueId id, const Tensor& t) { if (qdq.value(id).name == "a.preactivation.dequantize") real = t.clone(); }));
    const QuantParams& grid = *network.value(network.find_value("a.preactivation")).quant;
    const Tensor expected = dequantize(codes, grid);
    std::int64_t different = 0;
    for (std::int64_t i = 0; i < real.elements(); ++i) {
      const float steps = std::abs(real.data<float>()[i] - expected.data<float>()[i]) / grid.scale[0];
      different += steps > 0.5F ? 1 : 0;
      ASSERT_LE(steps, 1.01F) << i;
    }
    EXPECT_LE(different, real.elements() / 100);
  }
}

TEST(Qdq, WideBiasesStayReal) {
  NARROW_SEEDED(rng);
  const Graph graph = test::sample_network();
  const Graph qdq = must(build_qdq(graph, test::plan_from_ranges(graph, test::sample_inputs(graph, rng), DType::kI16)));
  const Node& conv = qdq.node(qdq.find_node("b"));
  EXPECT_TRUE(qdq.value(conv.inputs[2]).is_constant());
  EXPECT_EQ(qdq.value(conv.inputs[2]).dtype, DType::kF32);
  for (const ValueId id : qdq.live_values()) EXPECT_NE(qdq.value(id).dtype, DType::kI64) << qdq.value(id).name;
}

TEST(Qdq, EdgesWithTheirOwnGridHaveTheirOwnPair) {
  NARROW_SEEDED(rng);
  const Graph graph = test::sample_network();
  Plan plan = test::plan_from_ranges(graph, test::sample_inputs(graph, rng), DType::kI8, {"d"});
  for (ActivationPlan& a : plan.activations) {
    if (a.value == "s") a.params = QuantParams::per_tensor(DType::kI8, 1.0F / 256, -128);
  }
  const Graph qdq = must(build_qdq(graph, plan));
  const Node& concat = qdq.node(qdq.find_node("f"));
  EXPECT_EQ(chain(qdq, qdq.value(concat.inputs[1]).name), "s.requantized.dequantize < s.requantized.quantize < s < s.quantize < s.raw < Sigmoid");
  // 'd' is a float island: reads the dequantized 'c', and what it makes is quantized on the edge to the pool only.
  EXPECT_EQ(chain(qdq, "d"), "d < Mul");
  const Node& pool = qdq.node(qdq.find_node("e"));
  EXPECT_EQ(chain(qdq, qdq.value(pool.inputs[0]).name), "d.requantized.dequantize < d.requantized.quantize < d < Mul");
  EXPECT_EQ(qdq.value(qdq.node(qdq.find_node("d")).inputs[1]).name, "k");
}

}  // namespace
}  // namespace narrow
