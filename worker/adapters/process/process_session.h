#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_SESSION_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_SESSION_H_

#include <sys/types.h>

#include <vector>

// A program and whatever it starts: the processes of one session (setsid(2)),
// as /proc shows them.
namespace tangram {

// Those that have not ended.
std::vector<pid_t> SessionMembers(pid_t session);

// Resident memory of all members; what they share counts for each.
double SessionMemoryBytes(pid_t session);

// Kills all members, also those that are just being started. The leader must
// not have been waited for, so that its number is still its own.
void KillSession(pid_t session);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_SESSION_H_
