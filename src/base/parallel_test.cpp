#include "base/parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace narrow {
namespace {

TEST(Parallel, EveryChunkOnce) {
  const int before = thread_count();
  for (const int threads : {1, 2, 7}) {
    set_thread_count(threads);
    for (const std::int64_t chunks : {0, 1, 2, 100}) {
      std::vector<int> seen(static_cast<std::size_t>(chunks));
      parallel_for(chunks, [&](std::int64_t i) { ++seen[static_cast<std::size_t>(i)]; });
      EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(chunks), 1)) << threads;
    }
  }
  set_thread_count(before);
}

TEST(Parallel, ExceptionsReachTheCaller) {
  const int before = thread_count();
  for (const int threads : {1, 4}) {
    set_thread_count(threads);
    EXPECT_THROW(parallel_for(64, [](std::int64_t i) { if (i % 3 == 1) throw std::runtime_error("chunk"); }), std::runtime_error) << threads;
    EXPECT_THROW(parallel_for(64, [](std::int64_t) { throw std::bad_alloc(); }), std::bad_alloc) << threads;
  }
  set_thread_count(before);
}

TEST(Parallel, LoopsWithinLoopsRunOnOneThread) {
  const int before = thread_count();
  set_thread_count(4);
  std::vector<int> inside(4);
  parallel_for(4, [&](std::int64_t i) { inside[static_cast<std::size_t>(i)] = thread_count(); });
  EXPECT_EQ(inside, std::vector<int>(4, 1));
  set_thread_count(before);
}

}  // namespace
}  // namespace narrow
