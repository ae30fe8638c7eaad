#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_ADAPTER_SANDBOX_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_ADAPTER_SANDBOX_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// Adapter programs in namespaces of their own, by bubblewrap (bwrap(1)).
namespace tangram {

enum class Isolation {
  kAuto,      // In a sandbox where the system allows it.
  kRequired,  // In a sandbox, or not at all.
  kNone,
};

// Reads "auto", "required" or "none".
absl::StatusOr<Isolation> ParseIsolation(absl::string_view text);

// Returns whether sandboxes work here, or why not: bubblewrap is missing, or
// the system lets this user make no namespaces. Tried once a process.
// Thread-safe.
absl::Status SandboxesWork();

// Returns the words to put before a command so that it runs in a sandbox: as
// another user, with processes, network and IPC of its own, and with a file
// system in which it can write to `folder` alone. The folders of
// `hidden` files are empty there, and so is /run, where services have their
// sockets. /dev/shm has 64 MiB. All its processes die with the first one,
// whatever sessions they made.
std::vector<std::string> SandboxWords(const std::string& folder,
                                      const std::vector<std::string>& hidden);

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_ADAPTER_SANDBOX_H_
