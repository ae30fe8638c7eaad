#ifndef TANGRAM_COMMON_PARALLELIZER_PARALLELIZER_H_
#define TANGRAM_COMMON_PARALLELIZER_PARALLELIZER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/infinity.h"
#include "common/domain/island.h"
#include "common/domain/model_slice.h"
#include "common/domain/model_spec.h"
#include "common/domain/slice_plan.h"
#include "common/domain/training_options.h"
#include "common/parallelizer/search_memory.h"

namespace tangram {

// Techniques that a parallelizer can search over (the columns of the paper's
// Tab. 1). The conformance suite reads them to decide which behaviour to
// demand, and CheckFeatures refuses plans that use others. No other code may
// branch on them.
struct ParallelizerFeatures {
  bool data_parallel = false;
  bool pipeline_parallel = false;
  bool tensor_parallel = false;
  bool context_parallel = false;
  bool expert_parallel = false;
  bool gradient_accumulation = false;
  bool recompute = false;  // Beyond what StageLimits demand.
  bool offload = false;
  bool zero = false;        // Likewise.
  bool moe_models = false;  // Accepts mixture-of-experts layers.

  bool operator==(const ParallelizerFeatures&) const = default;
};

struct ProfileOptions {
  TrainingOptions training;
  int pipeline_microbatch_size = 1;
  SearchMemory* memory = nullptr;  // As in ParallelizeOptions.
};

// Lower bounds for every plan that the parallelizer could return for this slice
// and microbatch on this island. So pruning by them loses no plan. Additive
// over the atoms of a slice.
struct PerformanceProfile {
  // No plan spends fewer GPU-seconds on one pipeline microbatch: for every
  // plan, Σ over stages of num_gpus · time_s is at least this.
  double min_gpu_seconds = 0;
  // No plan has a microbatch pass its stages faster: for every plan, Σ over
  // stages of time_s is at least this. 0: unknown.
  double min_latency_s = 0;
  // No plan needs fewer bytes, summed over all GPUs of the island, apart from
  // each GPU's reserve for its runtime.
  double min_total_bytes = 0;

  bool operator==(const PerformanceProfile&) const = default;
};

struct ParallelizeOptions {
  TrainingOptions training;

  // Samples that all replicas of a stage process together; see PipelinePlan.
  // Every dp degree in the answer divides it. training.global_batch_size is a
  // multiple of it.
  int pipeline_microbatch_size = 1;

  // Stages that will follow this slice. Under 1F1B, every stage of the slice
  // holds one more microbatch of activations for each of them.
  int trailing_stages = 0;

  // Search effort in the adapter's own steps. The result depends on it, not on
  // time. 0: the adapter's default.
  int64_t max_search_steps = 0;

  // A time in seconds above which plans are of no use. Plans of the slice may
  // be left out if their closed form (ClosedFormSeconds) exceeds it.
  double limit_s = kInfinity;

  // Stops a search that takes too long or was cancelled. Polled from time to
  // time. A stopped search returns the plans found so far, marked truncated.
  // Empty: never stops.
  std::function<bool()> should_stop;

  // Keeps things for later questions. Null: nothing is kept.
  SearchMemory* memory = nullptr;
};

// A homogeneous LLM parallelizer: the four functions of Tab. 2 of the paper.
//
// Implementations see one island at a time and never learn that the cluster is
// heterogeneous. Native ones live in worker/adapters/. Planners ask the pool's
// workers the same questions (RemoteSlicePlanSource, coordinator/dispatch).
//
// Thread-safety: const methods may be called concurrently. An answer that is
// not truncated is a function of the arguments alone, on any worker.
//
// Errors: kInvalidArgument for a malformed slice, island or options;
// kUnimplemented for a model family the parallelizer does not know. "Does not
// fit" is not an error: see SlicePlanSet.
class Parallelizer {
 public:
  virtual ~Parallelizer() = default;

  virtual std::string name() const = 0;
  // Changes whenever answers may change; part of every cache key.
  virtual std::string version() const = 0;
  virtual ParallelizerFeatures features() const = 0;

  // Splits `model` into its smallest schedulable parts, in execution order.
  virtual absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) const = 0;

  // Joins two slices. `tail` must start where `head` ends.
  virtual absl::StatusOr<ModelSlice> Concatenate(
      const ModelSlice& head, const ModelSlice& tail) const = 0;

  virtual absl::StatusOr<PerformanceProfile> Profile(
      const ModelSlice& slice, const IslandSpec& island,
      const ProfileOptions& options) const = 0;

  // Plans that use at most all GPUs of the island. Stages take GPUs in order;
  // one of at most gpus_per_node GPUs must not straddle two nodes, a larger one
  // must take whole nodes.
  virtual absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_PARALLELIZER_H_
