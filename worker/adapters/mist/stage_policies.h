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

// What a policy stands for.
struct PolicyDetail {
  DegreeCosts* degrees = nullptr;
  int offload = 0;
  int recompute_steps = 0;
  // Stages that may follow a stage with this policy.
  int stages_behind_borne = 0;
};

struct TunedStage {
  std::vector<StagePolicy> policies;  // Best in T and D; by ascending T.
  std::vector<PolicyDetail> details;  // Of each.
  // The first, as if nothing came on top (D = 0).
  std::vector<StagePolicy> fastest;
};

// The policies of the stages of one size that a query asks for, tuned once
// each: stages of equal layers with as many stages behind have the same. Keeps
// references to its arguments; one thread at a time.
class StagePolicies {
 public:
  StagePolicies(const SliceLayers& layers, const IslandSpec& island,
                const ParallelizeOptions& options, const SplitLimits& limits,
                int num_gpus);

  // Those with which the layers [begin, end) fit with so many stages behind
  // them. The reference lasts.
  const TunedStage& Tuned(int begin, int end, int stages_behind);

  // Everything that a stage of this size may be: degrees and ZeRO stage.
  absl::Span<const std::unique_ptr<DegreeCosts>> degrees() const {
    return degrees_;
  }
  absl::Span<const HostOffload> offloads() const { return offloads_; }

  // By how many bytes a GPU or its share of the host is too small; not
  // positive: the stage fits.
  double BytesShort(const StageMemory& memory, int stages_behind) const;

  int64_t costs_estimated() const { return costs_estimated_; }

 private:
  // Of a stage's cost, all that tuning asks for.
  struct Figures {
    bool known = false;
    int stages_behind_borne = 0;
    StagePolicy policy;
  };
  // Stages of equal layers.
  struct Composition {
    int begin = 0;  // Of one of them.
    int end = 0;
    // By degrees and offload, then by recompute steps; as far as asked for.
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
  const std::vector<HostOffload> offloads_;  // The first is none.
  std::vector<std::unique_ptr<DegreeCosts>> degrees_;
  std::map<std::vector<std::pair<int, int>>, Composition> compositions_;
  std::vector<Composition*> composition_at_;  // By begin and end; or null.
  int64_t costs_estimated_ = 0;
};

}  // namespace tangram::mist

#endif  // TANGRAM_WORKER_ADAPTERS_MIST_STAGE_POLICIES_H_
