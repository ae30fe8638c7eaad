#ifndef TANGRAM_COMMON_OBS_AUDIT_LOG_H_
#define TANGRAM_COMMON_OBS_AUDIT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace tangram {

// Names of jobs and workers are shorter.
inline constexpr size_t kMaxTargetBytes = 256;

// A call of the service, for the record: who did what, from where.
struct AuditedCall {
  std::string method;  // "/tangram.v1.Jobs/CancelJob"
  std::string caller;  // Name of the token or certificate; empty: none.
  std::string tenant;  // Empty: none.
  std::string peer;    // Address, as gRPC writes it; empty: not known.
  // The job or worker that the call names: printable text of up to
  // kMaxTargetBytes. Empty: nothing.
  std::string target;
  std::string code;   // "ok", "not_found", ...
  int64_t times = 1;  // Calls for which it stands.
};

// Told of a call when it has ended. Called from any thread.
using OnAuditedCall = std::function<void(const AuditedCall&)>;

struct AuditLogOptions {
  std::string file;
  int64_t max_bytes = int64_t{100}
                      << 20;  // Size of a file before the next begins.
  // audit.1.log is the newest of those of audit.log. The oldest is deleted.
  int max_old_files = 9;
};

// A file with a JSON object a line for each call. Only its owner may read it.
// It holds names of callers and jobs, and no tokens, keys or requests. A disk
// that is full loses lines and is told in the log; calls go on. Thread-safe.
class AuditLog {
 public:
  // Appends to the file. Returns kInvalidArgument naming --audit_log if it
  // cannot be written.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(
      const AuditLogOptions& options);

  virtual ~AuditLog() = default;
  virtual void Write(const AuditedCall& call) = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_OBS_AUDIT_LOG_H_
