#include "measure/decoders.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace narrow {
namespace {

// 32x32 input: 16 + 4 + 1 cells of 5 + 2 numbers.
TEST(Decoders, YoloxPlacesBoxesOnEveryStride) {
  Tensor out = Tensor::zeros(DType::kF32, {1, 21, 7});
  const auto row = [&](std::size_t cell) { return out.data<float>() + cell * 7; };
  // Stride 8, cell (x 1, y 2) is number 9: centre ((0.5+1)*8, (0.25+2)*8), size (8, 16).
  const std::vector<float> small{0.5F, 0.25F, 0, std::log(2.0F), 0.5F, 0.25F, 0.5F};
  std::copy(small.begin(), small.end(), row(9));
  // Stride 32, the only cell, number 20.
  const std::vector<float> large{0.5F, 0.5F, 0, 0, 1, 0.75F, 0.5F};
  std::copy(large.begin(), large.end(), row(20));
  row(0)[4] = 0.05F;  // 0.05 * 0.1 is not above 0.01
  row(0)[5] = 0.1F;
  const std::vector<Detection> found = test::must(decode_yolox(std::vector<Tensor>{out}, {32, 32}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].label, 1);
  EXPECT_DOUBLE_EQ(found[0].score, 0.25);
  EXPECT_NEAR(found[0].box.x0, 8, 1e-5);
  EXPECT_NEAR(found[0].box.y0, 10, 1e-5);
  EXPECT_NEAR(found[0].box.x1, 16, 1e-5);
  EXPECT_NEAR(found[0].box.y1, 26, 1e-5);
  EXPECT_EQ(found[1].label, 0);
  EXPECT_EQ(found[1].box, (Box{0, 0, 32, 32}));
}

TEST(Decoders, YoloxRejectsAnotherLayout) {
  const auto result = decode_yolox(std::vector<Tensor>{Tensor::zeros(DType::kF32, {1, 20, 7})}, {32, 32});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "decoder 'yolox' found output [1,20,7], wanted [1,21,5+classes] for a 32x32 input");
}

TEST(Decoders, SsdReadsScoresAndCornersInAnyOrder) {
  const Tensor scores = Tensor::of<float>({1, 3, 3}, {0.1F, 0.2F, 0.7F, 0.99F, 0.005F, 0.005F, 0.5F, 0.5F, 0});
  const Tensor boxes = Tensor::of<float>({1, 3, 4}, {0.25F, 0.5F, 0.75F, 1, 0, 0, 1, 1, 0, 0, 0.5F, 0.25F});
  for (const auto& outputs : {std::vector<Tensor>{scores, boxes}, std::vector<Tensor>{boxes, scores}}) {
    const std::vector<Detection> found = test::must(decode_ssd(outputs, {40, 80}));
    ASSERT_EQ(found.size(), 2U) << "the second is background";
    EXPECT_EQ(found[0].label, 1);
    EXPECT_FLOAT_EQ(static_cast<float>(found[0].score), 0.7F);
    EXPECT_EQ(found[0].box, (Box{20, 20, 60, 40}));
    EXPECT_EQ(found[1].label, 0);
    EXPECT_EQ(found[1].box, (Box{0, 0, 40, 10}));
  }
  for (const auto& outputs : {std::vector<Tensor>{}, std::vector<Tensor>{scores}, std::vector<Tensor>{scores, scores}, std::vector<Tensor>{scores, Tensor::zeros(DType::kF32, {1, 2, 4})}}) {
    EXPECT_NE(decode_ssd(outputs, {40, 80}).error().message.find("wanted scores [1,boxes,1+classes] and boxes [1,boxes,4]"), std::string::npos);
  }
}

TEST(Decoders, FastestDetReadsPlanes) {
  Tensor out = Tensor::zeros(DType::kF32, {1, 7, 2, 2});
  const auto set = [&](std::size_t channel, std::size_t cell, float x) { out.data<float>()[channel * 4 + cell] = x; };
  set(0, 3, 0.5F);  // cell (1, 1)
  set(1, 3, std::atanh(0.5F));
  set(2, 3, 0);
  set(3, 3, 0);                  // sigmoid 1/2
  set(4, 3, std::log(1 / 3.0F));  // sigmoid 1/4
  set(5, 3, 0.25F);
  set(6, 3, 0.75F);
  const std::vector<Detection> found = test::must(decode_fastestdet(std::vector<Tensor>{out}, {40, 80}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].label, 1);
  EXPECT_NEAR(found[0].score, std::pow(0.5, 0.6) * std::pow(0.75, 0.4), 1e-12);
  EXPECT_NEAR(found[0].box.x0, 0.75 * 80 - 20, 1e-4);
  EXPECT_NEAR(found[0].box.x1, 0.75 * 80 + 20, 1e-4);
  EXPECT_NEAR(found[0].box.y0, 0.5 * 40 - 5, 1e-4);
  EXPECT_NEAR(found[0].box.y1, 0.5 * 40 + 5, 1e-4);
}

TEST(Decoders, UnknownNameGetsASuggestion) {
  const auto result = find_decoder("yolo");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().help, "did you mean 'yolox'?");
}

}  // namespace
}  // namespace narrow
