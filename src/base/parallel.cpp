#include "base/parallel.h"

#include <omp.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace narrow {

int thread_count() { return omp_in_parallel() != 0 ? 1 : omp_get_max_threads(); }
void set_thread_count(int threads) { omp_set_num_threads(threads < 1 ? 1 : threads); }


void limit_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (unknown || setenv("GOMP_SPINCOUNT", "1000", 1) != 0) return;
  execv(self.c_str(), argv);
}

}  // namespace narrow
