#include "cli/print/progress_line.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/format.h"

namespace tangram {
namespace {

// Time between two lines: people cannot read faster, and a slow terminal would
// delay the plan.
constexpr std::chrono::milliseconds kInterval(100);
constexpr char kClearLine[] = "\r\x1b[K";

}  // namespace

std::string ProgressText(const ProgressState& state) {
  std::string text = absl::StrReplaceAll(state.phase, {{"_", " "}});
  if (state.pairs_total > 0) {
    absl::StrAppend(&text, " ", state.pairs_done, "/", state.pairs_total);
  }
  if (state.num_workers > 0) {
    absl::StrAppend(&text, ", ", FormatItems(state.num_workers, "worker"));
  }
  if (state.best_iteration_time_s) {
    absl::StrAppend(&text, ", best ",
                    FormatSeconds(*state.best_iteration_time_s));
  }
  if (state.pairs_done > 0 && state.pairs_done < state.pairs_total) {
    const double left_s = state.in_phase_s *
                          (state.pairs_total - state.pairs_done) /
                          state.pairs_done;
    absl::StrAppend(&text, ", ", FormatSeconds(left_s), " left");
  }
  return text;
}

void ProgressLine::Show(const ProgressState& state) {
  if (!enabled_) return;
  const Clock::time_point now = Clock::now();
  if (shown_ && now - last_shown_ < kInterval) return;
  out_ << kClearLine << ProgressText(state) << std::flush;
  shown_ = true;
  last_shown_ = now;
}

void ProgressLine::Clear() {
  if (!shown_) return;
  out_ << kClearLine << std::flush;
  shown_ = false;
}

}  // namespace tangram
