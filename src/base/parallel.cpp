#include "base/parallel.h"

#include <omp.h>

namespace narrow {

int thread_count() { return omp_in_parallel() != 0 ? 1 : omp_get_max_threads(); }
void set_thread_count(int threads) { omp_set_num_threads(threads < 1 ? 1 : threads); }

}  // namespace narrow
