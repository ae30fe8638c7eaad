#include "worker/adapters/process/process_session.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tangram {
namespace {

// The fields of /proc/ID/stat that are used.
struct ProcessState {
  pid_t id = 0;
  pid_t parent = 0;
  pid_t session = 0;
  double resident_bytes = 0;
};

std::string ReadStat(pid_t id) {
  const std::string path = absl::StrCat("/proc/", id, "/stat");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), "re"), &std::fclose);
  if (file == nullptr) return "";
  char text[1024];
  return std::string(text, std::fread(text, 1, sizeof(text), file.get()));
}

// Parses /proc/ID/stat (proc(5)). Returns empty if the process has ended;
// zombies have.
std::optional<ProcessState> StateOf(pid_t id) {
  // Fields after the name, counted from 0: field n of proc(5) is n - 3.
  constexpr size_t kState = 0, kParent = 1, kSession = 3, kResidentPages = 21;
  const std::string stat = ReadStat(id);
  // The process name before it stands in parentheses and may contain anything.
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields =
      absl::StrSplit(stat.substr(name_end + 2), ' ');
  ProcessState process{.id = id};
  double pages = 0;
  if (fields.size() <= kResidentPages || fields[kState] == "Z" ||
      !absl::SimpleAtoi(fields[kParent], &process.parent) ||
      !absl::SimpleAtoi(fields[kSession], &process.session) ||
      !absl::SimpleAtod(fields[kResidentPages], &pages)) {
    return std::nullopt;
  }
  process.resident_bytes = pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  return process;
}

// Moves members to the front. Returns their number.
size_t GatherMembers(pid_t leader, std::vector<ProcessState>& processes) {
  std::set<pid_t> members = {leader};
  size_t num_members = 0;
  // A child may be listed before its parent: looks until nothing is found.
  for (bool found = true; found;) {
    found = false;
    for (size_t i = num_members; i < processes.size(); ++i) {
      const ProcessState process = processes[i];
      if (process.session != leader && process.id != leader &&
          members.count(process.parent) == 0) {
        continue;
      }
      members.insert(process.id);
      std::swap(processes[i], processes[num_members++]);
      found = true;
    }
  }
  return num_members;
}

std::vector<ProcessState> StatesOf(pid_t session) {
  std::vector<ProcessState> processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), &closedir);
  if (proc == nullptr) return processes;
  while (const dirent* entry = readdir(proc.get())) {
    pid_t id = 0;
    if (!absl::SimpleAtoi(entry->d_name, &id)) continue;
    const std::optional<ProcessState> process = StateOf(id);
    if (process) processes.push_back(*process);
  }
  processes.resize(GatherMembers(session, processes));
  return processes;
}

}  // namespace

std::vector<pid_t> SessionMembers(pid_t session) {
  std::vector<pid_t> ids;
  for (const ProcessState& process : StatesOf(session)) {
    ids.push_back(process.id);
  }
  return ids;
}

double SessionMemoryBytes(pid_t session) {
  double bytes = 0;
  for (const ProcessState& process : StatesOf(session)) {
    bytes += process.resident_bytes;
  }
  return bytes;
}

void KillSession(pid_t session) {
  // Descendants are found only while their ancestors live.
  std::vector<pid_t> descendants;
  if (StateOf(session).has_value()) descendants = SessionMembers(session);
  // Kills the leader, which may be about to create the session, then its group
  // at once, then members that created groups of their own.
  kill(session, SIGKILL);
  kill(-session, SIGKILL);
  for (const pid_t id : descendants) kill(id, SIGKILL);
  // At least 0.1 s. Only a program that forks faster than it is killed outlives
  // it.
  constexpr int kMaxRounds = 100;
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::vector<pid_t> members = SessionMembers(session);
    if (members.empty()) return;
    for (const pid_t id : members) kill(id, SIGKILL);
    usleep(1'000);
  }
}

}  // namespace tangram
