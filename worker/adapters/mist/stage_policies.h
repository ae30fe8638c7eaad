#ifndef TANGRAM_WORKER_ADAPTERS_MIST_STAGE_POLICIES_H_
#define TANGRAM_WORKER_ADAPTERS_MIST_STAGE_POLICIES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/parallelizer/parallelizer.h"
#include "worker/adapters/mist/degree_costs.h"
#include "worker/adapters/mist/inter_stage.h"
#include "worker/adapters/mist/intra_stage.h"
#include "worker/adapters/search/slice_layers.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram::mist {

// The choices behind a policy.
struct PolicyDetail {
  DegreeCosts* degrees = nullptr;
  int offload = 0;
  int recompute_steps = 0;
  // Number of stages that may follow a stage with this policy.
  int stages_behind_borne = 0;
};

// The policies of a stage.
struct TunedStage {
  std::vector<StagePolicy>
      policies;  // Non-dominated in T and D, by ascending T.
  std::vector<PolicyDetail> details;  // By policy.
  // The policy with the least T, with D set to 0.
  std::vector<StagePolicy> fastest;
};

// The policies of stages of one size for one query. Each is tuned once: stages
// of equal layers with equally many stages behind share their policies. Keeps
// references to its arguments. Only one thread may use it at a time.
class StagePolicies {
 public:
  StagePolicies(const SliceLayers& layers, const IslandSpec& island,
                const ParallelizeOptions& options, const SplitLimits& limits,
                int num_gpus);

  // Returns the policies with which the layers [begin, end) fit if
  // `stages_behind` stages follow. The reference stays valid.
  const TunedStage& Tuned(int begin, int end, int stages_behind);

  // Returns the degrees and ZeRO stages that a stage of this size may have.
  absl::Span<const std::unique_ptr<DegreeCosts>> degrees() const {
    return degrees_;
  }
  absl::Span<const HostOffload> offloads() const { return offloads_; }

  // Returns the bytes by which a GPU, or its share of the host, is too small.
  // Not positive if the stage fits.
  double BytesShort(const StageMemory& memory, int stages_behind) const;

  int64_t costs_estimated() const { return costs_estimated_; }

 private:
  // The parts of a stage's cost that tuning needs.
  struct Figures {
    bool known = false;
    int stages_behind_borne = 0;
    StagePolicy policy;
  };
  // Stages of equal layers.
  struct Composition {
    int begin = 0;  // The layers of one such stage.
    int end = 0;
    // By degrees and offload, then by recompute steps; filled on demand.
    std::vector<std::vector<Figures>> figures;
    std::map<int, TunedStage> tuned;  // By stages behind.
  };

  Composition& CompositionOf(int begin, int end);
  const Figures& FiguresOf(Composition& composition, int degrees, int offload,
                           int steps);
  void TuneWith(absl::Span<const HostOffload> offloads, int stages_behind,
                Composition& composition, PolicyFront& front);
  TunedStage Tune(Composition& composition, int stages_behind);
  int StagesBehindBorne(const StageMemory& memory) const;

  const SliceLayers& layers_;
  const DeviceSpec& device_;
  const int num_microbatches_;
  const std::vector<HostOffload> offloads_;  // The first offloads nothing.
  std::vector<std::unique_ptr<DegreeCosts>> degrees_;
  std::map<std::vector<std::pair<int, int>>, Composition> compositions_;
  // By begin and end. A search looks only near balanced cuts, so most ranges of
  // a deep model have none.
  std::map<std::pair<int, int>, Composition*> composition_at_;
  int64_t costs_estimated_ = 0;
};

}  // namespace tangram::mist

#endif  // TANGRAM_WORKER_ADAPTERS_MIST_STAGE_POLICIES_H_
