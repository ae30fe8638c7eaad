#ifndef TANGRAM_COORDINATOR_STORE_JOB_FEED_H_
#define TANGRAM_COORDINATOR_STORE_JOB_FEED_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"

namespace tangram {

struct JobFeedOptions {
  // PostgreSQL's, as for OpenPostgresDatabase. Has the tables of jobs.
  std::string connection;
  // A job was submitted, begun, cancelled or ended, or its request to cancel
  // changed. Empty: any may have, because the feed has just begun to listen.
  std::function<void(const std::string& job_id)> on_state;
  // A job has new progress.
  std::function<void(const std::string& job_id)> on_progress;
  // The feed cannot listen and tries again; then OK.
  std::function<void(const absl::Status&)> on_connection;
};

// Tells at once what other coordinators do to the jobs of a shared database, so
// that nobody need look all the time: PostgreSQL's LISTEN and NOTIFY, on a
// connection of its own, with triggers on the table of jobs. Nothing
// is told while the feed cannot listen, so who listens must look now and then
// even so. Callbacks come from one thread. Thread-safe.
class JobFeed {
 public:
  static std::unique_ptr<JobFeed> Start(JobFeedOptions options);

  virtual ~JobFeed() = default;  // No callback comes afterwards.
  virtual bool is_listening() const = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_STORE_JOB_FEED_H_
