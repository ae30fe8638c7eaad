#include "coordinator/planners/tangram/bound_slices.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/base/insert_non_dominated.h"
#include "common/base/status_macros.h"
#include "common/cost/stage_cost.h"
#include "common/sim/stage_placement.h"
#include "coordinator/planners/tangram/place_plan.h"
#include "coordinator/planners/tangram/simulated_bound.h"

namespace tangram {
namespace {

// The most devices that SliceCosts keeps. A device may hold thousands of
// measurements, and an island mostly has one.
constexpr size_t kMostDevices = 64;

// Costs slice plans as the evaluator does: t_s = forward + backward of one
// microbatch, without transfers. The closing time of a slice is the gradient
// reduction and the optimizer step of its first stage.
class SliceCosts {
 public:
  SliceCosts(const SearchSpace& space, const PlanRequest& request)
      : space_(space), request_(request) {}

  // Leaves `atoms` empty, because equal slices cost the same at every position.
  BoundSlice CostOf(const PairId& pair, int island, const SlicePlan& plan) {
    std::vector<double> stage_s;
    double closing_s = 0;
    int next_gpu = 0;
    for (const SliceStage& stage : plan.stages) {
      const int num_gpus = stage.plan.parallelism.num_gpus();
      const Placement& placed = PlacedOn(island, next_gpu, num_gpus);
      next_gpu += num_gpus;
      const StageCost cost = EstimateStage(
          space_.context.slices[pair.slice_class].runs, stage.plan,
          EnvironmentOn(*placed.device, placed.wiring, request_.training,
                        space_.microbatch_sizes[pair.microbatch]));
      if (stage_s.empty()) closing_s = cost.sync_s + cost.optimizer_s;
      stage_s.push_back(cost.forward_s + cost.backward_s);
    }
    return MakeBoundSlice({}, island, stage_s, closing_s,
                          space_.bounds[pair.microbatch].num_microbatches());
  }

 private:
  struct Placement {
    const DeviceSpec* device = nullptr;  // One of devices_.
    StageWiring wiring;
  };

  const Placement& PlacedOn(int island, int first, int count) {
    const auto known = placed_.find({island, first, count});
    if (known != placed_.end()) return known->second;
    const std::vector<GpuId> gpus =
        GpusOfIsland(space_.islands[island], first, count);
    DeviceSpec device = WeakestDevice(request_.cluster, gpus);
    auto equal = std::find(devices_.begin(), devices_.end(), device);
    if (equal == devices_.end()) {
      if (devices_.size() == kMostDevices) {
        placed_.clear();
        devices_.clear();
      }
      devices_.push_back(std::move(device));
      equal = std::prev(devices_.end());
    }
    Placement placed{.device = &*equal,
                     .wiring = WiringOfGpus(request_.cluster, gpus)};
    return placed_.emplace(std::tuple(island, first, count), std::move(placed))
        .first->second;
  }

  const SearchSpace& space_;
  const PlanRequest& request_;
  std::list<DeviceSpec> devices_;  // All different.
  std::map<std::tuple<int, int, int>, Placement> placed_;
};

// Returns whether no pipeline becomes faster with `b` in the place of `a`.
bool IsAtMost(const BoundSlice& a, const BoundSlice& b) {
  return a.latency_s <= b.latency_s && a.busiest_s <= b.busiest_s &&
         a.closing_s <= b.closing_s;
}

}  // namespace

// The bound is the least of LeastIterationSeconds over all microbatch sizes.
// The least so far limits the next one, and drops slices that are slower alone.
absl::StatusOr<double> SimulatedLowerBound(const SearchSpace& space,
                                           const PairStore& store,
                                           const PlanRequest& request,
                                           double limit_s,
                                           PlanObserver& observer) {
  const auto should_stop = [&observer] { return observer.ShouldStop(); };
  SliceCosts costs(space, request);
  double least_s = limit_s;
  for (int m = 0; m < static_cast<int>(space.microbatch_sizes.size()); ++m) {
    std::vector<BoundSlice> slices;
    for (int s = 0; s < space.slices.num_classes(); ++s) {
      if (should_stop()) return absl::CancelledError("planning stopped");
      for (int island = 0; island < space.num_islands(); ++island) {
        const PairId pair{m, s, space.class_of_island[island]};
        // Each one is copied to every position, so only the best are kept.
        std::vector<BoundSlice> best;
        for (const SlicePlan& plan : store.PlansOf(pair)) {
          const BoundSlice slice = costs.CostOf(pair, island, plan);
          if (slice.busiest_s > least_s) continue;
          InsertNonDominated(slice, IsAtMost, best);
        }
        for (BoundSlice& slice : best) {
          for (const AtomRange& range : space.slices.MembersOf(s)) {
            if (!space.Allows(range, island)) continue;
            slice.atoms = range;
            slices.push_back(slice);
          }
        }
      }
    }
    TANGRAM_ASSIGN_OR_RETURN(
        least_s, LeastIterationSeconds(space.num_atoms(), space.num_islands(),
                                       slices, least_s, should_stop));
  }
  return least_s;
}

}  // namespace tangram
