#ifndef TANGRAM_COORDINATOR_DISPATCH_WORKER_IDENTITY_H_
#define TANGRAM_COORDINATOR_DISPATCH_WORKER_IDENTITY_H_

#include <cstddef>
#include <string>

namespace tangram {

// Identifies a worker across connections, by facts that it does not choose. Its
// name and version are its own words, so they identify nobody. All workers with
// one credential on one host are one worker here.
struct WorkerIdentity {
  std::string caller;  // The authenticated caller. Empty: no authentication.
  std::string host;    // The address that it dials from, without the port.
  auto operator<=>(const WorkerIdentity&) const = default;
};

// The most sources that a record of them has, more than one coordinator sees.
inline constexpr size_t kMaxSources = 1 << 14;

// Returns "caller@host", or the host alone without authentication.
std::string ToString(const WorkerIdentity& worker);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_DISPATCH_WORKER_IDENTITY_H_
