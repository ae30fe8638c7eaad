#ifndef TANGRAM_COORDINATOR_COMPOSITION_CANDIDATE_H_
#define TANGRAM_COORDINATOR_COMPOSITION_CANDIDATE_H_

#include <vector>

#include "common/domain/model_slice.h"
#include "common/domain/slice_plan.h"

namespace tangram {

// A slice plan as the composition sees it.
struct Candidate {
  double slowest_s = 0;
  double latency_s = 0;
  double last_stage_s =
      0;                  // The stage that pays for the transfer that follows.
  double backward_s = 0;  // Sum of the stages' backward passes.
  // Synchronisation that the slice's own cool-down leaves exposed:
  // max_s (sync_s − Σ_{i<s} backward_i).
  double exposed_sync_s = 0;
  int num_stages = 0;
  int num_gpus = 0;
  int max_trailing_stages = 0;
  int first_stage_gpus = 0;
  int last_stage_gpus = 0;
};

Candidate MakeCandidate(const SlicePlan& plan);

// What is known of one pair so far.
struct PairCandidates {
  std::vector<Candidate> candidates;
  // With up to this many trailing stages `candidates` holds all that fit; with
  // more, asking again may bring others. See SlicePlanSet.
  int covers_trailing_stages = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COMPOSITION_CANDIDATE_H_
