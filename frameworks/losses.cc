#include "frameworks/losses.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "frameworks/lower_plan.h"
#include "frameworks/replica_pipelines.h"

namespace tangram {
namespace {

class LossList {
 public:
  template <typename T>
  void Compare(absl::string_view field, const T& planned, const T& run) {
    if (planned == run) return;
    Add(field, absl::StrCat(planned), absl::StrCat(run));
  }

  void Compare(absl::string_view field, bool planned, bool run) {
    if (planned == run) return;
    Add(field, planned ? "true" : "false", run ? "true" : "false");
  }

  void Add(absl::string_view field, absl::string_view planned,
           absl::string_view run) {
    losses_.push_back(
        absl::StrCat(prefix_, field, ": ", planned, "; becomes ", run));
  }

  // Puts `prefix` in front of the fields of the following losses.
  void SetPrefix(std::string prefix) { prefix_ = std::move(prefix); }

  std::vector<std::string> Take() { return std::move(losses_); }

 private:
  std::string prefix_;
  std::vector<std::string> losses_;
};

std::string CutText(OperatorCut cut) {
  return cut.op == 0
             ? absl::StrCat("layer ", cut.layer)
             : absl::StrCat("operator ", cut.op, " of layer ", cut.layer);
}

// Returns "12 of 13 layers (masks 0x3ff x 12, 0x0 x 1)".
std::string RecomputeText(const std::vector<RecomputeRun>& runs) {
  int recomputed = 0;
  int layers = 0;
  std::string masks;
  for (const RecomputeRun& run : runs) {
    layers += run.num_layers;
    if (run.mask != kRecomputeNone) recomputed += run.num_layers;
    absl::StrAppendFormat(&masks, "%s%#x x %d", masks.empty() ? "" : ", ",
                          run.mask, run.num_layers);
  }
  return absl::StrFormat("%d of %d layers (masks %s)", recomputed, layers,
                         masks);
}

void CompareParallelism(const std::string& stage, const StageParallelism& a,
                        const StageParallelism& b, LossList& losses) {
  const std::string prefix = stage + ".plan.parallelism.";
  losses.Compare(prefix + "tp_degree", a.tp_degree, b.tp_degree);
  losses.Compare(prefix + "cp_degree", a.cp_degree, b.cp_degree);
  losses.Compare(prefix + "dp_degree", a.dp_degree, b.dp_degree);
  losses.Compare(prefix + "ep_degree", a.ep_degree, b.ep_degree);
  losses.Compare(prefix + "fsep", a.fsep, b.fsep);
  losses.Compare(prefix + "zero_stage", a.zero_stage, b.zero_stage);
  losses.Compare(prefix + "zero_degree", a.zero_degree, b.zero_degree);
  losses.Compare(prefix + "sequence_parallel", a.sequence_parallel,
                 b.sequence_parallel);
  losses.Compare(prefix + "tp_y_degree", a.tp_y_degree, b.tp_y_degree);
}

void CompareOffload(const std::string& stage, const HostOffload& a,
                    const HostOffload& b, LossList& losses) {
  const std::string prefix = stage + ".plan.offload.";
  losses.Compare(prefix + "weights", a.weights, b.weights);
  losses.Compare(prefix + "gradients", a.gradients, b.gradients);
  losses.Compare(prefix + "optimizer", a.optimizer, b.optimizer);
  losses.Compare(prefix + "activations", a.activations, b.activations);
}

void CompareStages(const PipelinePlan& planned, const PipelinePlan& run,
                   LossList& losses) {
  for (int i = 0; i < run.num_stages(); ++i) {
    const StagePlan& a = planned.stages[i].plan;
    const StagePlan& b = run.stages[i].plan;
    if (a == b) continue;
    const std::string stage = absl::StrCat("stages[", i, "]");
    if (a.begin != b.begin) {
      losses.Add(stage + ".plan.begin", CutText(a.begin), CutText(b.begin));
    }
    CompareParallelism(stage, a.parallelism, b.parallelism, losses);
    if (a.recompute != b.recompute) {
      losses.Add(stage + ".plan.recompute", RecomputeText(a.recompute),
                 RecomputeText(b.recompute));
    }
    CompareOffload(stage, a.offload, b.offload, losses);
  }
}

void CompareTraining(const TrainingOptions& a, const TrainingOptions& b,
                     LossList& losses) {
  if (a == b) return;
  const auto field = [&](const char* name, auto member) {
    losses.Compare(absl::StrCat("training.", name), a.*member, b.*member);
  };
  field("flash_attention", &TrainingOptions::flash_attention);
  field("dropout", &TrainingOptions::dropout);
  field("fp32_gradients", &TrainingOptions::fp32_gradients);
  field("overlap_grad_reduce", &TrainingOptions::overlap_grad_reduce);
  field("bf16_moments", &TrainingOptions::bf16_moments);
  field("fused_loss", &TrainingOptions::fused_loss);
}

void ComparePlans(const ModelSpec& model, const PipelinePlan& planned,
                  const PipelinePlan& run, LossList& losses) {
  if (planned == run) return;
  const PipelinePlan before = CanonicalPlan(model, planned);
  const PipelinePlan after = CanonicalPlan(model, run);
  if (before.schedule != after.schedule) {
    losses.Add("schedule", ScheduleName(before.schedule),
               ScheduleName(after.schedule));
  }
  losses.Compare("pipeline_microbatch_size", before.pipeline_microbatch_size,
                 after.pipeline_microbatch_size);
  CompareStages(before, after, losses);
}

}  // namespace

std::vector<std::string> ListLosses(const PlannedTraining& planned,
                                    const TrainingOptions& training,
                                    const PipelinePlan& plan) {
  LossList losses;
  CompareTraining(planned.training, training, losses);
  ComparePlans(planned.model, planned.plan, plan, losses);
  return losses.Take();
}

std::vector<std::string> ListLosses(const PlannedPipelines& planned,
                                    const TrainingOptions& training,
                                    const ReplicatedPlan& plan) {
  LossList losses;
  CompareTraining(planned.training, training, losses);
  if (planned.plan.sync != plan.sync) {
    losses.Add("sync", ReplicaSyncName(planned.plan.sync),
               ReplicaSyncName(plan.sync));
  }
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const PipelineReplica& before = planned.plan.pipelines[r];
    const PipelineReplica& after = plan.pipelines[r];
    losses.SetPrefix(absl::StrCat("pipelines[", r, "]."));
    losses.Compare("num_microbatches", before.num_microbatches,
                   after.num_microbatches);
    // With another way to add up gradients, other fractions are no news.
    if (planned.plan.sync == plan.sync) {
      losses.Compare("state_fraction", before.state_fraction,
                     after.state_fraction);
    }
    losses.SetPrefix(PlanPrefix(plan, r));
    ComparePlans(planned.model, before.plan, after.plan, losses);
  }
  return losses.Take();
}

void PutLosses(std::vector<std::string> losses, FrameworkExport& exported) {
  exported.losses.insert(exported.losses.begin(),
                         std::make_move_iterator(losses.begin()),
                         std::make_move_iterator(losses.end()));
}

}  // namespace tangram
