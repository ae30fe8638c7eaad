#include "worker/service/stream_times.h"

#include "common/base/infinity.h"

namespace tangram {

void StreamTimes::OnWrite(double now_s) {
  wrote_s_ = now_s;
  if (!asked_s_.has_value()) asked_s_ = now_s;
}

bool StreamTimes::OnRead(double allowed_s) {
  asked_s_.reset();
  const double before_s = allowed_s_;
  allowed_s_ = allowed_s > 0 ? allowed_s : options_.heartbeat_s;
  return allowed_s_ < before_s;
}

double StreamTimes::LostAtS() const {
  return asked_s_.has_value() ? *asked_s_ + options_.silence_limit_s
                              : kInfinity;
}

}  // namespace tangram
