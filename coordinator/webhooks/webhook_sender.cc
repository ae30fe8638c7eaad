#include "coordinator/webhooks/webhook_sender.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/sync/mutex.h"
#include "coordinator/webhooks/webhook_signature.h"

namespace tangram {

WebhookSender::WebhookSender(JobStore& store, WebhookOptions options)
    : store_(store), options_(std::move(options)) {
  if (options_.secret.empty()) return;
  for (int i = 0; i < options_.num_threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { Run(stop); });
  }
}

void WebhookSender::Run(const std::stop_token& stop) {
  Mutex mutex;
  StoppableConditionVariable wake;
  const MutexLock lock(mutex);
  while (!stop.stop_requested()) {
    if (SendNext()) continue;
    wake.WaitFor(mutex, stop,
                 std::chrono::duration<double>(options_.poll_interval_s),
                 [] { return false; });
  }
}

bool WebhookSender::SendNext() {
  const absl::StatusOr<std::optional<DueEvent>> due = store_.TakeDueEvent();
  // A failure of the store is counted and logged elsewhere.
  if (!due.ok() || !due->has_value()) return false;
  const Job& job = (*due)->job;
  const absl::Status sent = Send(**due);
  options_.on_attempt(sent.ok());
  if (sent.ok()) {
    // If this fails, the receiver hears twice.
    store_.SettleEvent(job.id).IgnoreError();
    return true;
  }
  failures_.Tell(absl::StrCat(
      "job ", job.id, ": ", sent.message(),
      (*due)->tries < kMaxEventTries ? "; it is tried again" : "; given up"));
  return true;
}

absl::Status WebhookSender::Send(const DueEvent& event) const {
  const Job& job = event.job;
  // The same for all attempts, so that receivers can tell repetitions.
  const std::string id =
      absl::StrCat(job.id, ":", static_cast<int64_t>(job.finished_s * 1e6));
  const auto now_s = static_cast<int64_t>(options_.unix_now_s());
  const std::string body = options_.body(job);
  const std::string key = WebhookKeyOf(options_.secret, job.share_key);
  return PostWebhook(
      {.url = job.webhook,
       .headers = {"content-type: application/json",
                   absl::StrCat("webhook-id: ", id),
                   absl::StrCat("webhook-timestamp: ", now_s),
                   absl::StrCat("webhook-signature: ",
                                SignWebhook(key, id, now_s, body))},
       .body = body,
       .allow_private = options_.allow_private,
       .timeout_s = options_.timeout_s});
}

}  // namespace tangram
