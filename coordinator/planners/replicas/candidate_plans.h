#ifndef TANGRAM_COORDINATOR_PLANNERS_REPLICAS_CANDIDATE_PLANS_H_
#define TANGRAM_COORDINATOR_PLANNERS_REPLICAS_CANDIDATE_PLANS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "common/domain/pipeline_plan.h"
#include "common/planner/cluster_planner.h"
#include "common/sim/evaluate_plan.h"
#include "coordinator/planners/replicas/node_groups.h"

namespace tangram {

// A plan of one pipeline on the first nodes of each island of a group.
struct CandidatePlan {
  NodeGroup nodes;
  PipelinePlan plan;
  bool operator==(const CandidatePlan&) const = default;
};

// Plays plans of one pipeline with any number of microbatches, each once.
class CandidatePlans {
 public:
  // `request` must outlive it.
  CandidatePlans(const PlanRequest& request,
                 std::vector<CandidatePlan> candidates)
      : request_(request), candidates_(std::move(candidates)) {}

  size_t size() const { return candidates_.size(); }
  const CandidatePlan& operator[](size_t c) const { return candidates_[c]; }
  int MicrobatchSize(size_t c) const {
    return candidates_[c].plan.pipeline_microbatch_size;
  }

  // Returns candidate `c` with so many microbatches, if it keeps 1/`sharing` of
  // the optimizer state. Valid as long as this. Null: it does not fit or is not
  // valid.
  const Evaluation* Played(size_t c, int num_microbatches, int sharing);

  // Returns the most microbatches of candidate `c`, at most `most`, whose
  // `end_of` is less than `limit_s`; 0 if there are none. The end and the
  // memory of a plan grow with its microbatches.
  int MostMicrobatches(size_t c, int most, int sharing, double limit_s,
                       const std::function<double(const Evaluation&)>& end_of);

  // Returns the number of which the microbatches of candidate `c` must be a
  // multiple.
  int StepOf(size_t c) const;

 private:
  const PlanRequest& request_;
  const std::vector<CandidatePlan> candidates_;
  // By candidate, microbatches and sharing.
  std::map<std::tuple<size_t, int, int>, std::optional<Evaluation>> played_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_REPLICAS_CANDIDATE_PLANS_H_
