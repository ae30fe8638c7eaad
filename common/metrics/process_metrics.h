#ifndef TANGRAM_COMMON_METRICS_PROCESS_METRICS_H_
#define TANGRAM_COMMON_METRICS_PROCESS_METRICS_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

// The figures that Prometheus's client libraries tell of their process, under
// the same names: restarts, memory, files.
namespace tangram {

struct ProcessFigures {
  double cpu_s = 0;      // User and system time.
  double started_s = 0;  // Since 1970.
  double resident_bytes = 0;
  double virtual_bytes = 0;
  double open_fds = 0;
  double max_fds = 0;
};

// Reads them of this process from /proc. Empty: it cannot be read.
std::optional<ProcessFigures> ReadProcessFigures();

// Parses /proc/self/stat (proc(5)), with the time of the machine's start, in
// seconds since 1970, ticks a second and bytes a page. Leaves the descriptors
// at 0.
std::optional<ProcessFigures> ParseProcessStat(absl::string_view stat,
                                               double booted_s,
                                               double ticks_per_s,
                                               double page_bytes);

}  // namespace tangram

#endif  // TANGRAM_COMMON_METRICS_PROCESS_METRICS_H_
