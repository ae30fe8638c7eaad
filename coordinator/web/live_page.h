#ifndef TANGRAM_COORDINATOR_WEB_LIVE_PAGE_H_
#define TANGRAM_COORDINATOR_WEB_LIVE_PAGE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/http/http_server.h"
#include "common/obs/audit_log.h"
#include "common/security/tls_files.h"
#include "coordinator/auth/authenticator.h"
#include "coordinator/rpc/status_service.h"
#include "coordinator/store/job_store.h"

namespace tangram {

// The parts that the page shows. All must outlive it.
struct LivePageParts {
  JobStore& jobs;
  StatusServiceParts status;
  Authenticator& authenticator;
  OnAuditedCall on_call;  // Told of each reading. May be null.
  // Refuses requests whose Host is another machine, so that no other site can
  // resolve its name to this machine and read the data (DNS rebinding).
  bool only_as_this_machine = false;
};

// Answers for the page of web/live, which is read-only:
//   /                  the page itself, without data, open to all
//   /api/status        tangram.v1.CoordinatorStatus
//   /api/jobs          the newest jobs, with the progress of running ones
//   /api/reports/NAME  the plan of a job, as docs/report.md
// Data needs the roles of the call of the same name (coordinator/auth), by a
// bearer token. Callers see what `tangram job` and `tangram top` show them.
HttpHandler CreateLivePage(const LivePageParts& parts);

// Returns kInvalidArgument if the page would be less secure than the rest. With
// TLS or tokens, the page must listen on this machine alone, because it travels
// in plain text. If certificates are the only way in, there can be no page,
// because none can be shown to it.
absl::Status CheckLivePageAddress(const std::string& address,
                                  const TlsFiles& tls,
                                  const AuthenticatorOptions& auth);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_WEB_LIVE_PAGE_H_
