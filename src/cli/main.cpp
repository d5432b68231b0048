#include <malloc.h>

#include <cstdio>
#include <new>

#include "base/parallel.h"
#include "base/progress.h"
#include "cli/options.h"

namespace {

int fail(const narrow::Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return static_cast<int>(error.exit_code);
}

int run_command(const narrow::cli::Command& command) {
  return std::visit(
      [](const auto& wanted) {
        if (wanted.common.threads > 0) narrow::set_thread_count(wanted.common.threads);
        const narrow::Status status = narrow::cli::run(wanted);
        return status ? static_cast<int>(narrow::ExitCode::kOk) : fail(status.error());
      },
      command);
}

}  // namespace

int main(int argc, char** argv) {
  narrow::limit_spinning(argv);
  // Feature maps come and go with every sample: keep their pages instead of giving them back and faulting them in again.
  ::mallopt(M_MMAP_THRESHOLD, 256 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
  narrow::install_signal_handlers();
  try {
    const auto command = narrow::cli::parse_command_line(argc, argv);
    if (!command) return fail(command.error());
    return *command ? run_command(**command) : static_cast<int>(narrow::ExitCode::kOk);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "error: out of memory\n  help: fewer --threads, or a machine with more memory\n");
    return static_cast<int>(narrow::ExitCode::kRejected);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "internal error: %s\n  help: this is a bug in narrow; please report it with the command line\n", problem.what());
    return static_cast<int>(narrow::ExitCode::kInternal);
  }
}
