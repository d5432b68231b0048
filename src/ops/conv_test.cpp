#include "run/executor.h"
#include "support.h"

namespace narrow {
namespace {

struct Case {
  Shape x;
  std::int64_t out_c, kh, kw, groups = 1;
  std::vector<std::int64_t> strides{1, 1}, dilations{1, 1}, pads{0, 0, 0, 0};
};

// Independent of the operator: every input element is scattered to the outputs it reaches. Channels last.
std::vector<double> scatter(const Tensor& x, const Tensor& w, const Tensor& bias, const Case& c, const Shape& y) {
  std::vector<double> out(static_cast<std::size_t>(element_count(y)));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = bias.data<float>()[static_cast<std::int64_t>(i) % c.out_c];
  const std::int64_t in = c.x[3] / c.groups, per = c.out_c / c.groups;
  for (std::int64_t n = 0; n < c.x[0]; ++n)
    for (std::int64_t h = 0; h < c.x[1]; ++h)
      for (std::int64_t col = 0; col < c.x[2]; ++col)
        for (std::int64_t i = 0; i < c.x[3]; ++i)
          for (std::int64_t ky = 0; ky < c.kh; ++ky)
            for (std::int64_t kx = 0; kx < c.kw; ++kx) {
              const std::int64_t top = h + c.pads[0] - ky * c.dilations[0], left = col + c.pads[1] - kx * c.dilations[1];
              if (top < 0 || left < 0 || top % c.strides[0] != 0 || left % c.strides[1] != 0) continue;
              const std::int64_t oh = top / c.strides[0], ow = left / c.strides[1];
              if (oh >= y[1] || ow >= y[2]) continue;
              for (std::int64_t o = i / in * per; o < (i / in + 1) * per; ++o) {
                out[static_cast<std::size_t>(((n * y[1] + oh) * y[2] + ow) * c.out_c + o)] +=
                    static_cast<double>(x.data<float>()[((n * c.x[1] + h) * c.x[2] + col) * c.x[3] + i]) * static_cast<double>(w.data<float>()[((o * c.kh + ky) * c.kw + kx) * in + i % in]);
              }
            }
  return out;
}

double largest_error(const Tensor& got, const std::vector<double>& want) {
  double error = 0;
  for (std::size_t i = 0; i < want.size(); ++i) error = std::max(error, std::abs(static_cast<double>(got.data<float>()[i]) - want[i]));
  return error;
}

TEST(Conv, AgreesWithDoublePrecisionOnGroupsStridesDilationsAndOddSizes) {
  NARROW_SEEDED(rng);
  const std::vector<Case> cases{
      {.x = {1, 7, 9, 3}, .out_c = 16, .kh = 3, .kw = 3, .strides = {2, 2}, .pads = {0, 0, 1, 1}},
      {.x = {2, 5, 6, 8}, .out_c = 12, .kh = 1, .kw = 1},
      {.x = {1, 9, 8, 24}, .out_c = 24, .kh = 3, .kw = 3, .groups = 24, .pads = {1, 1, 1, 1}},
      {.x = {1, 9, 8, 10}, .out_c = 20, .kh = 5, .kw = 3, .groups = 10, .strides = {2, 1}, .pads = {2, 1, 2, 1}},
      {.x = {1, 11, 12, 6}, .out_c = 9, .kh = 3, .kw = 2, .groups = 3, .dilations = {2, 3}, .pads = {2, 0, 1, 3}},
      {.x = {1, 1, 30, 4}, .out_c = 5, .kh = 1, .kw = 7, .strides = {1, 3}, .pads = {0, 3, 0, 3}},
  };
  for (const Case& c : cases) {
    Graph graph;
    const ValueId x = graph.add_input("x", DType::kF32, c.x);
    const Tensor w = test::random_tensor({c.out_c, c.kh, c.kw, c.x[3] / c.groups}, rng), bias = test::random_tensor({c.out_c}, rng);
    NodeSpec spec{.name = "y", .op = "Conv", .inputs = {x, graph.add_constant("w", w), graph.add_constant("b", bias)}};
    spec.attrs.set("strides", c.strides);
    spec.attrs.set("dilations", c.dilations);
    spec.attrs.set("pads", c.pads);
    spec.attrs.set("group", Attr(c.groups));
    const ValueId y = test::must(append_inferred(graph, std::move(spec)));
    graph.add_output(y);
    const Tensor in = test::random_tensor(c.x, rng);
    const std::vector<double> want = scatter(in, w, bias, c, graph.value(y).shape);
    for (const bool normative : {true, false}) {
      Executor executor(graph, {.normative = normative});
      const auto out = test::must(executor.run(std::vector<Tensor>{in}));
      EXPECT_LT(largest_error(out[0], want), normative ? 1e-6 : 1e-5) << to_string(c.x) << " normative " << normative;
    }
  }
}

TEST(Conv, AppliesTheFusedActivation) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, {1, 1, 2, 1});
  NodeSpec spec{.name = "y", .op = "Conv", .inputs = {x, graph.add_constant("w", Tensor::of<float>({2, 1, 1, 1}, {1, -1}))}};
  spec.attrs.set("activation", "Relu");
  graph.add_output(test::must(append_inferred(graph, std::move(spec))));
  for (const bool normative : {true, false}) {
    Executor executor(graph, {.normative = normative});
    const auto out = test::must(executor.run(std::vector<Tensor>{Tensor::of<float>({1, 1, 2, 1}, {3, -5})}));
    EXPECT_TRUE(out[0].same_bytes(Tensor::of<float>({1, 1, 2, 2}, {3, 0, 0, 5})));
  }
}

TEST(Conv, NamesChannelsThatDoNotFit) {
  Graph graph;
  const ValueId x = graph.add_input("x", DType::kF32, {1, 4, 4, 3});
  const auto y = append_inferred(graph, {.name = "c", .op = "Conv", .inputs = {x, graph.add_constant("w", Tensor::zeros(DType::kF32, {8, 3, 3, 4}))}});
  ASSERT_FALSE(y.has_value());
  EXPECT_EQ(y.error().message, "node 'c' (Conv): input has 3 channels, weights [8,3,3,4] in 1 groups want 4");
}

TEST(Gemm, AgreesWithDoublePrecision) {
  NARROW_SEEDED(rng);
  for (const Shape& shape : {Shape{1, 64}, Shape{7, 33}, Shape{2, 5, 19}}) {
    Graph graph;
    const std::int64_t k = shape.back(), n = 21, m = element_count(shape) / k;
    const ValueId x = graph.add_input("x", DType::kF32, shape);
    const Tensor w = test::random_tensor({n, k}, rng), bias = test::random_tensor({n}, rng), in = test::random_tensor(shape, rng);
    graph.add_output(test::must(append_inferred(graph, {.name = "y", .op = "Gemm", .inputs = {x, graph.add_constant("w", w), graph.add_constant("b", bias)}})));
    std::vector<double> want;
    for (std::int64_t r = 0; r < m; ++r) {
      for (std::int64_t o = 0; o < n; ++o) {
        double sum = bias.data<float>()[o];
        for (std::int64_t i = k; i-- > 0;) sum += static_cast<double>(in.data<float>()[r * k + i]) * static_cast<double>(w.data<float>()[o * k + i]);
        want.push_back(sum);
      }
    }
    for (const bool normative : {true, false}) {
      Executor executor(graph, {.normative = normative});
      const auto out = test::must(executor.run(std::vector<Tensor>{in}));
      EXPECT_EQ(out[0].shape().back(), n);
      EXPECT_LT(largest_error(out[0], want), normative ? 1e-6 : 1e-5);
    }
  }
}

TEST(MatMul, BroadcastsBatches) {
  NARROW_SEEDED(rng);
  Graph graph;
  const Shape sa{2, 1, 4, 5}, sb{3, 5, 6};
  const ValueId a = graph.add_input("a", DType::kF32, sa), b = graph.add_input("b", DType::kF32, sb);
  const ValueId y = test::must(append_inferred(graph, {.name = "y", .op = "MatMul", .inputs = {a, b}}));
  graph.add_output(y);
  ASSERT_EQ(graph.value(y).shape, (Shape{2, 3, 4, 6}));
  const Tensor ta = test::random_tensor(sa, rng), tb = test::random_tensor(sb, rng);
  std::vector<double> want;
  for (std::int64_t p = 0; p < 2; ++p)
    for (std::int64_t q = 0; q < 3; ++q)
      for (std::int64_t r = 0; r < 4; ++r)
        for (std::int64_t c = 0; c < 6; ++c) {
          double sum = 0;
          for (std::int64_t i = 0; i < 5; ++i) sum += static_cast<double>(ta.data<float>()[(p * 4 + r) * 5 + i]) * static_cast<double>(tb.data<float>()[(q * 5 + i) * 6 + c]);
          want.push_back(sum);
        }
  for (const bool normative : {true, false}) {
    Executor executor(graph, {.normative = normative});
    const auto out = test::must(executor.run(std::vector<Tensor>{ta, tb}));
    EXPECT_LT(largest_error(out[0], want), 1e-6);
  }
}

}  // namespace
}  // namespace narrow
