#ifndef TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_STAGES_H_
#define TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_STAGES_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "common/domain/island.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/galvatron/galvatron_degrees.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram::galvatron {

// Besides tp, dp and ZeRO.
inline constexpr ExtraDegrees kGalvatronDegrees = {.cp = true};

// What makes a stage good: its time, or its time and its share of what is paid
// once an iteration, which counts as much as one of B microbatches.
enum class Goal { kMicrobatch, kIteration };
inline constexpr Goal kGoals[] = {Goal::kMicrobatch, Goal::kIteration};

// The best way to run a range of layers as a stage.
struct StageChoice {
  const DegreeCosts* degrees = nullptr;
  std::vector<LayerRecompute> recompute;  // By layer of the range.
  StageFigures figures;
  double weight_s = 0;  // What the goal counts.
};

// The best stages on one number of GPUs, for one query. Keeps references to its
// arguments; one thread at a time.
class StageTable {
 public:
  StageTable(const SliceLayers& layers, int num_gpus, const IslandSpec& island,
             const ParallelizeOptions& options);

  // The best degrees, ZeRO stage and recomputation with which `in_flight`
  // microbatches fit; null: nothing fits.
  const StageChoice* Best(LayerRange range, int in_flight, Goal goal);

  // What the goal would count with unlimited memory.
  double LeastWeight(LayerRange range, Goal goal);

  // Of the degrees that come closest to fitting; see DegreeCosts.
  double LeastBytesOver(LayerRange range, int in_flight) const;

  // Stages estimated so far.
  int64_t num_steps() const { return num_steps_; }

 private:
  static constexpr int kNumGoals = std::size(kGoals);

  // Of a range with nothing recomputed.
  struct Kept {
    std::vector<StageFigures> figures;    // By degrees.
    std::vector<int> ranking[kNumGoals];  // Degrees, least weight first.
  };
  // By range and goal: index into choices_; kNothingFits.
  static constexpr int kNothingFits = -1;
  using Row = std::vector<std::optional<int>>;

  int IndexOf(LayerRange range) const;
  LayerRange FirstLike(LayerRange range) const;
  double WeightOf(const StageFigures& figures, Goal goal) const;
  const Kept& KeptOf(LayerRange range);
  std::optional<StageChoice> Find(LayerRange range, int in_flight, Goal goal);

  const SliceLayers& layers_;
  const int num_microbatches_;
  std::vector<DegreeCosts> degrees_;
  std::vector<std::unique_ptr<Kept>> kept_;  // By range.
  std::map<int, Row> rows_;                  // By microbatches in flight.
  std::deque<StageChoice> choices_;
  int64_t num_steps_ = 0;
};

}  // namespace tangram::galvatron

#endif  // TANGRAM_WORKER_ADAPTERS_GALVATRON_GALVATRON_STAGES_H_
