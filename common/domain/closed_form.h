#ifndef TANGRAM_COMMON_DOMAIN_CLOSED_FORM_H_
#define TANGRAM_COMMON_DOMAIN_CLOSED_FORM_H_

#include <algorithm>

namespace tangram {

// The closed form of the iteration time that searches minimise:
//   latency + (B − 1) · slowest + exposed,
// with latency = Σ t_s, slowest = max t_s over the times t_s of the stages for
// one of B microbatches, and exposed the synchronisation that no pass hides.
// See common/sim/one_f_one_b.h for its relation to the played schedule.
inline double ClosedFormSeconds(double latency_s, double slowest_s,
                                int num_microbatches, double exposed_s = 0) {
  return latency_s + (num_microbatches - 1) * slowest_s + exposed_s;
}

// Computes the closed form from the stages in pipeline order, with
//   exposed = max_s (sync_s − Σ_{i<s} backward_i)⁺:
// a stage that finishes early hides its synchronisation behind the backward
// passes of the stages before it.
class ClosedForm {
 public:
  // `time_s` and its share `backward_s` are of one microbatch; `sync_s` is once
  // an iteration.
  void AddStage(double time_s, double backward_s, double sync_s) {
    latency_s_ += time_s;
    slowest_s_ = std::max(slowest_s_, time_s);
    exposed_s_ = std::max(exposed_s_, sync_s - backward_before_s_);
    backward_before_s_ += backward_s;
  }
  double Seconds(int num_microbatches) const {
    return ClosedFormSeconds(latency_s_, slowest_s_, num_microbatches,
                             exposed_s_);
  }

 private:
  double latency_s_ = 0;
  double slowest_s_ = 0;
  double exposed_s_ = 0;
  double backward_before_s_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_CLOSED_FORM_H_
