#include "coordinator/webhooks/webhook_sender.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/webhooks/webhook_signature.h"

namespace tangram {

WebhookSender::WebhookSender(JobStore& store, WebhookOptions options)
    : store_(store), options_(std::move(options)) {
  if (options_.secret.empty()) return;
  for (int i = 0; i < options_.num_threads; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { Run(stop); });
  }
}

WebhookSender::~WebhookSender() {
  // All at once, so that they end within the time of one attempt.
  for (std::jthread& thread : threads_) thread.request_stop();
}

void WebhookSender::Run(const std::stop_token& stop) {
  const MutexLock lock(mutex_);
  while (const std::optional<DueEvent> event = Take(stop)) {
    const std::string& tenant = event->job.share_key;
    {
      const MutexUnlock unlock(mutex_);
      Tell(*event);
    }
    if (--under_way_[tenant] == 0) under_way_.erase(tenant);
    ++num_ended_;
    changed_.NotifyAll();
  }
}

std::optional<DueEvent> WebhookSender::Take(const std::stop_token& stop) {
  if (!changed_.Wait(mutex_, stop,
                     [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                       return !is_looking_;
                     })) {
    return std::nullopt;
  }
  is_looking_ = true;
  std::optional<DueEvent> event;
  while (!event.has_value() && !stop.stop_requested()) {
    const EventTurn turn = Turn();
    const int64_t num_ended = num_ended_;
    absl::StatusOr<std::optional<DueEvent>> due;
    {
      const MutexUnlock unlock(mutex_);
      due = store_.TakeDueEvent(turn);
    }
    // A failure of the store is counted and logged elsewhere.
    if (due.ok()) event = *std::move(due);
    if (event.has_value()) break;
    changed_.WaitFor(mutex_, stop,
                     std::chrono::duration<double>(options_.poll_interval_s),
                     [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                       return !turn.busy.empty() && num_ended_ != num_ended;
                     });
  }
  if (event.has_value()) {
    last_ = event->job.share_key;
    ++under_way_[last_];
  }
  is_looking_ = false;
  changed_.NotifyAll();
  return event;
}

EventTurn WebhookSender::Turn() const {
  EventTurn turn{.last = last_};
  for (const auto& [tenant, num] : under_way_) {
    if (num >= options_.max_of_tenant) turn.busy.push_back(tenant);
  }
  return turn;
}

void WebhookSender::Tell(const DueEvent& event) {
  const Job& job = event.job;
  const absl::Status sent = Send(event);
  options_.on_attempt(sent.ok());
  if (sent.ok()) {
    // If this fails, the receiver hears twice.
    store_.SettleEvent(job).IgnoreError();
    return;
  }
  failures_.Tell(absl::StrCat(
      "job ", job.id, ": ", sent.message(),
      event.tries < kMaxEventTries ? "; it is tried again" : "; given up"));
}

absl::Status WebhookSender::Send(const DueEvent& event) const {
  const Job& job = event.job;
  // The same for all attempts, so that receivers can tell repetitions.
  const std::string id =
      absl::StrCat(job.id, ":", static_cast<int64_t>(job.finished_s * 1e6));
  const auto now_s = static_cast<int64_t>(options_.unix_now_s());
  const std::string body = options_.body(job);
  const std::string key = WebhookKeyOf(options_.secret, job.share_key);
  return options_.post(
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
