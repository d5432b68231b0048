// Progress on stderr: one kept line per phase, and on a terminal a bar that erases itself. Also the place that hears
// Ctrl-C and its like: long loops ask cancelled() between samples and end with an error that leaves no half-written file.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace narrow {

struct PhaseTime {
  std::string name;
  double seconds = 0;
};

class Progress {
 public:
  // quiet: prints nothing, still measures.
  explicit Progress(int phases = 0, bool quiet = true);
  void begin(const std::string& phase);
  void step(std::int64_t done, std::int64_t total, const std::string& unit);  // bar, on a terminal only
  void say(const std::string& line);    // a kept line within the phase
  void end(const std::string& detail);  // "[2/8] simplify    9 rewrites in 6 passes    0.01 s"
  const std::vector<PhaseTime>& times() const { return times_; }

 private:
  void erase_bar();
  int phases_;
  bool quiet_;
  bool terminal_;
  bool bar_shown_ = false;
  std::string phase_;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point last_bar_;
  std::vector<PhaseTime> times_;
};

void install_signal_handlers();  // SIGINT, SIGTERM and SIGHUP set the flag; a second one ends the process
bool cancelled();
void request_cancel();  // what SIGINT does; for tests
void clear_cancel();
Status check_cancelled();  // an Error with exit code 128 + signal (ExitCode::kInterrupted of Ctrl-C) when cancelled

}  // namespace narrow
