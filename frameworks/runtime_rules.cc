#include "frameworks/runtime_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "frameworks/export_plan.h"

namespace tangram {
namespace {

using Shared = Framework::Shared;
using EqualEnds = Framework::EqualEnds;

// Degrees and sizes that stages can have on some island.
struct StageChoices {
  std::set<int> tp;
  std::set<int> dp;
  std::set<int> gpus;
  std::set<std::pair<int, int>> tp_and_dp;
  std::set<int> gpus_per_node;
};

// Returns whether the GPUs are whole nodes or an equal share of one.
bool FitsNodes(int num_gpus, int gpus_per_node) {
  return num_gpus < gpus_per_node ? gpus_per_node % num_gpus == 0
                                  : num_gpus % gpus_per_node == 0;
}

// Returns the degrees and sizes of stages that occur on some island: stages of
// dp · tp GPUs that fit the nodes, with tp inside a node and dp dividing the
// global batch.
StageChoices ChoicesOn(absl::Span<const IslandSpec> islands,
                       const TrainingOptions& training,
                       absl::Span<const int> more_tp) {
  StageChoices choices;
  for (const IslandSpec& island : islands) {
    choices.gpus_per_node.insert(island.gpus_per_node);
    std::set<int> all_tp(more_tp.begin(), more_tp.end());
    for (int tp = 1; tp <= island.gpus_per_node; tp *= 2) all_tp.insert(tp);
    for (int gpus = 1; gpus <= island.num_gpus(); ++gpus) {
      if (!FitsNodes(gpus, island.gpus_per_node)) continue;
      for (const int tp : all_tp) {
        const int dp = gpus / tp;
        if (std::min(gpus, island.gpus_per_node) % tp != 0 ||
            training.global_batch_size % dp != 0) {
          continue;
        }
        choices.tp.insert(tp);
        choices.dp.insert(dp);
        choices.gpus.insert(gpus);
        choices.tp_and_dp.insert({tp, dp});
      }
    }
  }
  return choices;
}

// Returns the powers of two that divide the sequence into two parts a rank.
std::vector<int> CpDegrees(const TrainingOptions& training, int most) {
  std::vector<int> degrees = {1};
  for (int cp = 2; cp <= most; cp *= 2) {
    if (training.sequence_length % (2 * cp) == 0) degrees.push_back(cp);
  }
  return degrees;
}

// Returns the limits that follow from what the framework runs.
StageLimits LimitsOf(const Runtime& runs) {
  return {.cp_degree = runs.context_parallel ? 0 : 1,
          .max_zero_stage = runs.max_zero_stage,
          .no_sequence_parallel = !runs.sequence_parallel,
          .no_offload = !runs.offload,
          .residual_cuts = runs.cuts == Runtime::Cuts::kResiduals,
          .closed_recompute = runs.recompute == Runtime::Recompute::kClosed};
}

std::vector<RuntimeVariant> OfShared(const Framework& framework,
                                     const TrainingOptions& training,
                                     const StageChoices& choices) {
  const RuntimeVariant any{.stages = LimitsOf(framework.runs)};
  std::vector<RuntimeVariant> variants;
  const auto add = [&]() -> RuntimeVariant& {
    return variants.emplace_back(any);
  };
  switch (framework.shared) {
    case Shared::kNothing:
      add();
      break;
    case Shared::kCp:
      for (const int cp : CpDegrees(training, *choices.gpus.rbegin())) {
        add().stages.cp_degree = cp;
      }
      break;
    case Shared::kDp:
      for (const int dp : choices.dp) add().stages.dp_degree = dp;
      break;
    case Shared::kGpus:
      for (const int gpus : choices.gpus) add().stages.gpus_per_stage = gpus;
      break;
    case Shared::kTpAndDp:
      for (const auto& [tp, dp] : choices.tp_and_dp) {
        StageLimits& stages = add().stages;
        stages.tp_degree = tp;
        stages.dp_degree = dp;
      }
      break;
    case Shared::kGpusPerNode:
      for (const int gpus : choices.gpus_per_node) add().gpus_per_node = gpus;
      break;
  }
  return variants;
}

}  // namespace

std::vector<RuntimeVariant> VariantsOf(const Framework& framework,
                                       const ModelSpec& model,
                                       const TrainingOptions& training,
                                       absl::Span<const IslandSpec> islands,
                                       absl::Span<const int> more_tp) {
  const StageChoices choices = ChoicesOn(islands, training, more_tp);
  std::vector<RuntimeVariant> variants = OfShared(framework, training, choices);
  const bool equal_ends = framework.equal_ends == EqualEnds::kAlways ||
                          (framework.equal_ends == EqualEnds::kTiedEmbeddings &&
                           model.layers.back().tied_embeddings);
  if (!equal_ends) return variants;
  std::vector<RuntimeVariant> with_ends;
  for (const RuntimeVariant& variant : variants) {
    for (const int tp : choices.tp) {
      with_ends.emplace_back(variant).ends.tp_degree = tp;
    }
  }
  return with_ends;
}

absl::StatusOr<PipelinePlan> FitPlan(const Framework& framework,
                                     PlannedTraining planned) {
  planned.plan_only = true;
  TANGRAM_ASSIGN_OR_RETURN(FrameworkExport first,
                           ExportPlan(framework.name, planned));
  if (first.losses.empty()) return std::move(first.plan);
  planned.training = first.training;
  planned.plan = std::move(first.plan);
  TANGRAM_ASSIGN_OR_RETURN(FrameworkExport second,
                           ExportPlan(framework.name, planned));
  if (second.losses.empty()) return std::move(planned.plan);
  return absl::InvalidArgumentError(
      absl::StrCat(framework.name, ": ", second.losses.front()));
}

}  // namespace tangram
