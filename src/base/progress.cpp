#include "base/progress.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

#include "base/file.h"
#include "base/text.h"

namespace narrow {
namespace {

std::atomic<int> g_signal{0};  // that asked us to stop; 0: none

// The first signal asks, a second one ends the process: not while files are being written, which would leave half of them behind.
void on_signal(int signal) {
  int none = 0;
  if (!g_signal.compare_exchange_strong(none, signal) && !has_temporary_files()) std::_Exit(128 + signal);
}

constexpr int kBarWidth = 28;

}  // namespace

Progress::Progress(int phases, bool quiet) : phases_(phases), quiet_(quiet), terminal_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

void Progress::begin(const std::string& phase) {
  phase_ = phase;
  begin_ = last_bar_ = std::chrono::steady_clock::now();
}

void Progress::step(std::int64_t done, std::int64_t total, const std::string& unit) {
  if (!terminal_ || total <= 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_bar_ < std::chrono::milliseconds(100) && done != total) return;
  last_bar_ = now;
  const int filled = static_cast<int>(kBarWidth * done / total);
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  const double left = done > 0 ? elapsed * static_cast<double>(total - done) / static_cast<double>(done) : 0;
  std::fputs(fmt::format("\r[{}/{}] {:<10} {}{}  {}/{} {}  eta {:.0f} s ", times_.size() + 1, phases_, phase_, std::string(static_cast<std::size_t>(filled), '#'),
                         std::string(static_cast<std::size_t>(kBarWidth - filled), '.'), done, total, unit, left)
                 .c_str(),
             stderr);
  std::fflush(stderr);
  bar_shown_ = true;
}

void Progress::erase_bar() {
  if (bar_shown_) std::fputs("\r\033[K", stderr);
  bar_shown_ = false;
}

void Progress::say(const std::string& line) {
  if (quiet_) return;
  erase_bar();
  std::fputs(fmt::format("      {:<10} {}\n", "", line).c_str(), stderr);
}

void Progress::end(const std::string& detail) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  times_.push_back({phase_, seconds});
  if (quiet_) return;
  erase_bar();
  std::fputs(fmt::format("[{}/{}] {:<10} {:<72} {:>8}\n", times_.size(), phases_, phase_, detail, human_seconds(seconds)).c_str(), stderr);
}

void install_signal_handlers() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // nohup
}
bool cancelled() { return g_signal.load(std::memory_order_relaxed) != 0; }
void request_cancel() { g_signal = SIGINT; }
void clear_cancel() { g_signal = 0; }

Status check_cancelled() {
  if (!cancelled()) return {};
  return error("interrupted").with_help("nothing was written; existing outputs are untouched").with_exit_code(static_cast<ExitCode>(128 + g_signal));
}

}  // namespace narrow
