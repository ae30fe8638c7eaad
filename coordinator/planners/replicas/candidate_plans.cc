#include "coordinator/planners/replicas/candidate_plans.h"

#include <utility>

#include "absl/status/statusor.h"
#include "common/sim/evaluate_replicated_plan.h"

namespace tangram {

const Evaluation* CandidatePlans::Played(size_t c, int num_microbatches,
                                         int sharing) {
  const auto [place, is_new] =
      played_.try_emplace({c, num_microbatches, sharing});
  std::optional<Evaluation>& played = place->second;
  if (is_new) {
    TrainingOptions training = request_.training;
    training.global_batch_size = num_microbatches * MicrobatchSize(c);
    const StateShare share{.optimizer = 1.0 / sharing};
    absl::StatusOr<Evaluation> evaluation =
        EvaluatePlan(request_.model, request_.cluster, training,
                     candidates_[c].plan, /*timeline=*/nullptr, share);
    if (evaluation.ok() && evaluation->violations.empty()) {
      played = *std::move(evaluation);
    }
  }
  return played.has_value() ? &*played : nullptr;
}

int CandidatePlans::StepOf(size_t c) const {
  const PipelinePlan& plan = candidates_[c].plan;
  return plan.schedule == PipelineSchedule::kInterleaved ? plan.num_devices()
                                                         : 1;
}

int CandidatePlans::MostMicrobatches(
    size_t c, int most, int sharing, double limit_s,
    const std::function<double(const Evaluation&)>& end_of) {
  const int step = StepOf(c);
  int low = 0;
  int high = most / step + 1;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    const Evaluation* played = Played(c, middle * step, sharing);
    const bool ends = played != nullptr && end_of(*played) < limit_s;
    (ends ? low : high) = middle;
  }
  return low * step;
}

}  // namespace tangram
