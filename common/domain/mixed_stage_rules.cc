#include "common/domain/mixed_stage_rules.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/field_error.h"
#include "common/base/in_field.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "common/domain/stage_part.h"

namespace tangram {
namespace {

// Checks that the shares of the groups add up to what they share.
absl::Status CheckShares(const MixedReplicas& mixed, int microbatch_size,
                         int num_microbatches) {
  const bool routed = mixed.sharing == StageSharing::kRouted;
  const int64_t whole = routed ? num_microbatches : microbatch_size;
  int64_t sum = 0;
  for (size_t g = 0; g < mixed.groups.size(); ++g) {
    const int share = mixed.groups[g].share;
    if (share <= 0) {
      return FieldError(absl::StrCat("mixed.groups[", g, "].share"), share,
                        "a positive integer");
    }
    sum += share;
  }
  if (sum == whole) return absl::OkStatus();
  return FieldError("mixed.groups.share", absl::StrCat("a sum of ", sum),
                    absl::StrCat(routed ? "the number of microbatches, "
                                        : "the pipeline microbatch size, ",
                                 whole));
}

// Returns the devices of a pipeline, with one for each group of a stage that
// routes; 0 if none does.
int64_t RoutedDevices(const PipelinePlan& plan) {
  int64_t num_devices = 0;
  bool is_routed = false;
  for (const PlacedStage& stage : plan.stages) {
    const bool routes = IsRouted(stage);
    num_devices += routes ? static_cast<int64_t>(stage.mixed.groups.size()) : 1;
    is_routed |= routes;
  }
  return is_routed ? num_devices : 0;
}

}  // namespace

int64_t RoutedPasses(const PipelinePlan& plan, int64_t num_microbatches) {
  return RoutedDevices(plan) * num_microbatches;
}

absl::Status CheckMixedStage(const StageRules& rules, const PlacedStage& stage,
                             const StageSite& site, int num_microbatches) {
  const MixedReplicas& mixed = stage.mixed;
  if (mixed.groups.size() < 2) {
    return FieldError("mixed.groups", mixed.groups.size(),
                      "at least two, or no mixed");
  }
  if (mixed.groups.size() > kMaxReplicaGroups) {
    return FieldError("mixed.groups", mixed.groups.size(),
                      absl::StrCat("at most ", kMaxReplicaGroups));
  }
  if (stage.plan.parallelism != StageParallelism()) {
    return FieldError("plan.parallelism", "given",
                      "that of one GPU, as each group has its own");
  }
  TANGRAM_RETURN_IF_ERROR(InField("plan", rules.CheckStage(stage.plan, site)));
  TANGRAM_RETURN_IF_ERROR(
      CheckShares(mixed, site.microbatch_size, num_microbatches));
  StageSite left = site;
  for (size_t g = 0; g < mixed.groups.size(); ++g) {
    const ReplicaGroup& group = mixed.groups[g];
    StagePlan alone = stage.plan;
    alone.parallelism = group.parallelism;
    if (mixed.sharing == StageSharing::kLockStep) {
      left.microbatch_size = group.share;
    }
    TANGRAM_RETURN_IF_ERROR(InField("mixed.groups", static_cast<int>(g),
                                    rules.CheckStage(alone, left)));
    left.max_gpus -= group.parallelism.num_gpus();
  }
  if (left.max_gpus == 0) return absl::OkStatus();
  return FieldError(
      "gpus", absl::StrCat(site.max_gpus, " GPUs"),
      absl::StrCat(site.max_gpus - left.max_gpus, ", as all groups together"));
}

absl::Status CheckMixedSchedule(const TrainingOptions& training,
                                const PipelinePlan& plan) {
  if (!HasMixedStages(plan)) return absl::OkStatus();
  if (plan.schedule != PipelineSchedule::kOneFOneB &&
      plan.schedule != PipelineSchedule::kGpipe) {
    return FieldError(
        "schedule", ScheduleName(plan.schedule),
        "1f1b or gpipe, as some stages have replicas that differ");
  }
  const int64_t num_devices = RoutedDevices(plan);
  if (num_devices == 0) return absl::OkStatus();
  if (training.blocking_transfers) {
    return FieldError("stages.mixed.sharing",
                      StageSharingName(StageSharing::kRouted),
                      "lock-step in all stages, as training.blocking_transfers "
                      "is set");
  }
  const int64_t num_microbatches =
      training.global_batch_size / plan.pipeline_microbatch_size;
  if (num_devices <= kMaxRoutedPasses / num_microbatches) {
    return absl::OkStatus();
  }
  return FieldError(
      "pipeline_microbatch_size", plan.pipeline_microbatch_size,
      absl::StrFormat("a size that makes at most %d microbatches, as stages "
                      "route them to a pipeline of %d devices",
                      kMaxRoutedPasses / num_devices, num_devices));
}

}  // namespace tangram
