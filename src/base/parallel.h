// Threads. OpenMP, because oneDNN brings it and two pools would fight. Chunks are fixed by the caller, never by the
// thread count, so that a result that depends on chunking does not depend on threads.
#pragma once

#include <cstdint>
#include <exception>

namespace narrow {

int thread_count();                  // that a parallel loop uses
void set_thread_count(int threads);  // >= 1

// First thing in main: idle threads of libgomp spin for milliseconds by default, so that on a busy machine every parallel loop waits
// for a time slice of whoever holds the core (50 times slower, measured). How long they spin is read before main: unless the user
// has chosen (GOMP_SPINCOUNT, OMP_WAIT_POLICY), this sets some ten microseconds, which costs nothing on an idle machine, and starts
// the program again. Returns when there is nothing to do, or the program cannot be started again.
void limit_spinning(char** argv);

// Calls fn(i) for every i in [0, chunks). Small counts run on the calling thread. What fn throws is thrown here when all are
// done: the first that was caught.
template <typename Fn>
void parallel_for(std::int64_t chunks, const Fn& fn) {
  if (chunks <= 1 || thread_count() == 1) {
    for (std::int64_t i = 0; i < chunks; ++i) fn(i);
    return;
  }
  std::exception_ptr thrown;
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < chunks; ++i) {
    try {
      fn(i);
    } catch (...) {
#pragma omp critical(narrow_parallel_for)
      if (thrown == nullptr) thrown = std::current_exception();
    }
  }
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

}  // namespace narrow
