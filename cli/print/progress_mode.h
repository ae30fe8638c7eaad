#ifndef TANGRAM_CLI_PRINT_PROGRESS_MODE_H_
#define TANGRAM_CLI_PRINT_PROGRESS_MODE_H_

#include "cli/args/options.h"
#include "cli/print/console.h"

namespace tangram {

// True if a progress line is drawn. With kAuto, it is drawn on a terminal
// unless `quiet`.
inline bool ShowsProgress(ProgressMode mode, const Console& console,
                          bool quiet = false) {
  if (mode != ProgressMode::kAuto) return mode == ProgressMode::kAlways;
  return console.err_is_terminal && !quiet;
}

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PROGRESS_MODE_H_
