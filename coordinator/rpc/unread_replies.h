#ifndef TANGRAM_COORDINATOR_RPC_UNREAD_REPLIES_H_
#define TANGRAM_COORDINATOR_RPC_UNREAD_REPLIES_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/sync/mutex.h"

namespace tangram {

// Messages to callers that their connections have not taken. A caller that
// reads none and keeps its connection would make the service hold them for as
// long. So once they take more than a limit, the calls end whose messages have
// waited longest. Thread-safe.
class UnreadReplies {
 public:
  // A message that has waited for less, in seconds, ends no call: a connection
  // takes what its caller reads in a fraction of it.
  static constexpr double kLeastWaitS = 1;

  // `max_bytes` 0: no limit. `now_s` never goes back. `on_ended` is called for
  // each call that ends, from any thread; it must be quick.
  UnreadReplies(
      int64_t max_bytes, std::function<double()> now_s,
      std::function<void()> on_ended = [] {})
      : max_bytes_(max_bytes),
        now_s_(std::move(now_s)),
        on_ended_(std::move(on_ended)) {}

 private:
  struct Waiting {
    int64_t bytes = 0;
    double began_s = 0;
    std::function<void()> end_call;
    bool is_ended = false;
  };

 public:
  // A place for one message of a call. The replies must outlive it.
  // Thread-compatible.
  class Reply {
   public:
    explicit Reply(UnreadReplies& all) : all_(all) {}
    Reply(const Reply&) = delete;
    Reply& operator=(const Reply&) = delete;
    ~Reply() { Drop(); }

    // Counts a message. The place must be empty. `end_call` ends the call. It
    // is called at most once, before Drop returns, and may not call Drop.
    void Hold(int64_t bytes, std::function<void()> end_call);
    // The connection has taken the message, or has ended.
    void Drop();

   private:
    UnreadReplies& all_;
    std::optional<std::list<Waiting>::iterator> place_;  // Where a message is.
  };

  // Counts a message as Reply::Hold does until the handle is dropped.
  std::shared_ptr<void> Hold(int64_t bytes, std::function<void()> end_call) {
    auto reply = std::make_shared<Reply>(*this);
    reply->Hold(bytes, std::move(end_call));
    return reply;
  }

 private:
  void EndSlowest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t max_bytes_;
  const std::function<double()> now_s_;
  const std::function<void()> on_ended_;
  Mutex mutex_;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;           // In waiting_.
  std::list<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // Oldest first.
  std::list<Waiting> ended_ ABSL_GUARDED_BY(mutex_);    // Their calls end.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_UNREAD_REPLIES_H_
