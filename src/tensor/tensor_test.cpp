#include "tensor/tensor.h"

#include <limits>

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

TEST(Tensor, RealsThatNoIntegerHoldsSaturate) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Tensor reals = Tensor::of<float>({7}, {-kInf, -1e30F, -1.5F, std::nanf(""), 300, 1e30F, kInf});
  constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min(), kHigh = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(reals.cast(DType::kU8).to_ints(), (std::vector<std::int64_t>{0, 0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(reals.cast(DType::kI8).to_ints(), (std::vector<std::int64_t>{-128, -128, -1, 0, 127, 127, 127}));
  EXPECT_EQ(reals.cast(DType::kI32).to_ints(), (std::vector<std::int64_t>{INT32_MIN, INT32_MIN, -1, 0, 300, INT32_MAX, INT32_MAX}));
  EXPECT_EQ(reals.cast(DType::kI64).to_ints(), (std::vector<std::int64_t>{kLow, kLow, -1, 0, 300, kHigh, kHigh}));
  EXPECT_EQ(Tensor::of<double>({2}, {2147483647.75, -2147483648.5}).cast(DType::kI32).to_ints(), (std::vector<std::int64_t>{INT32_MAX, INT32_MIN}));
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

TEST(Shape, WhatFitsNoMemoryIsNotPlausible) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{0, 0, 7}, Shape{1 << 16, 1 << 17}, Shape{3, 0, 5}}) EXPECT_TRUE(is_plausible(shape)) << to_string(shape);
  for (const Shape& shape : {Shape{-1}, Shape{kHuge}, Shape{1 << 17, 1 << 17}, Shape{0, kHuge, kHuge}, Shape{kHuge, kHuge, 0}, Shape{kHuge, kHuge, kHuge, kHuge}}) EXPECT_FALSE(is_plausible(shape)) << to_string(shape);
}

TEST(Shape, AxesCountFromEitherEnd) {
  EXPECT_EQ(test::must(normalize_axis(-1, 4)), 3);
  EXPECT_EQ(test::must(normalize_axis(2, 4)), 2);
  EXPECT_EQ(normalize_axis(4, 4).error().message, "axis 4 is outside [-4, 4)");
}

}  // namespace
}  // namespace narrow
