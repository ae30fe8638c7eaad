#ifndef TANGRAM_CLI_PRINT_PROGRESS_LINE_H_
#define TANGRAM_CLI_PRINT_PROGRESS_LINE_H_

#include <chrono>
#include <optional>
#include <ostream>
#include <string>

namespace tangram {

// The progress of planning.
struct ProgressState {
  std::string phase;  // A PhaseName.
  int pairs_done = 0;
  int pairs_total = 0;  // 0: this phase does not count pairs.
  std::optional<double> best_iteration_time_s;  // Empty: none found yet.
  int num_workers = 0;                          // 0: planned in this process.
  double in_phase_s = 0;                        // Time since the phase began.
};

// Returns "slice plans 120/480, best 12.3 s, 4 s left". The time left assumes
// that the remaining pairs take as long as those done:
//   left_s = in_phase_s x (pairs_total - pairs_done) / pairs_done
std::string ProgressText(const ProgressState& state);

// One line that is rewritten in place, at most ten times a second. It does
// nothing unless enabled. Thread-compatible.
class ProgressLine {
 public:
  ProgressLine(std::ostream& out, bool enabled)
      : out_(out), enabled_(enabled) {}
  ~ProgressLine() { Clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const ProgressState& state);
  // Clears the line, so that other output can use it.
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
