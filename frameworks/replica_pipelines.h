#ifndef TANGRAM_FRAMEWORKS_REPLICA_PIPELINES_H_
#define TANGRAM_FRAMEWORKS_REPLICA_PIPELINES_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/obstacles.h"
#include "common/domain/model_spec.h"
#include "common/domain/replicated_plan.h"
#include "frameworks/framework_export.h"

// Plans as frameworks see them that train whole pipelines beside one another,
// each with one replica of every stage.
namespace tangram {

// One replica of a stage.
struct ReplicaStage {
  int num_layers = 0;       // Transformer layers.
  std::vector<GpuId> gpus;  // A tensor-parallel group.
  int tp() const { return static_cast<int>(gpus.size()); }
};

// One replica of all stages of a plan.
struct ReplicaPipeline {
  int microbatch_size = 0;
  int num_microbatches = 0;
  std::vector<ReplicaStage> stages;
  int samples() const { return microbatch_size * num_microbatches; }
};

// A plan of one pipeline as a plan of several, in which its fields are without
// a prefix (PlanPrefix).
PlannedPipelines OnePipeline(const PlannedTraining& planned);

// Exports a plan of one pipeline with `export_pipelines`, as OnePipeline.
absl::StatusOr<FrameworkExport> ExportAsPipelines(
    const PlannedTraining& planned,
    absl::FunctionRef<absl::StatusOr<FrameworkExport>(const PlannedPipelines&)>
        export_pipelines);

// Returns "pipelines[1].plan."; empty for the only pipeline.
std::string PlanPrefix(const ReplicatedPlan& plan, size_t pipeline);

// Puts PlanPrefix in front of the path of an error.
absl::Status InPlan(const ReplicatedPlan& plan, size_t pipeline,
                    const absl::Status& status);

// Adds what keeps a plan from being whole pipelines: stages of unlike dp,
// context parallelism, several chunks a device. `why_no_cp` is a reason: "Hetu
// has no ...".
void RequireWholePipelines(absl::string_view why_no_cp,
                           const ReplicatedPlan& plan, Obstacles& obstacles);

// Adds tensor-parallel degrees that do not divide the largest of the same layer
// in other pipelines: its pieces are exchanged among all pipelines.
void RequireDivisibleTp(const ModelSpec& model, const ReplicatedPlan& plan,
                        Obstacles& obstacles);

// Returns the replicas of all pipelines, in order. The plans must be whole
// pipelines of whole layers.
std::vector<ReplicaPipeline> ReplicaPipelinesOf(const ModelSpec& model,
                                                const ReplicatedPlan& plan);

// Returns the GPUs of the replicas, in order.
std::vector<GpuId> GpusOf(const std::vector<ReplicaPipeline>& pipelines);

// Returns whether all pipelines run a layer with one tensor-parallel degree,
// for every layer.
bool HaveOneTpPerLayer(const std::vector<ReplicaPipeline>& pipelines);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_REPLICA_PIPELINES_H_
