#include "coordinator/rpc/unread_replies.h"

namespace tangram {

void UnreadReplies::Reply::Hold(int64_t bytes, std::function<void()> end_call) {
  Waiting waiting{.bytes = bytes,
                  .began_s = all_.now_s_(),
                  .end_call = std::move(end_call)};
  const MutexLock lock(all_.mutex_);
  place_ = all_.waiting_.insert(all_.waiting_.end(), std::move(waiting));
  all_.bytes_ += bytes;
  all_.EndSlowest();
}

void UnreadReplies::Reply::Drop() {
  if (!place_.has_value()) return;
  const auto place = *std::exchange(place_, std::nullopt);
  const MutexLock lock(all_.mutex_);
  if (place->is_ended) {
    all_.ended_.erase(place);
    return;
  }
  all_.bytes_ -= place->bytes;
  all_.waiting_.erase(place);
}

void UnreadReplies::EndSlowest() {
  if (max_bytes_ == 0 || bytes_ <= max_bytes_) return;
  const double latest_s = now_s_() - kLeastWaitS;
  while (bytes_ > max_bytes_ && waiting_.front().began_s <= latest_s) {
    Waiting& slowest = waiting_.front();
    slowest.is_ended = true;
    bytes_ -= slowest.bytes;
    ended_.splice(ended_.end(), waiting_, waiting_.begin());
    slowest.end_call();
    on_ended_();
  }
}

}  // namespace tangram
