#ifndef TANGRAM_COORDINATOR_WEBHOOKS_WEBHOOK_SENDER_H_
#define TANGRAM_COORDINATOR_WEBHOOKS_WEBHOOK_SENDER_H_

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "common/obs/sparse_warning.h"
#include "coordinator/store/job_store.h"

namespace tangram {

struct WebhookOptions {
  std::string secret;  // Empty: no events are sent.
  // Whether addresses of private networks and plain http are allowed.
  bool allow_private = false;
  int num_threads = 4;
  double poll_interval_s = 1;
  double timeout_s = 5;  // Of one attempt; the destructor may wait so long.
  std::function<double()> unix_now_s;
  // Returns the body of the event, JSON.
  std::function<std::string(const Job&)> body;
  // Called when an attempt has ended.
  std::function<void(bool succeeded)> on_attempt = [](bool) {};
};

// Tells webhooks of the ends of jobs in the store: each once if all goes well,
// and again after failures (JobStore::TakeDueEvent). Several coordinators may
// share the store. Redirects are not followed, no proxy is used, and the answer
// counts only as a status. Thread-safe.
class WebhookSender {
 public:
  // `store` must outlive the sender.
  WebhookSender(JobStore& store, WebhookOptions options);

 private:
  void Run(const std::stop_token& stop);
  // Sends the next event, if there is one.
  bool SendNext();
  absl::Status Send(const DueEvent& event) const;

  JobStore& store_;
  const WebhookOptions options_;
  SparseWarning failures_{"a webhook has failed"};
  std::vector<std::jthread> threads_;
};

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

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_WEBHOOKS_WEBHOOK_SENDER_H_
