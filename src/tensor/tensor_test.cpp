#include "tensor/tensor.h"

#include "support.h"

namespace narrow {
namespace {

TEST(Tensor, CopiesShareBytesAndClonesDoNot) {
  Tensor a = Tensor::of<float>({2}, {1, 2});
  const Tensor shared = a;
  const Tensor own = a.clone();
  a.data<float>()[0] = 9;
  EXPECT_EQ(shared.data<float>()[0], 9);
  EXPECT_EQ(own.data<float>()[0], 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.raw()) % 64, 0U);
  EXPECT_EQ(a.reshaped({1, 2}).raw(), a.raw());
}

TEST(Tensor, CastsElementByElement) {
  EXPECT_TRUE(Tensor::of<float>({3}, {-1.9F, 0, 2.9F}).cast(DType::kI8).same_bytes(Tensor::of<std::int8_t>({3}, {-1, 0, 2})));
  EXPECT_TRUE(Tensor::of<std::int64_t>({2}, {-1, 300}).cast(DType::kF32).same_bytes(Tensor::of<float>({2}, {-1, 300})));
  EXPECT_EQ(Tensor::of<std::uint8_t>({2}, {0, 7}).cast(DType::kBool).to_ints(), (std::vector<std::int64_t>{0, 1}));
}

TEST(Tensor, SameBytesAndHashLookAtTypeAndContents) {
  const Tensor a = Tensor::of<float>({2}, {1, 2});
  EXPECT_TRUE(a.same_bytes(a.clone()));
  EXPECT_EQ(a.hash(), a.clone().hash());
  EXPECT_FALSE(a.same_bytes(a.reshaped({2, 1})));
  EXPECT_NE(a.hash(), a.reshaped({2, 1}).hash());
  EXPECT_FALSE(a.same_bytes(Tensor::of<float>({2}, {1, 3})));
}

TEST(Tensor, EmptyAndScalar) {
  EXPECT_FALSE(Tensor().has_data());
  EXPECT_EQ(Tensor::zeros(DType::kF32, {0, 3}).elements(), 0);
  EXPECT_EQ(Tensor::scalar<std::int32_t>(5).elements(), 1);
  EXPECT_EQ(Tensor::scalar<std::int32_t>(5).shape(), Shape{});
}

TEST(DType, NamesReadBack) {
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) EXPECT_EQ(dtype_from_name(name_of(static_cast<DType>(i))), static_cast<DType>(i));
  EXPECT_EQ(dtype_from_name("uint8"), DType::kU8);
  EXPECT_EQ(dtype_from_name("float32"), DType::kF32);
  EXPECT_FALSE(dtype_from_name("int4").has_value());
}

TEST(Shape, BroadcastsAsOnnxDoes) {
  EXPECT_EQ(test::must(broadcast({2, 1, 4}, {3, 1})), (Shape{2, 3, 4}));
  EXPECT_EQ(test::must(broadcast({}, {5})), (Shape{5}));
  EXPECT_EQ(broadcast({2, 3}, {4}).error().message, "shapes [2,3] and [4] do not broadcast: 3 against 4");
  EXPECT_EQ(broadcast_strides({3, 1}, {2, 3, 4}), (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_EQ(strides_of({2, 3, 4}), (std::vector<std::int64_t>{12, 4, 1}));
  EXPECT_EQ(to_string(Shape{1, 3, 224}), "[1,3,224]");
  EXPECT_EQ(element_count({}), 1);
}

TEST(Shape, AxesCountFromEitherEnd) {
  EXPECT_EQ(test::must(normalize_axis(-1, 4)), 3);
  EXPECT_EQ(test::must(normalize_axis(2, 4)), 2);
  EXPECT_EQ(normalize_axis(4, 4).error().message, "axis 4 is outside [-4, 4)");
}

}  // namespace
}  // namespace narrow
