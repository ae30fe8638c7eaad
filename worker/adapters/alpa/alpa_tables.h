#ifndef TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_TABLES_H_
#define TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_TABLES_H_

#include <vector>

#include "common/base/stop_poll.h"
#include "common/cost/stage_cost.h"
#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/alpa/alpa_inter_operator.h"
#include "worker/adapters/search/slice_layers.h"

namespace tangram::alpa {

// Costs of the stages of one query. Keeps references to its arguments.
class StageTables {
 public:
  StageTables(const ModelSlice& slice, const IslandSpec& island,
              const ParallelizeOptions& options);

  const SliceLayers& layers() const { return layers_; }
  const IslandSpec& island() const { return island_; }
  // Returns what a layer recomputes: nothing, unless limits ask for it.
  OpMask MaskOf(const LayerSpec& layer) const;
  int num_microbatches() const { return num_microbatches_; }
  // GPUs are assigned in units of this many.
  int gpus_per_unit() const { return gpus_per_unit_; }
  int num_units() const { return num_units_; }

  // A config is an index into the parallelisms that the intra-operator problem
  // found for a submesh.
  int num_submeshes() const { return static_cast<int>(submeshes_.size()); }
  int gpus_of(int submesh) const { return submeshes_[submesh].num_gpus; }
  int num_configs(int submesh) const {
    return static_cast<int>(submeshes_[submesh].parallelisms.size());
  }
  const StageParallelism& ParallelismOf(int submesh, int config) const {
    return submeshes_[submesh].parallelisms[config];
  }
  // Returns the cost of layers [begin, end) as a stage.
  StageCost CostOf(int begin, int end, int submesh, int config) const;

  // Returns the seconds to send the input of `layer` from one stage to the
  // next, and its gradient back.
  double TransferSeconds(int layer, int from_gpu, int from_count,
                         int to_count) const;

  // Returns the inter-operator problem, in which devices are units. As in
  // upstream, a stage's time includes its gradient synchronisation and
  // optimizer step, divided by the number of microbatches.
  InterOperatorProblem Problem() const;
  // The same. It is incomplete if `poll` stops.
  InterOperatorProblem Problem(StopPoll& poll) const;

 private:
  struct Submesh {
    int num_gpus = 0;
    StageEnvironment environment;
    std::vector<StageParallelism> parallelisms;       // By config.
    std::vector<std::vector<LayerCost>> layer_costs;  // By config and kind.
  };

  std::vector<StageOption> OptionsOf(int begin, int end, int submesh) const;
  void FillRows(InterOperatorProblem& problem, StopPoll& poll) const;

  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  const int num_microbatches_;
  const SliceLayers layers_;
  int gpus_per_unit_ = 1;
  int num_units_ = 0;
  std::vector<Submesh> submeshes_;
};

}  // namespace tangram::alpa

#endif  // TANGRAM_WORKER_ADAPTERS_ALPA_ALPA_TABLES_H_
