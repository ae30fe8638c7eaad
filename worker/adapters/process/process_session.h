#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_SESSION_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_SESSION_H_

#include <sys/types.h>

#include <vector>

// A program and whatever it starts, as listed in /proc: the processes of its
// session (setsid(2)) and its descendants. In a PID namespace of its own,
// orphans become children of the namespace's first process, so none gets away.
// Without, an orphan that has made a session of its own does.
namespace tangram {

// Returns the members that have not ended.
std::vector<pid_t> SessionMembers(pid_t session);

// Returns the resident memory of all members. Shared memory counts for each
// member.
double SessionMemoryBytes(pid_t session);

// Kills all members, including those that are just being started. The leader
// must not have been waited for, so that its number still belongs to it.
void KillSession(pid_t session);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_SESSION_H_
