#ifndef TANGRAM_CLI_PRINT_PROGRESS_LINE_H_
#define TANGRAM_CLI_PRINT_PROGRESS_LINE_H_

#include <chrono>
#include <optional>
#include <ostream>
#include <string>

namespace tangram {

// How far planning has come.
struct ProgressState {
  std::string phase;  // A PhaseName.
  int pairs_done = 0;
  int pairs_total = 0;  // 0: nothing to count in this phase.
  std::optional<double> best_iteration_time_s;
  int num_workers = 0;    // 0: not planned by workers.
  double in_phase_s = 0;  // Since the phase began.
};

// "slice plans 120/480, best 12.3 s, 4 s left"; time left by the pairs so far.
std::string ProgressText(const ProgressState& state);

// One line that is rewritten in place, at most ten times a second. Does nothing
// unless it is enabled. Thread-compatible.
class ProgressLine {
 public:
  ProgressLine(std::ostream& out, bool enabled)
      : out_(out), enabled_(enabled) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const ProgressState& state);
  // Leaves an empty line for others to write on.
  void Clear();

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& out_;
  const bool enabled_;
  bool shown_ = false;
  Clock::time_point last_shown_;
};

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PROGRESS_LINE_H_
