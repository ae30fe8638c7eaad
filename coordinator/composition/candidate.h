#ifndef TANGRAM_COORDINATOR_COMPOSITION_CANDIDATE_H_
#define TANGRAM_COORDINATOR_COMPOSITION_CANDIDATE_H_

#include <vector>

#include "common/domain/model_slice.h"
#include "common/domain/slice_plan.h"

namespace tangram {

// The properties of a slice plan that the composition needs. Times are those of
// one microbatch, except for synchronisation, which is that of an iteration.
struct Candidate {
  double slowest_s = 0;     // max over its stages of t_s.
  double latency_s = 0;     // Σ over its stages of t_s.
  double last_stage_s = 0;  // The last stage, which pays for the next transfer.
  double backward_s = 0;    // Sum of the stages' backward passes.
  // Synchronisation that the slice's own cool-down leaves exposed:
  // max_s (sync_s − Σ_{i<s} backward_i).
  double exposed_sync_s = 0;
  int num_stages = 0;
  int num_gpus = 0;
  int max_trailing_stages = 0;  // With more, the plan does not fit.
  int first_stage_gpus = 0;
  int last_stage_gpus = 0;
};

// Returns the candidate of a slice plan with at least one stage.
Candidate MakeCandidate(const SlicePlan& plan);

// The slice plans of one pair that are known so far.
struct PairCandidates {
  std::vector<Candidate> candidates;
  // With up to this many trailing stages, `candidates` holds all plans that
  // fit. With more, asking again may bring others (SlicePlanSet).
  int covers_trailing_stages = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COMPOSITION_CANDIDATE_H_
