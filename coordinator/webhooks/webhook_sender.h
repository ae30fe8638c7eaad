#ifndef TANGRAM_COORDINATOR_WEBHOOKS_WEBHOOK_SENDER_H_
#define TANGRAM_COORDINATOR_WEBHOOKS_WEBHOOK_SENDER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/obs/sparse_warning.h"
#include "common/sync/mutex.h"
#include "coordinator/store/job_store.h"

namespace tangram {

// POSTs `body` with these header lines. Errors: kUnavailable with the reason,
// also for any status but 2xx.
struct WebhookPost {
  std::string url;
  std::vector<std::string> headers;
  std::string body;
  bool allow_private = false;
  double timeout_s = 10;
};
absl::Status PostWebhook(const WebhookPost& post);

struct WebhookOptions {
  std::string secret;  // Empty: no events are sent.
  // Whether addresses of private networks and plain http are allowed.
  bool allow_private = false;
  int num_threads = 16;
  // Attempts at the same time for one tenant. Its endpoints may let each wait
  // for its whole time, and the others must not wait for them.
  int max_of_tenant = 4;
  double poll_interval_s = 1;
  double timeout_s = 5;  // For one attempt; the destructor may wait so long.
  std::function<double()> unix_now_s;
  // Returns the body of the event, JSON.
  std::function<std::string(const Job&)> body;
  // Called when an attempt has ended.
  std::function<void(bool succeeded)> on_attempt = [](bool) {};
  std::function<absl::Status(const WebhookPost&)> post = PostWebhook;
};

// Tells webhooks of the ends of jobs in the store: each once if all goes well,
// and again after failures (JobStore::TakeDueEvent). Tenants take turns.
// Several coordinators may share the store. Redirects are not followed, no
// proxy is used, and the answer counts only as a status. Thread-safe.
class WebhookSender {
 public:
  // `store` must outlive the sender.
  WebhookSender(JobStore& store, WebhookOptions options);
  ~WebhookSender();

 private:
  void Run(const std::stop_token& stop);
  // Takes the next event, once there is one. One thread looks at a time.
  // Nothing if `stop` is requested.
  std::optional<DueEvent> Take(const std::stop_token& stop)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells of one end.
  void Tell(const DueEvent& event);
  absl::Status Send(const DueEvent& event) const;
  EventTurn Turn() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  JobStore& store_;
  const WebhookOptions options_;
  SparseWarning failures_{"a webhook has failed"};

  Mutex mutex_;
  StoppableConditionVariable changed_;
  bool is_looking_ ABSL_GUARDED_BY(mutex_) = false;
  // Attempts that have ended: what was left out may be taken now.
  int64_t num_ended_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string last_ ABSL_GUARDED_BY(mutex_);  // Tenant that was taken last.
  // Attempts under way, by tenant.
  std::map<std::string, int> under_way_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_WEBHOOKS_WEBHOOK_SENDER_H_
