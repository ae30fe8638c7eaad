#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ORDER_FINALISTS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ORDER_FINALISTS_H_

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "common/planner/cluster_planner.h"
#include "coordinator/planners/tangram/pair_search.h"
#include "coordinator/planners/tangram/played_order.h"
#include "coordinator/planners/tangram/search_space.h"
#include "coordinator/planners/tangram/slice_ends.h"
#include "coordinator/planners/tangram/slice_times.h"

namespace tangram {

// The most slice plans at positions of the model in one search, and the most
// stages of all its slice plans. They take 20 MB each.
inline constexpr size_t kMaxPlayedSlices = 500'000;
inline constexpr size_t kMaxPlayedStages = 300'000;

// A composition of slice plans.
struct OrderedFinalist {
  Finalist finalist;
  // Whether no other on its islands that is left is faster. Else a dive has
  // found it, so that the limit falls.
  bool is_fastest = true;
};

// Returns the compositions of the slice plans in a store in order of their
// simulated times (PlayedOrder), over all microbatch sizes. PairSearch orders
// them by closed form, which counts a transfer as if nothing ran beside it.
class OrderFinalists {
 public:
  // All arguments must outlive this object.
  OrderFinalists(const SearchSpace& space, PairSearch& search,
                 SliceTimes& times, PlanObserver& observer)
      : space_(space), search_(search), times_(times), observer_(observer) {}

  // Returns the next composition that takes less than `limit_s`. Those of dives
  // come first, and may come again. With a larger limit than in the call
  // before, the search begins again, with more slice plans. Then a limit that
  // ends it leaves is_exact() as it is. Empty: none is left, or is_exact() is
  // false. Errors: kCancelled.
  absl::StatusOr<std::optional<OrderedFinalist>> Next(double limit_s);

  // No more compositions on exactly these islands (a bit each) are wanted.
  void Settle(uint32_t islands) {
    settled_.push_back(islands);
    order_->Settle(islands);
  }

  // False once a limit ended the search. Then a faster composition may exist.
  bool is_exact() const {
    return began_again_ ||
           (is_exact_ && (order_ == nullptr || order_->is_exact()));
  }

 private:
  // The pair and the plan behind PlayedPlan.
  struct Source {
    PairId pair;
    int plan = 0;
    SliceEnds::Ends ends;
  };

  bool IsTooLarge() const {
    return num_slices_ > kMaxPlayedSlices || num_stages_ > kMaxPlayedStages;
  }
  void BeginAgain();
  absl::Status Build(double limit_s);
  absl::StatusOr<std::optional<PlayedPipeline>> Dive(double limit_s);
  OrderedFinalist FinalistOf(const PlayedPipeline& pipeline,
                             bool is_fastest) const;
  absl::StatusOr<PlayedProblem> ProblemOf(int microbatch, double limit_s);
  void AddFunctions(int microbatch, PlayedProblem& problem);
  void AddPlans(const PairId& pair, int island, double limit_s,
                PlayedProblem& problem);

  const SearchSpace& space_;
  PairSearch& search_;
  SliceTimes& times_;
  PlanObserver& observer_;
  std::vector<std::vector<Source>> sources_;      // [problem][plan].
  std::vector<std::vector<PlayedSlice>> slices_;  // [problem][slice].
  std::vector<SliceEnds> ends_;                   // [problem]
  std::unique_ptr<PlayedOrder> order_;
  size_t num_slices_ = 0;
  size_t num_stages_ = 0;
  std::vector<uint32_t> settled_;
  double limit_s_ = 0;  // In the last call.
  int num_dives_ = 0;
  bool has_dived_last_ = false;
  bool began_again_ = false;  // The search to the first limit was exact.
  bool is_exact_ = true;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_ORDER_FINALISTS_H_
