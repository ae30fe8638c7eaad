#ifndef TANGRAM_COORDINATOR_WEB_LIVE_PAGE_H_
#define TANGRAM_COORDINATOR_WEB_LIVE_PAGE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/security/tls_files.h"
#include "coordinator/auth/authenticator.h"
#include "coordinator/rpc/status_service.h"
#include "coordinator/store/job_store.h"
#include "coordinator/web/http_server.h"

namespace tangram {

// What is shown; all of it must outlive the page.
struct LivePageParts {
  JobStore& jobs;
  StatusServiceParts status;
  Authenticator& authenticator;
  // Nobody else's names are served, so that no other site can have itself
  // resolved to this machine and read what is here (DNS rebinding).
  bool only_as_this_machine = false;
};

// Answers for the page of web/live, which is read-only:
//   /                  the page; without data, so that all may have it
//   /api/status        tangram.v1.CoordinatorStatus
//   /api/jobs          the newest jobs, with the progress of those that run
//   /api/reports/NAME  a job's plan, as docs/report.md
// Data needs what the call of the same name needs (coordinator/auth), by a
// bearer token: callers see what `tangram job` and `tangram top` show them.
HttpHandler CreateLivePage(const LivePageParts& parts);

// kInvalidArgument if what is secured elsewhere would not be here: beside TLS
// or tokens the page, which travels in plain text, listens on this machine
// alone, and where a certificate is all that lets callers in, none can be shown
// to it.
absl::Status CheckLivePageAddress(const std::string& address,
                                  const TlsFiles& tls,
                                  const AuthenticatorOptions& auth);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_WEB_LIVE_PAGE_H_
