#ifndef TANGRAM_COMMON_BASE_STOP_POLL_H_
#define TANGRAM_COMMON_BASE_STOP_POLL_H_

#include <cstdint>
#include <functional>
#include <utility>

namespace tangram {

// Polls a `should_stop` from inside a long computation. A poll may read a clock
// or ask the network, so it is made only after much work. Not thread-safe.
class StopPoll {
 public:
  // A step of work takes up to 100 ns, so polls are milliseconds apart.
  static constexpr int64_t kStepsBetweenPolls = 1 << 15;

  StopPoll() = default;
  // `should_stop` may be empty, which never stops.
  explicit StopPoll(std::function<bool()> should_stop)
      : should_stop_(std::move(should_stop)) {}

  // Counts `steps` of work. Returns true once `should_stop` has returned true.
  bool After(int64_t steps) {
    steps_left_ -= steps;
    if (steps_left_ > 0) return stopped_;
    steps_left_ = kStepsBetweenPolls;
    if (!stopped_ && should_stop_) stopped_ = should_stop_();
    return stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  std::function<bool()> should_stop_;
  int64_t steps_left_ = kStepsBetweenPolls;
  bool stopped_ = false;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_BASE_STOP_POLL_H_
