// Every operator that says it can work on permuted inputs does: running the permuted node on x and transposing gives what
// the node gives on Transpose(x).
#include <algorithm>
#include <numeric>

#include "one_node.h"

namespace narrow {
namespace {

using test::constant;
using test::fed;
using test::In;

struct Case {
  std::string op;
  std::vector<In> inputs;
  Attrs attrs = {};
};

std::vector<Case> cases(std::mt19937_64& rng) {
  const Shape shape{2, 3, 4, 5};
  const auto x = [&] { return fed(test::random_tensor(shape, rng, 0.1F, 2)); };
  const auto numbers = [](const char* key, std::vector<std::int64_t> v) { return std::pair<const char*, Attr>(key, Attr(std::move(v))); };
  const std::pair<const char*, Attr> axis2{"axis", Attr(std::int64_t{2})};
  std::vector<Case> all = {
      {"Concat", {x(), fed(test::random_tensor({2, 3, 1, 5}, rng)), constant(test::random_tensor({2, 3, 2, 5}, rng))}, test::make_attrs({axis2})},
      {"Slice", {x()}, test::make_attrs({numbers("starts", {0, 2, 1, 4}), numbers("ends", {1, -1, 3, 0}), numbers("steps", {1, -1, 1, -2})})},
      {"Pad", {x()}, test::make_attrs({numbers("pads", {0, 1, 2, 0, 1, 0, 0, -2}), {"mode", std::string("constant")}, {"value", 0.5}})},
      {"Pad", {x()}, test::make_attrs({numbers("pads", {0, 1, 2, 0, 1, 0, 0, 3}), {"mode", std::string("reflect")}})},
      {"Gather", {x(), test::ints({3, 0, 3})}, test::make_attrs({axis2})},
      {"Expand", {fed(test::random_tensor({2, 1, 4, 1}, rng))}, test::make_attrs({numbers("shape", {2, 3, 4, 5})})},
      {"Tile", {x()}, test::make_attrs({numbers("repeats", {1, 2, 1, 3})})},
      {"Transpose", {x()}, test::make_attrs({numbers("perm", {2, 0, 3, 1})})},
      {"Clip", {x()}, test::make_attrs({{"min", 0.5}, {"max", 1.0}})},
      {"QuantizeLinear", {x(), constant(Tensor::of<float>({4}, {0.01F, 0.02F, 0.03F, 0.04F})), constant(Tensor::of<std::uint8_t>({4}, {0, 1, 2, 3}))}, test::make_attrs({axis2})},
  };
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    all.push_back({op, {x(), x()}});
    all.push_back({op, {x(), fed(test::random_tensor({2, 1, 4, 1}, rng, 1, 2))}});
    all.push_back({op, {x(), constant(test::random_tensor({3, 1, 1}, rng, 1, 2))}});
    all.push_back({op, {constant(test::random_tensor({5}, rng, 1, 2)), x()}});
    all.push_back({op, {x(), constant(Tensor::scalar<float>(2))}});
  }
  for (const OpDef* op : all_ops()) {
    if (op->activation != nullptr && op->infer != nullptr) all.push_back({std::string(op->name), {x()}});
  }
  return all;
}

TEST(Permute, EveryHookKeepsTheMeaning) {
  NARROW_SEEDED(rng);
  for (int round = 0; round < 6; ++round) {
    for (const Case& c : cases(rng)) {
      std::vector<int> perm(4);
      std::iota(perm.begin(), perm.end(), 0);
      std::shuffle(perm.begin(), perm.end(), rng);
      SCOPED_TRACE(c.op + " perm " + to_string(Shape(perm.begin(), perm.end())));

      // Old: the node reads Transpose(x, perm), which is what the case calls its inputs. New: it reads x.
      test::OneNode old(c.op, c.inputs, c.attrs);
      const Tensor wanted = old.run()[0];
      std::vector<int> inverse(perm.size());
      for (std::size_t i = 0; i < perm.size(); ++i) inverse[static_cast<std::size_t>(perm[i])] = static_cast<int>(i);

      test::OneNode permuted(c.op, c.inputs, c.attrs);
      test::must(infer_node(permuted.graph, permuted.node));
      const OpDef& op = *find_op(c.op);
      ASSERT_NE(op.permute, nullptr);
      ASSERT_TRUE(op.permute(permuted.graph, permuted.node, perm));
      for (std::size_t i = 0; i < permuted.feed.size(); ++i) {
        permuted.feed[i] = transposed(permuted.feed[i], inverse);
        permuted.graph.set_type(permuted.graph.inputs()[i], permuted.feed[i].type());
      }
      const Tensor found = transposed(permuted.run()[0], perm);
      ASSERT_EQ(found.shape(), wanted.shape());
      EXPECT_TRUE(found.same_bytes(wanted));
    }
  }
}

}  // namespace
}  // namespace narrow
