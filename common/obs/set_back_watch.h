#ifndef TANGRAM_COMMON_OBS_SET_BACK_WATCH_H_
#define TANGRAM_COMMON_OBS_SET_BACK_WATCH_H_

#include <optional>

namespace tangram {

// Notices that the clock of the machine was set back. Waits of gRPC that began
// before then last that much longer, so that it reads new certificates late.
// Not thread-safe.
class SetBackWatch {
 public:
  // Less is what NTP corrects every day.
  static constexpr double kLeastS = 5;

  // Returns the seconds by which the clock was set back since the last look; 0
  // if by less than kLeastS. `unix_s` is the time that it shows, `steady_s`
  // that of a clock that never jumps.
  double Look(double unix_s, double steady_s) {
    const double ahead_s = unix_s - steady_s;
    const double back_s = last_ahead_s_.value_or(ahead_s) - ahead_s;
    last_ahead_s_ = ahead_s;
    return back_s < kLeastS ? 0 : back_s;
  }

 private:
  std::optional<double> last_ahead_s_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_OBS_SET_BACK_WATCH_H_
