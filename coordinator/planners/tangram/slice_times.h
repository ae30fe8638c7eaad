#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_TIMES_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_TIMES_H_

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/domain/slice_plan.h"
#include "common/planner/cluster_planner.h"
#include "common/sim/play_pipeline.h"
#include "common/sim/stage_placement.h"
#include "coordinator/planners/tangram/pair_store.h"
#include "coordinator/planners/tangram/search_space.h"
#include "coordinator/planners/tangram/shared_stage_times.h"

namespace tangram {

// The most stages whose times are kept and not shared. They take 20 MB.
inline constexpr size_t kMaxTimedStages = 200'000;

// Times the stages of slice plans as the evaluator does, on the GPUs that they
// would have. So the times hold whatever a parallelizer claims. Transfers count
// as not blocking, which is never slower. Remembers up to
// kMaxTimedStages stages. Not thread-safe.
class SliceTimes {
 public:
  // The arguments must outlive this object. `shared` may be null.
  SliceTimes(const SearchSpace& space, const PairStore& store,
             const PlanRequest& request, SharedStageTimes* shared = nullptr);

  // Returns the times of PairStore::PlansOf(pair) on `island`, for one pipeline
  // microbatch. They are the same at every position of the slice, and on alike
  // islands. The last stage has no transfers. Valid until the next call.
  const TimesOfPlans& TimesOf(const PairId& pair, int island);

  // The last stage of one slice and the first stage of the next.
  struct Boundary {
    int microbatch = 0;  // Index into SearchSpace::microbatch_sizes.
    int atom = 0;        // The first of the next slice.
    int from_island = 0;
    int from_gpu = 0;  // First GPU of the island.
    int from_count = 0;
    int to_island = 0;
    int to_count = 0;
    bool operator==(const Boundary&) const = default;
  };
  // Sets the transfers of `last` across a boundary.
  void SetTransfers(const Boundary& boundary, StageTimes& last);

  // Returns the first atom that begins with the same layer as `atom`, so that
  // boundaries before both carry the same.
  int FirstAlike(int atom) const { return alike_[atom]; }

  // The first or the last stage of a slice.
  struct EndStage {
    int island = 0;
    int first_gpu = 0;  // The island's number of it.
    int num_gpus = 0;
    int replicas = 1;
    auto operator<=>(const EndStage&) const = default;
  };
  // Returns the seconds that the first and the last stage of a pipeline, if
  // they are two, exchange the gradients of a tied matrix. 0: none is tied.
  double ExchangeSeconds(const EndStage& first, const EndStage& last);

 private:
  // The GPUs [first, first + count) of an island.
  struct Range {
    int island = 0;
    int first = 0;
    int count = 0;
    auto operator<=>(const Range&) const = default;
  };

  struct Hash {
    size_t operator()(const Boundary& boundary) const;
  };

  struct Placement {
    const DeviceSpec* device = nullptr;  // One of devices_.
    StageWiring wiring;
  };

  std::vector<StageTimes> Time(const PairId& pair, int island,
                               const SlicePlan& plan);
  TimesOfPlans TimeAll(const PairId& pair, int island);
  SharedStageTimes::Key KeyOf(const PairId& pair, int island) const;
  uint64_t NameOf(const Island& island) const;
  void SetTransfers(double bytes, const Range& from, const Range& to,
                    StageTimes& stage);
  const Placement& PlacedOn(const Range& range);
  std::vector<GpuId> GpusOf(const Range& range) const;

  const SearchSpace& space_;
  const PairStore& store_;
  const PlanRequest& request_;
  SharedStageTimes* const shared_;
  // With `shared_`: the training, and the nodes of each island, as numbers.
  uint64_t training_ = 0;
  std::vector<uint64_t> islands_;
  std::vector<int> alike_;  // By atom: FirstAlike.
  // By pair and island: those of own_ or shared_. Null: not timed yet.
  std::vector<const TimesOfPlans*> times_;
  std::deque<TimesOfPlans> own_;
  TimesOfPlans not_kept_;          // The last that own_ has no room for.
  size_t num_timed_ = 0;           // Stages in own_.
  std::list<DeviceSpec> devices_;  // All different.
  std::map<Range, Placement> placed_;
  std::map<std::pair<EndStage, EndStage>, double> exchanges_;
  // From one range to another, and back.
  std::map<std::pair<Range, Range>, std::pair<TransferPath, TransferPath>>
      paths_;
  std::unordered_map<Boundary, std::pair<double, double>, Hash> boundaries_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SLICE_TIMES_H_
