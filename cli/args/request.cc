#include "cli/args/request.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/args/constraints.h"
#include "cli/args/precision_choice.h"
#include "common/band/margin_of_kind.h"
#include "common/band/traits_of_plan.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/parallelizer_list.h"
#include "common/planner/keep_constraints.h"
#include "formats/config/attach_profile_files.h"
#include "formats/config/calibrated_constants.h"
#include "formats/config/cluster_file.h"
#include "formats/config/instance_cluster.h"
#include "formats/config/limit_nodes.h"
#include "formats/config/memory_margin.h"
#include "formats/config/model_file.h"
#include "formats/config/training_names.h"
#include "frameworks/framework_table.h"

namespace tangram {
namespace {

absl::StatusOr<int> SequenceLength(const PlanOptions& options,
                                   const LoadedModel& loaded) {
  const ModelSpec& model = loaded.model;
  const int learned_positions = model.layers.front().max_position_embeddings;
  if (!options.training.sequence_length) {
    if (loaded.sequence_length) return *loaded.sequence_length;
    return absl::InvalidArgumentError(
        "--seq: missing; expected the tokens per sequence, which the model's "
        "file does not tell");
  }
  const int length = *options.training.sequence_length;
  if (learned_positions > 0 && length > learned_positions) {
    return FieldError(
        "--seq", length,
        absl::StrCat("at most the ", learned_positions, " positions that ",
                     model.name, " has learned"));
  }
  return length;
}

absl::StatusOr<TrainingOptions> TrainingFor(const PlanOptions& options,
                                            const LoadedModel& loaded,
                                            const Cluster& cluster) {
  TANGRAM_ASSIGN_OR_RETURN(
      TrainingOptions training,
      MakeTraining(options.training, loaded.model, cluster));
  TANGRAM_ASSIGN_OR_RETURN(training.sequence_length,
                           SequenceLength(options, loaded));
  const int microbatch = options.pipeline_microbatch_size;
  if (microbatch > 0 && training.global_batch_size % microbatch != 0) {
    return FieldError("--microbatch", microbatch,
                      absl::StrCat("a divisor of the global batch, ",
                                   training.global_batch_size));
  }
  return training;
}

// A cluster as it is in its file, and the nodes of it that were chosen.
struct ReadCluster {
  Cluster whole;
  std::vector<NodeCount> counts;  // Empty: all nodes.

  absl::StatusOr<Cluster> Chosen() const {
    Cluster chosen = whole;
    if (counts.empty()) return chosen;
    TANGRAM_RETURN_IF_ERROR(LimitNodes(counts, chosen));
    return chosen;
  }
};

absl::StatusOr<ReadCluster> ReadClusterOf(const ClusterChoice& choice) {
  ReadCluster read;
  if (!choice.nodes.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(read.counts, ParseNodeCounts(choice.nodes));
  }
  const bool rented = choice.file.empty();
  TANGRAM_ASSIGN_OR_RETURN(read.whole, rented ? InstanceCluster(read.counts)
                                              : LoadClusterFile(choice.file));
  TANGRAM_RETURN_IF_ERROR(
      AttachProfileFiles(choice.profiles, read.whole, choice.framework));
  if (!choice.constants_file.empty()) {
    TANGRAM_RETURN_IF_ERROR(
        ApplyConstantsFile(choice.constants_file, read.whole));
  }
  if (rented) read.counts.clear();
  return read;
}

}  // namespace

absl::StatusOr<Cluster> LoadCluster(const ClusterChoice& choice) {
  TANGRAM_ASSIGN_OR_RETURN(const ReadCluster read, ReadClusterOf(choice));
  return read.Chosen();
}

absl::StatusOr<TrainingOptions> MakeTraining(const TrainingChoice& choice,
                                             const ModelSpec& model,
                                             const Cluster& cluster) {
  TrainingOptions training{
      .global_batch_size = choice.global_batch_size,
      .sequence_length = choice.sequence_length.value_or(0),
      .flash_attention = choice.flash_attention,
      .dropout = choice.dropout && model.details.has_dropout(),
      .fp32_gradients = choice.fp32_gradients,
      .overlap_grad_reduce = choice.overlap_grad_reduce,
      .blocking_transfers = choice.blocking_transfers,
      .gradient_copy = choice.gradient_copy,
      .bf16_moments = choice.bf16_moments,
      .fused_loss = choice.fused_loss};
  if (choice.precision.empty()) {
    training.precision = ChoosePrecision(model, "", cluster).precision;
  } else {
    TANGRAM_ASSIGN_OR_RETURN(training.precision,
                             ParsePrecision(choice.precision));
  }
  TANGRAM_ASSIGN_OR_RETURN(training.optimizer,
                           ParseOptimizer(choice.optimizer));
  return training;
}

absl::StatusOr<LoadedModel> LoadModelOf(const PlanOptions& options) {
  return LoadModelAndUsualLength(
      options.model.name_or_file,
      ModelOverrides{.num_layers = options.model.num_layers});
}

absl::StatusOr<PlanRequest> MakePlanRequest(const PlanOptions& options) {
  ClusterChoice choice = options.cluster;
  choice.framework =
      std::string(FrameworkOfRuntime(options.constraints.runtime));
  TANGRAM_ASSIGN_OR_RETURN(const ReadCluster read, ReadClusterOf(choice));
  TANGRAM_ASSIGN_OR_RETURN(Cluster cluster, read.Chosen());
  TANGRAM_ASSIGN_OR_RETURN(const LoadedModel loaded, LoadModelOf(options));
  return MakePlanRequest(options, read.whole, std::move(cluster), loaded);
}

absl::StatusOr<PlanRequest> MakePlanRequest(const PlanOptions& options,
                                            const Cluster& whole,
                                            Cluster cluster,
                                            const LoadedModel& loaded) {
  PlanRequest request{.pipeline_microbatch_size =
                          options.pipeline_microbatch_size};
  request.cluster = std::move(cluster);
  const double usual_margin = MemoryMarginOf(
      ShippedResiduals(), FrameworkOfRuntime(options.constraints.runtime));
  KeepMemoryFree(options.cluster.memory_margin.value_or(usual_margin),
                 request.cluster.MakeOwn());
  TANGRAM_ASSIGN_OR_RETURN(request.training,
                           TrainingFor(options, loaded, request.cluster));
  request.model = loaded.model;
  if (options.training.precision.empty()) {
    request.preferred_precision =
        ChoosePrecision(request.model, "", request.cluster).preferred;
  }
  TANGRAM_ASSIGN_OR_RETURN(
      PlanConstraints constraints,
      MakeConstraints(options.constraints, request.model.num_layers()));
  request.constraints =
      KeepConstraints(whole, *request.cluster, std::move(constraints));
  return request;
}

absl::StatusOr<PlannerOptionText> ParsePlannerOptions(
    const std::vector<std::string>& options) {
  PlannerOptionText parsed;
  for (const std::string& option : options) {
    const size_t equals = option.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--planner-option: ", option, "; expected NAME=VALUE"));
    }
    const std::string name = option.substr(0, equals);
    if (!parsed.emplace(name, option.substr(equals + 1)).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--planner-option: ", name, " twice; expected each option once"));
    }
  }
  return parsed;
}

}  // namespace tangram
