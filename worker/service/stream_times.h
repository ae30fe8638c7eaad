#ifndef TANGRAM_WORKER_SERVICE_STREAM_TIMES_H_
#define TANGRAM_WORKER_SERVICE_STREAM_TIMES_H_

#include <optional>

#include "common/base/heartbeat.h"

namespace tangram {

// The times of a stream to a coordinator: when the worker must write next, and
// when the coordinator is lost. All are seconds from any origin. Not
// thread-safe.
class StreamTimes {
 public:
  struct Options {
    double heartbeat_s = kHeartbeatS;  // A silence that is always allowed.
    // A coordinator that leaves a message without an answer for longer is lost.
    double silence_limit_s = kHeartbeatS + kMaxDelayS;
  };

  // The stream begins at `now_s`.
  StreamTimes(const Options& options, double now_s)
      : options_(options), wrote_s_(now_s), allowed_s_(options.heartbeat_s) {}

  // A message is about to be written.
  void OnWrite(double now_s);
  // A message was read, which answers all that was written. `allowed_s`: the
  // silence that it allows; 0: none beyond heartbeat_s. Returns whether the
  // next message must be written sooner than before.
  bool OnRead(double allowed_s);

  // Returns when a message must be written, if only an empty one.
  double WriteAtS() const { return wrote_s_ + allowed_s_; }
  // Returns when the coordinator is lost. Infinite if it has answered all.
  double LostAtS() const;

 private:
  const Options options_;
  double wrote_s_;                 // The last message.
  double allowed_s_;               // By the last message that was read.
  std::optional<double> asked_s_;  // The first message without an answer.
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_SERVICE_STREAM_TIMES_H_
