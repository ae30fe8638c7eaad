#ifndef TANGRAM_FRAMEWORKS_GENERAL_REFUSALS_H_
#define TANGRAM_FRAMEWORKS_GENERAL_REFUSALS_H_

#include "absl/status/status.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"

// Refusals of plans that no target runs.
namespace tangram {

// No target has unlike replicas of one stage. Sailor's runtime has them in
// lock-step with even shares alone; Zorse and Cephalo are no targets.
absl::Status RefuseMixedStages(const PipelinePlan& plan);

// NCCL and RCCL do not talk to each other, and every target opens one process
// group over all ranks. `first` is the GPU of rank 0.
absl::Status RefuseOtherLibraries(const Cluster& cluster, const GpuId& first,
                                  const PipelinePlan& plan);

// Refuses models with Mamba layers, or with a mixer or an MLP alone in a layer:
// targets whose Framework::hybrids is not set have no such layers.
absl::Status RefuseHybrids(const ModelSpec& model);

// Refuses models whose experts have another width than their layer: targets
// whose Framework::latent_experts is not set have none.
absl::Status RefuseLatentExperts(const ModelSpec& model);

absl::Status RefuseWarmUp(const PipelinePlan& plan);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_GENERAL_REFUSALS_H_
