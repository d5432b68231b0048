#include "ops/layout.h"

#include "ops/op_def.h"
#include "support.h"

namespace narrow {
namespace {

TEST(Layout, ComposeAndInverse) {
  const std::vector<int> p{0, 3, 1, 2}, q{2, 0, 1, 3};
  EXPECT_TRUE(is_identity(compose(p, inverse_of(p))));
  NARROW_SEEDED(rng);
  const Tensor x = test::random_tensor({2, 3, 4, 5}, rng);
  EXPECT_TRUE(transposed(transposed(x, p), q).same_bytes(transposed(x, compose(p, q))));
  EXPECT_EQ(layout_suffix({0, 3, 1, 2}), ".nchw");
  EXPECT_EQ(layout_suffix({0, 2, 3, 1}), ".nhwc");
  EXPECT_EQ(layout_suffix({1, 0}), ".t");
  EXPECT_TRUE(moves_no_data({1, 1, 1, 8}, {0, 3, 1, 2}));
  EXPECT_FALSE(moves_no_data({1, 2, 1, 8}, {0, 3, 1, 2}));
}

// x, transposed, reshaped == x, reshaped, transposed, for cases that real networks hold.
void expect_same(const Shape& x_shape, const std::vector<int>& perm, const Shape& to, const Shape& wanted_shape, const std::vector<int>& wanted_perm) {
  NARROW_SEEDED(rng);
  const Tensor x = test::random_tensor(x_shape, rng);
  const Tensor t = transposed(x, perm);
  const auto result = permute_reshape(t.shape(), to, perm);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->shape, wanted_shape);
  EXPECT_EQ(result->perm, wanted_perm);
  EXPECT_TRUE(transposed(x.reshaped(result->shape), result->perm).same_bytes(t.reshaped(to)));
}

TEST(Layout, ReshapeCommutesWhereAxesStayTogether) {
  expect_same({1, 4, 5, 6}, {0, 3, 1, 2}, {1, 6, 20}, {1, 20, 6}, {0, 2, 1});             // detector head
  expect_same({1, 4, 5, 6}, {0, 3, 1, 2}, {3, 2, 20}, {20, 3, 2}, {1, 2, 0});             // channel shuffle, first half
  expect_same({20, 3, 2}, {2, 1, 0}, {2, 1, 3, 4, 5}, {4, 5, 3, 2, 1}, {3, 4, 2, 0, 1});  // second half
  expect_same({1, 1, 1, 6}, {0, 3, 1, 2}, {1, 6}, {1, 6}, {0, 1});                        // after global pooling
  expect_same({2, 3}, {1, 0}, {3, 1, 2}, {2, 3, 1}, {1, 2, 0});
}

TEST(Layout, ReshapeDoesNotCommuteOtherwise) {
  EXPECT_FALSE(permute_reshape({1, 6, 4, 5}, {1, 120}, {0, 3, 1, 2}).has_value());
  EXPECT_FALSE(permute_reshape({2, 6, 4, 5}, {12, 20}, {0, 3, 1, 2}).has_value());
}

}  // namespace
}  // namespace narrow
