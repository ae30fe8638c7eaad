#include "coordinator/dispatch/worker_identity.h"

#include "absl/strings/str_cat.h"

namespace tangram {

std::string ToString(const WorkerIdentity& worker) {
  if (worker.caller.empty()) return worker.host;
  return absl::StrCat(worker.caller, "@", worker.host);
}

}  // namespace tangram
