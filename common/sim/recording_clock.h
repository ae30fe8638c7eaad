#ifndef TANGRAM_COMMON_SIM_RECORDING_CLOCK_H_
#define TANGRAM_COMMON_SIM_RECORDING_CLOCK_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/numeric/int128.h"
#include "common/sim/max_plus_program.h"

namespace tangram {

// A clock for PipelinePlayer that can record how later times are made from
// earlier ones. Sums of its times are exact. Not thread-safe.
class RecordingClock {
 public:
  struct Time {
    Ticks at = 0;
    int32_t index = 0;  // Among the times of the program, while recording.
  };
  using Duration = Ticks;

  // `longest_s` is an upper bound of the durations that are recorded,
  // `latest_s` of all times.
  RecordingClock(double longest_s, double latest_s)
      : exponent_(std::min(kDurationBits - ExponentOf(longest_s),
                           kTimeBits - ExponentOf(latest_s))) {}

  // Converts a duration, to the nearest tick.
  Duration FromSeconds(double seconds) const {
    return absl::int128(std::nearbyint(std::ldexp(seconds, exponent_)));
  }
  double ToSeconds(const Time& time) const {
    return std::ldexp(static_cast<double>(time.at), -exponent_);
  }

  Time After(const Time& time, Duration duration) {
    return {time.at + duration,
            Record({time.index, time.index, static_cast<int64_t>(duration)})};
  }
  Time Later(const Time& a, const Time& b) {
    return {std::max(a.at, b.at), Record({a.index, b.index, 0})};
  }

  // Starts a program. The caller has set the indices of all its times to 0, 1,
  // ... `num_inputs` − 1.
  void StartRecording(int32_t num_inputs) {
    next_index_ = num_inputs;
    steps_.clear();
    is_recording_ = true;
  }
  // Returns the steps since StartRecording.
  std::vector<MaxPlusStep> StopRecording() {
    is_recording_ = false;
    return std::move(steps_);
  }

 private:
  // So the sums of 2^18 durations fit in 60 bits (LongestWalks), and rounding
  // adds at most 2^-43 of the longest duration to each.
  static constexpr int kDurationBits = 42;
  static constexpr int kTimeBits = 110;

  // Returns e with seconds < 2^e.
  static int ExponentOf(double seconds) {
    int exponent = 0;
    std::frexp(seconds, &exponent);
    return exponent;
  }

  int32_t Record(const MaxPlusStep& step) {
    return is_recording_ ? Append(step) : 0;
  }
  // Most passes are not recorded. So this stays out of their way.
  ABSL_ATTRIBUTE_NOINLINE int32_t Append(const MaxPlusStep& step) {
    steps_.push_back(step);
    return next_index_++;
  }

  int exponent_ = 0;
  bool is_recording_ = false;
  int32_t next_index_ = 0;
  std::vector<MaxPlusStep> steps_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_RECORDING_CLOCK_H_
