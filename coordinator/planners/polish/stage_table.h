#ifndef TANGRAM_COORDINATOR_PLANNERS_POLISH_STAGE_TABLE_H_
#define TANGRAM_COORDINATOR_PLANNERS_POLISH_STAGE_TABLE_H_

#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/types/span.h"
#include "common/domain/island.h"
#include "common/domain/model_slice.h"
#include "common/domain/stage_limits.h"
#include "common/domain/stage_plan.h"
#include "common/domain/stage_rules.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "common/sim/stage_estimator.h"
#include "coordinator/planners/polish/stage_tuner.h"

namespace tangram {

// A way to run a stage, and its times in seconds.
struct StageWay {
  StagePlan plan;
  double forward_s = 0;   // One microbatch.
  double backward_s = 0;  // Likewise.
  double tail_s = 0;      // Synchronisation and optimizer step, once.

  double pass_s() const { return forward_s + backward_s; }
};

// The best ways to run layers on GPUs of an island, each found once: equal
// layers on like GPUs share their ways. Deterministic, thread-compatible.
class StageTable {
 public:
  // `islands` have the limits of the request and of the rules. All must outlive
  // the table.
  StageTable(const PlanRequest& request, const PipelineRules& rules,
             absl::Span<const Island> islands, StageEstimator& estimator,
             StageTuner& tuner);

  // The layers [begin, end) on GPUs of `island`, in order.
  struct Place {
    int island = 0;
    absl::Span<const GpuId> gpus;
  };

  // Returns the index of the place. Like places have one.
  int PlaceIndex(const Place& place);

  // Returns the fastest ways to run [begin, end) that fit with `held`
  // microbatches in memory,
  // unlike in their degrees, the best first. At most kMostWays. Their cuts are
  // those of equal layers somewhere in the model. `place_index` is that of the
  // place. The reference lives as long as the table.
  const std::vector<StageWay>& WaysOf(int microbatch_size, int place_index,
                                      const Place& place, OperatorCut begin,
                                      OperatorCut end, int held);

  // Returns the GPU-seconds of a microbatch in [begin, end), at the best number
  // of GPUs. Memory does not count. Infinite: no stage can run it.
  double LeastWork(int microbatch_size, int island, OperatorCut begin,
                   OperatorCut end);

  static constexpr size_t kMostWays = 3;

 private:
  // Like GPUs: their island, and how many are in nodes of which group.
  using Alike = std::vector<int>;
  // Equal layers: the first and the last run, how many of each, and where the
  // first begins and the last ends.
  using Layers = std::array<int, 6>;
  using Key = std::tuple<int, int, Layers>;  // Microbatch size, place, layers.

  struct Known {
    std::vector<StageWay> degrees;  // Without a need of memory, the best first.
    // The ways by microbatches held.
    std::map<int, std::vector<StageWay>> by_held;
    bool always_fits = false;  // Whatever is held.
  };

  Layers LayersOf(OperatorCut begin, OperatorCut end) const;
  std::vector<StageParallelism> Degrees(int microbatch_size,
                                        const PlacedStage& stage, int island);
  void AppendDegrees(int tp, int cp, int dp, const StageLimits& limits,
                     std::vector<StageParallelism>& all) const;
  std::optional<StageWay> WayOf(const StageSetting& setting,
                                const PlacedStage& stage, bool tunes);
  Known MakeKnown(int microbatch_size, const PlacedStage& stage);
  std::vector<StageWay> FindWays(int microbatch_size, const PlacedStage& stage,
                                 int held, Known& known);
  StageSetting SettingOf(int microbatch_size, int held) const;
  double SecondsOf(const StageWay& way, int num_microbatches) const;
  void KeepBest(int num_microbatches, size_t most,
                std::vector<StageWay>& ways) const;

  const PlanRequest& request_;
  const absl::Span<const Island> islands_;
  const StageLimits ends_;
  const bool shards_experts_;  // StageParallelism::fsep.
  StageEstimator& estimator_;
  StageTuner& tuner_;
  const StageRules stage_rules_;
  std::vector<int> run_of_layer_;
  std::vector<int> run_begins_;
  int num_experts_ = 0;  // The greatest common divisor over layers; 0: none.
  std::map<Alike, int> places_;
  absl::node_hash_map<Key, Known> known_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_POLISH_STAGE_TABLE_H_
