#include "common/metrics/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace tangram {
namespace {

std::string ReadProcFile(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the seconds since 1970 at which the machine started; 0: unknown.
double BootedS() {
  for (absl::string_view line :
       absl::StrSplit(ReadProcFile("/proc/stat"), '\n')) {
    double booted_s = 0;
    if (absl::ConsumePrefix(&line, "btime ") &&
        absl::SimpleAtod(line, &booted_s)) {
      return booted_s;
    }
  }
  return 0;
}

double CountOpenFiles() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"),
                                                   &closedir);
  if (folder == nullptr) return 0;
  double count = 0;
  while (const dirent* entry = readdir(folder.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count - 1;  // The folder itself.
}

// Leaves the descriptors at 0.
std::optional<ProcessFigures> ReadProcessStat() {
  static const double booted_s = BootedS();
  return ParseProcessStat(ReadProcFile("/proc/self/stat"), booted_s,
                          static_cast<double>(sysconf(_SC_CLK_TCK)),
                          static_cast<double>(sysconf(_SC_PAGESIZE)));
}

}  // namespace

std::optional<ProcessFigures> ParseProcessStat(absl::string_view stat,
                                               double booted_s,
                                               double ticks_per_s,
                                               double page_bytes) {
  // Fields after the name: field n of proc(5) is n - 3.
  constexpr size_t kUserTicks = 11, kSystemTicks = 12, kStartTicks = 19,
                   kVirtualBytes = 20, kResidentPages = 21;
  // The name stands in parentheses and may contain anything.
  const size_t name_end = stat.rfind(") ");
  if (name_end == absl::string_view::npos) return std::nullopt;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(stat.substr(name_end + 2), ' ');
  if (fields.size() <= kResidentPages) return std::nullopt;
  double user = 0, system = 0, start = 0, pages = 0;
  ProcessFigures figures;
  if (!absl::SimpleAtod(fields[kUserTicks], &user) ||
      !absl::SimpleAtod(fields[kSystemTicks], &system) ||
      !absl::SimpleAtod(fields[kStartTicks], &start) ||
      !absl::SimpleAtod(fields[kVirtualBytes], &figures.virtual_bytes) ||
      !absl::SimpleAtod(fields[kResidentPages], &pages)) {
    return std::nullopt;
  }
  figures.cpu_s = (user + system) / ticks_per_s;
  figures.started_s = booted_s + start / ticks_per_s;
  figures.resident_bytes = pages * page_bytes;
  return figures;
}

std::optional<ProcessFigures> ReadProcessFigures() {
  std::optional<ProcessFigures> figures = ReadProcessStat();
  if (!figures.has_value()) return figures;
  figures->open_fds = CountOpenFiles();
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    figures->max_fds = static_cast<double>(limit.rlim_cur);
  }
  return figures;
}

}  // namespace tangram
