// LSTM: values against a direct evaluation of ONNX's formulas, and what is refused.
#include <algorithm>
#include <array>
#include <cmath>

#include "one_node.h"

namespace narrow {
namespace {

using test::constant;
using test::fed;
using test::make_attrs;
using test::run_onnx;

constexpr std::int64_t kSteps = 4, kBatch = 2, kInputs = 3, kHidden = 5;

struct Parameters {
  Tensor x, w, r, b, h0, c0, p;
  Parameters() {
    std::mt19937_64 rng(7);
    x = test::random_tensor({kSteps, kBatch, kInputs}, rng, -2, 2);
    w = test::random_tensor({1, 4 * kHidden, kInputs}, rng, -1, 1);
    r = test::random_tensor({1, 4 * kHidden, kHidden}, rng, -1, 1);
    b = test::random_tensor({1, 8 * kHidden}, rng, -1, 1);
    h0 = test::random_tensor({1, kBatch, kHidden}, rng, -1, 1);
    c0 = test::random_tensor({1, kBatch, kHidden}, rng, -1, 1);
    p = test::random_tensor({1, 3 * kHidden}, rng, -1, 1);
  }
};

// h of every step [steps, batch, hidden] in double; the states of one sequence of the batch after the other.
std::vector<double> direct(const Parameters& q, bool reverse, bool with_states, bool with_peepholes, double clip) {
  const float *x = q.x.data<float>(), *w = q.w.data<float>(), *r = q.r.data<float>(), *b = q.b.data<float>(), *p = q.p.data<float>();
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  std::vector<double> all(static_cast<std::size_t>(kSteps * kBatch * kHidden));
  for (std::int64_t n = 0; n < kBatch; ++n) {
    std::array<double, kHidden> h{}, c{};
    for (std::int64_t k = 0; with_states && k < kHidden; ++k) {
      h[static_cast<std::size_t>(k)] = q.h0.data<float>()[n * kHidden + k];
      c[static_cast<std::size_t>(k)] = q.c0.data<float>()[n * kHidden + k];
    }
    for (std::int64_t s = 0; s < kSteps; ++s) {
      const std::int64_t t = reverse ? kSteps - 1 - s : s;
      const std::array before = h;
      for (std::size_t k = 0; k < kHidden; ++k) {
        const auto sum = [&](std::int64_t gate, double peep) {  // gates in the order i, o, f, c
          const std::int64_t row = gate * kHidden + static_cast<std::int64_t>(k);
          double v = static_cast<double>(b[row]) + static_cast<double>(b[4 * kHidden + row]);
          for (std::int64_t i = 0; i < kInputs; ++i) v += static_cast<double>(w[row * kInputs + i]) * static_cast<double>(x[(t * kBatch + n) * kInputs + i]);
          for (std::int64_t i = 0; i < kHidden; ++i) v += static_cast<double>(r[row * kHidden + i]) * before[static_cast<std::size_t>(i)];
          if (with_peepholes && gate < 3) v += static_cast<double>(p[row]) * peep;
          return clip > 0 ? std::clamp(v, -clip, clip) : v;
        };
        const double i = sigmoid(sum(0, c[k])), f = sigmoid(sum(2, c[k])), g = std::tanh(sum(3, 0));
        c[k] = f * c[k] + i * g;
        h[k] = sigmoid(sum(1, c[k])) * std::tanh(c[k]);
        all[static_cast<std::size_t>((t * kBatch + n) * kHidden) + k] = h[k];
      }
    }
  }
  return all;
}

void expect_near(const Tensor& found, const std::vector<double>& wanted) {
  ASSERT_EQ(found.elements(), static_cast<std::int64_t>(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(static_cast<double>(found.data<float>()[i]), wanted[i], 2e-6) << "element " << i;
}

TEST(Lstm, FollowsTheFormulas) {
  const Parameters q;
  const auto y = run_onnx("LSTM", {fed(q.x), constant(q.w), constant(q.r), constant(q.b)}, {}, 14, 3);
  const std::vector<double> all = direct(q, false, false, false, 0);
  EXPECT_EQ(y[0].shape(), (Shape{kSteps, 1, kBatch, kHidden}));
  expect_near(y[0], all);
  EXPECT_EQ(y[1].shape(), (Shape{1, kBatch, kHidden}));
  expect_near(y[1], {all.end() - kBatch * kHidden, all.end()});
}

TEST(Lstm, RunsBackwardsWithStatesPeepholesAndClip) {
  const Parameters q;
  const auto y = run_onnx("LSTM", {fed(q.x), constant(q.w), constant(q.r), constant(q.b), {}, fed(q.h0), fed(q.c0), constant(q.p)},
                          make_attrs({{"direction", Attr(std::string("reverse"))}, {"clip", Attr(0.75)}}), 14, 2);
  const std::vector<double> all = direct(q, true, true, true, 0.75);
  expect_near(y[0], all);
  expect_near(y[1], {all.begin(), all.begin() + kBatch * kHidden});
}

TEST(Lstm, RefusesWhatItDoesNotUnroll) {
  const Parameters q;
  const auto refusal = [&](const std::vector<test::In>& inputs, Attrs attrs) {
    test::OneNode node("LSTM", inputs, std::move(attrs));
    const Status status = node.normalize(14);
    return status ? "" : status.error().message;
  };
  const std::vector<test::In> good{fed(q.x), constant(q.w), constant(q.r)};
  EXPECT_EQ(refusal(good, {}), "");
  EXPECT_EQ(refusal({fed(q.x), constant(q.w), fed(q.r)}, {}), "R ('in2') is computed at run time, wanted a constant");
  EXPECT_EQ(refusal(good, make_attrs({{"hidden_size", Attr(std::int64_t{4})}})), "the weights have shape [1,20,3], wanted [1,16,3]");
  EXPECT_EQ(refusal(good, make_attrs({{"direction", Attr(std::string("bidirectional"))}})), "the weights have shape [1,20,3], wanted [2,20,3]");
  EXPECT_EQ(refusal(good, make_attrs({{"input_forget", Attr(std::int64_t{1})}})), "coupled input and forget gates (input_forget) are not supported");
  EXPECT_EQ(refusal(good, make_attrs({{"activations", Attr(std::string("Sigmoid Tanh"))}})), "2 activations are given, wanted three for each direction");
  EXPECT_EQ(refusal({fed(q.x), constant(q.w), constant(q.r), constant(q.b), {}, fed(q.x)}, {}), "initial state 'in5' has shape [4,2,3], wanted [1,2,5]");
}

}  // namespace
}  // namespace narrow
