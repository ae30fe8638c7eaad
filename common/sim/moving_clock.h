#ifndef TANGRAM_COMMON_SIM_MOVING_CLOCK_H_
#define TANGRAM_COMMON_SIM_MOVING_CLOCK_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/numeric/int128.h"

namespace tangram {

// A time that equals at + k·speed after k periods, in ticks.
struct MovingTime {
  absl::int128 at = 0;
  absl::int128 speed = 0;  // Per period.

  MovingTime operator+(const MovingTime& other) const {
    return {at + other.at, speed + other.speed};
  }
  bool operator>(const MovingTime& other) const { return at > other.at; }
};

// A clock for PipelinePlayer that finds the number of periods for which every
// maximum keeps its winner.
class MovingClock {
 public:
  using Time = MovingTime;

  // No maximum changes its winner.
  static constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

  // `latest_s` is an upper bound of all times. With it, no time and no sum of
  // 2^20 times overflows.
  explicit MovingClock(double latest_s) {
    int exponent = 0;
    std::frexp(latest_s, &exponent);  // latest_s < 2^exponent.
    exponent_ = kBits - exponent;
  }

  // Converts a duration. The result is exact unless the duration is less than
  // 2^-47 of `latest_s`.
  Time FromSeconds(double seconds) const {
    return {absl::int128(std::ldexp(seconds, exponent_)), 0};
  }
  double ToSeconds(const Time& time) const {
    return std::ldexp(static_cast<double>(time.at), -exponent_);
  }

  // Returns the later time; of equal ones, the faster. While watching, lowers
  // the horizon to the last period before the loser overtakes:
  //   ⌊(winner.at − loser.at) / (loser.speed − winner.speed)⌋.
  Time Later(const Time& a, const Time& b) {
    const bool is_a = a.at != b.at ? a.at > b.at : a.speed >= b.speed;
    const Time& winner = is_a ? a : b;
    const Time& loser = is_a ? b : a;
    if (is_watching_ && loser.speed > winner.speed) {
      const absl::int128 periods =
          (winner.at - loser.at) / (loser.speed - winner.speed);
      if (periods < horizon_) horizon_ = static_cast<int64_t>(periods);
    }
    return winner;
  }

  // From here on, Later lowers the horizon.
  void Watch() {
    is_watching_ = true;
    horizon_ = kForever;
  }
  // Returns the number of periods for which no maximum since Watch changes its
  // winner.
  int64_t StopWatching() {
    is_watching_ = false;
    return horizon_;
  }

 private:
  // Sums of 2^20 times stay below 2^120, within the 127 bits of an int128.
  static constexpr int kBits = 100;

  int exponent_ = 0;
  bool is_watching_ = false;
  int64_t horizon_ = kForever;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_MOVING_CLOCK_H_
