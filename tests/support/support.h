// What tests share: random tensors, small graphs, the place of ../shared.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "graph/graph.h"
#include "tensor/tensor.h"

namespace narrow::test {

// Folder of real models and data beside the project, or nullopt. Tests that need it begin with NARROW_NEEDS_SHARED.
std::optional<std::string> shared_folder();
std::string source_folder();   // of the project
std::string narrow_binary();   // the command-line program of this build
// Seed of random tests: $NARROW_TEST_SEED or a fixed default; NARROW_SEEDED prints how to repeat a failure.
std::uint64_t seed();
Tensor random_tensor(const Shape& shape, std::mt19937_64& rng, float low = -1, float high = 1);
template <typename T>
Tensor random_ints(const Shape& shape, std::mt19937_64& rng, std::int64_t low, std::int64_t high) {
  Tensor t(dtype_of<T>(), shape);
  std::uniform_int_distribution<std::int64_t> pick(low, high);
  for (T& x : t.span<T>()) x = static_cast<T>(pick(rng));
  return t;
}
std::string temporary_folder();  // fresh, removed at exit
double max_abs_difference(const Tensor& a, const Tensor& b);  // f32, same shape

// Value of a Result, failing the test with its message otherwise.
template <typename T>
T must(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().to_string();
    throw std::runtime_error("unexpected error: " + result.error().to_string());
  }
  return std::move(*result);
}
inline void must(Status status) {
  if (!status) {
    ADD_FAILURE() << status.error().to_string();
    throw std::runtime_error("unexpected error: " + status.error().to_string());
  }
}

}  // namespace narrow::test

#define NARROW_NEEDS_SHARED(variable)                                \
  const auto variable##_folder = ::narrow::test::shared_folder();    \
  if (!variable##_folder) GTEST_SKIP() << "skipped: no ../shared";   \
  const std::string& variable = *variable##_folder

#define NARROW_SEEDED(rng)                                                                                    \
  std::mt19937_64 rng(::narrow::test::seed());                                                                \
  SCOPED_TRACE("repeat with NARROW_TEST_SEED=" + std::to_string(::narrow::test::seed()) + " and --gtest_filter=" + \
               ::testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() + "." +             \
               ::testing::UnitTest::GetInstance()->current_test_info()->name())
