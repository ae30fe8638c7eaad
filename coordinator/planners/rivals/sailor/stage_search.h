#ifndef TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_STAGE_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_STAGE_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "coordinator/planners/rivals/sailor/path_table.h"
#include "coordinator/planners/rivals/sailor/region_orders.h"
#include "coordinator/planners/rivals/sailor/sailor_input.h"
#include "coordinator/planners/rivals/sailor/stage_chains.h"
#include "coordinator/planners/rivals/sailor/state_memo.h"

namespace tangram::sailor {

// Work done and allowed, over the searches of one size of microbatch.
struct Effort {
  int64_t steps = 0;  // Mixes of GPU types looked at.
  int64_t most = 0;   // 0: any.
  absl::FunctionRef<bool()> should_stop;
  bool stopped = false;    // The search ends now.
  bool truncated = false;  // It ended at `most` once.
  bool told = false;       // It was told to stop.

  // Allows so many steps in all, if it was not told to stop.
  void Allow(int64_t steps_in_all) {
    most = steps_in_all;
    stopped = told;
  }

  // Counts a step. Returns whether the search may go on.
  bool Step() {
    if (stopped) return false;
    ++steps;
    told = (steps & 0xFFF) == 0 && should_stop();
    stopped = told || (most > 0 && steps > most);
    truncated = truncated || (stopped && !told);
    return !stopped;
  }
};

// The dynamic program of Sailor (§4.2): which GPU types and zones hold the
// replicas of each stage, for one size of microbatch, one dp degree and one
// objective at a time. A state is a chain of stages and the GPUs that are left
// in its region. Its answer is the best of the mixes of GPU types for the first
// stage, each with the best answer for the stages behind it. A pipeline that
// has left a region does not return.
class StageSearch {
 public:
  // Refers to all arguments. Plans that must take more than `limit_s`, which
  // may become less, are left out.
  StageSearch(const Input& input, const Rules& rules, const PathTable& paths,
              const std::vector<Region>& regions,
              const std::vector<std::vector<int>>& orders,
              const StageChains& chains, Objective objective,
              const double& limit_s, Effort& effort);

  // Sets the dp degree of the next calls of Solve, and forgets all states.
  void Begin(int dp, int num_microbatches);

  // No plan of the pipeline whose first stage has index `first` takes less.
  double LeastSeconds(int first) const;

  // The best plan of the pipeline whose first stage has index `first`, through
  // the regions of orders[order]. Its Plan::samples is not set.
  std::optional<Plan> Solve(int first, int order);

 private:
  // The best way to run a chain with the GPUs left.
  struct Partial {
    double iteration_s = 0;
    double slowest_s = 0;    // The slowest stage with its transfers.
    double first_s = 0;      // The pass of the first stage, and its transfer
                             // unless it is the last.
    double passes_s = 0;     // Sum over stages, of one microbatch.
    double transfers_s = 0;  // Likewise, both ways.
    double reduce_s = 0;     // The longest of a stage.
    double update_s = 0;     // Likewise.
    double dollars_per_s = 0;
    double transfer_dollars = 0;
    int stage = 0;      // Index into the chains.
    int next = -1;      // Partial of the stages behind.
    int first_run = 0;  // Its replicas, in runs_.
    int num_runs = 0;

    double dollars() const {
      return iteration_s * dollars_per_s + transfer_dollars;
    }
  };
  struct Run {
    int zone = 0;
    int type = 0;
    int end = 0;  // Index of the endpoint.
    int count = 0;
  };
  using Runs = absl::InlinedVector<Run, 4>;
  // GPUs left, by zone and type.
  using Counts = absl::InlinedVector<int32_t, 8>;
  using Mix = absl::InlinedVector<int32_t, 8>;  // Replicas by type.

  // Index of the best partial pipeline of a chain whose first stage is in the
  // region at `position` of the order. -1: there is none.
  int SolveChain(int stage, int position, const Counts& counts);
  int SolveMixes(int stage, int position, const Counts& counts);
  // The position of the stages behind one. -1: no region holds the next one.
  int PositionBehind(const ChainStage& stage, int position,
                     const Counts& counts) const;
  // Gives `left` replicas to the types from `type` on, and visits each mix.
  void VisitMixes(const Mix& available, int type, int left, Mix& mix,
                  absl::FunctionRef<void(const Mix&)> visit) const;
  // The counts of a type to look at, of those from `least` to `most`, if `left`
  // replicas are left for it and the types behind it.
  Mix CountsOf(int type, int least, int most, int left) const;
  Mix ReplicasLeft(const ChainStage& stage, int region,
                   const Counts& counts) const;
  bool MayFit(const ChainStage& stage, int position,
              const Counts& counts) const;
  // Takes the GPUs of the mix zone by zone.
  Runs Place(const ChainStage& stage, int region, const Mix& mix,
             Counts& counts) const;
  std::optional<Partial> Alone(int stage, absl::Span<const Run> runs);
  std::optional<double> ReduceTimeOf(int stage, absl::Span<const Run> runs);
  std::optional<Partial> Before(const Partial& first,
                                absl::Span<const Run> runs, int rest);
  double SendTimeOf(int stage, int path);
  bool IsBetter(const Partial& a, const Partial& b) const;
  void SetKey(int stage, int position, const Counts& counts);
  Plan PlanOf(int partial) const;

  const Input& input_;
  const Rules& rules_;
  const PathTable& paths_;
  const std::vector<Region>& regions_;
  const std::vector<std::vector<int>>& orders_;
  const StageChains& chains_;
  const Objective objective_;
  const double& limit_s_;
  Effort& effort_;
  const int num_types_;
  int order_ = 0;  // The pipeline now solved has it.
  int dp_ = 1;
  int num_microbatches_ = 1;
  StateMemo memo_;
  std::vector<int32_t> key_;
  std::vector<Partial> partials_;
  std::vector<Run> runs_;
  // By stage of the chains and path; negative: not yet known.
  std::vector<double> reduce_s_;
  std::vector<double> send_s_;
};

}  // namespace tangram::sailor

#endif  // TANGRAM_COORDINATOR_PLANNERS_RIVALS_SAILOR_STAGE_SEARCH_H_
