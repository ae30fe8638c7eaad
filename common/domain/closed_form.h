#ifndef TANGRAM_COMMON_DOMAIN_CLOSED_FORM_H_
#define TANGRAM_COMMON_DOMAIN_CLOSED_FORM_H_

#include <algorithm>

namespace tangram {

// The closed form of the iteration time that searches minimise:
//   latency + (B − 1) · slowest + exposed,
// with latency = Σ t_s, slowest = max t_s over the times t_s of the stages for
// one of B microbatches, and exposed the synchronisation that no pass hides.
//
// Compared with the played 1F1B schedule, with t_s = forward + backward + both
// transfers to the next stage, according to property tests (not a proof), it is
// equal for equal stages without transfers. It is never less if all stages have
// the same backward : forward ratio. If ratios differ by up to 1.5 (some stages
// recompute), it is less by at most 1 %, because a stage may wait for a forward
// pass of its warm-up while a backward pass is ready. It is more by at most Σ
// t_s of the stages behind the slowest, plus the part of the transfers that
// overlaps with passes. If transfers block, a stage between two others pays for
// both boundaries, but the closed form counts one.
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
