#ifndef TANGRAM_COMMON_DOMAIN_PLAN_VALIDATOR_H_
#define TANGRAM_COMMON_DOMAIN_PLAN_VALIDATOR_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/model_slice.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/stage_rules.h"
#include "common/domain/training_options.h"

namespace tangram {

// ValidatePlan for searches that check many plans of one job. Keeps references
// to the cluster and the training options. Thread-compatible.
class PlanValidator {
 public:
  PlanValidator(const ModelSpec& model, const Cluster& cluster,
                const TrainingOptions& training);
  PlanValidator(const PlanValidator&) = delete;
  PlanValidator& operator=(const PlanValidator&) = delete;

  // Returns what ValidatePlan does.
  absl::Status Check(const PipelinePlan& plan);

  // The runs of equal layers of the model.
  const std::vector<LayerRun>& runs() const { return runs_; }

 private:
  // The stage that has a GPU, in the plan of this number.
  struct Owner {
    int64_t plan = 0;
    int stage = 0;
  };

  // The GPUs of a device, and what they alone decide.
  struct Device {
    std::vector<GpuId> gpus;
    // Why context parallelism does not run on them; empty if it does. Not set:
    // nobody asked.
    std::optional<std::string> no_context_parallel;
  };

  // Returns whether the plan has the GPUs of `devices_`.
  bool HasKnownGpus(const PipelinePlan& plan) const;
  void KeepGpus(const PipelinePlan& plan);
  // Gives the GPUs to the stage, unless another one of the plan has one of
  // them. `field` names GPU i of them.
  absl::Status Claim(absl::Span<const GpuId> gpus, int stage,
                     absl::FunctionRef<std::string(size_t)> field);
  absl::Status CheckStages(const PipelinePlan& plan, bool has_known_gpus);

  const Cluster& cluster_;
  const TrainingOptions& training_;
  const std::vector<LayerRun> runs_;
  const StageRules rules_;              // It refers to the runs.
  std::vector<int64_t> first_of_node_;  // Index of its first GPU.
  std::vector<Owner> owners_;           // By GPU.
  int64_t num_plans_ = 0;
  // Those of the last plan of which no two devices had the same GPU. Most plans
  // that a search checks have the GPUs of the one before.
  std::vector<Device> devices_;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_PLAN_VALIDATOR_H_
