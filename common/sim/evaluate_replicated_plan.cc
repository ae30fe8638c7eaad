#include "common/sim/evaluate_replicated_plan.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/sim/model_flops.h"
#include "common/sim/play_pipeline.h"
#include "common/sim/replica_rings.h"
#include "common/sim/stage_figures.h"

namespace tangram {
namespace {

using Kind = TimelineEvent::Kind;
using Timelines = std::vector<std::vector<TimelineEvent>>;

// Events of all pipelines that are kept for the caller.
constexpr size_t kMaxEvents = kMaxTimelineEvents;

// Returns the time at which device `d` of a pipeline has its gradients: after
// its passes and the reductions of all its stages.
double ReadySeconds(absl::Span<const StageEvaluation> stages, int d,
                    int num_devices) {
  double ready_s = stages[d].passes_end_s;
  for (size_t s = d; s < stages.size(); s += num_devices) {
    ready_s += stages[s].sync_s;
  }
  return ready_s;
}

// Plays the part of the iteration after the passes of all pipelines.
class ReplicaFinish {
 public:
  // `timelines` has the events of each pipeline alone, if they are recorded or
  // read (kZero2); else it is empty.
  ReplicaFinish(const Cluster& cluster, const ReplicatedPlan& plan,
                std::vector<ReplicaSegment> segments, Timelines& timelines,
                ReplicatedEvaluation& evaluation)
      : plan_(plan),
        segments_(std::move(segments)),
        nodes_(StageNodesOf(plan)),
        timelines_(timelines),
        evaluation_(evaluation),
        node_free_s_(cluster.nodes.size()) {
    for (size_t r = 0; r < plan.pipelines.size(); ++r) {
      const std::vector<StageEvaluation>& stages =
          evaluation.pipelines[r].stages;
      const int num_devices = plan.pipelines[r].plan.num_devices();
      std::vector<double> ready_s;
      for (int d = 0; d < num_devices; ++d) {
        passes_end_s_ = std::max(passes_end_s_, stages[d].passes_end_s);
        ready_s.push_back(ReadySeconds(stages, d, num_devices));
      }
      ready_s_.push_back(std::move(ready_s));
    }
  }

  void Play() {
    const std::vector<Exchange> exchanges =
        plan_.sync == ReplicaSync::kZero2 ? Pushes() : Rings(/*gather=*/false);
    double sync_end_s = PlayExchanges(exchanges);
    RunOptimizers();
    if (plan_.sync != ReplicaSync::kAllReduce) {
      sync_end_s = std::max(sync_end_s, PlayExchanges(Rings(/*gather=*/true)));
    }
    evaluation_.iteration_time_s =
        std::max(evaluation_.iteration_time_s, sync_end_s);
    evaluation_.replica_sync_end_s = sync_end_s;
    evaluation_.exposed_replica_sync_s =
        segments_.empty() ? 0 : std::max(0.0, sync_end_s - passes_end_s_);
  }

 private:
  // A transfer of a segment among all pipelines. `sender` is the pipeline whose
  // gradients are sent, and −1 if all send.
  struct Exchange {
    size_t segment = 0;
    int sender = -1;
    double release_s = 0;
    double duration_s = 0;
  };

  int DeviceOf(size_t r, const ReplicaSegment& segment) const {
    return segment.stages[r] % plan_.pipelines[r].plan.num_devices();
  }

  // Returns the rings of all segments, for gradients or for new weights.
  // Each is released by the last pipeline.
  std::vector<Exchange> Rings(bool gather) const {
    std::vector<Exchange> rings;
    for (size_t i = 0; i < segments_.size(); ++i) {
      const ReplicaSegment& segment = segments_[i];
      rings.push_back(
          {.segment = i,
           .duration_s = gather ? segment.gather_s : segment.reduce_s});
      for (size_t r = 0; r < ready_s_.size(); ++r) {
        rings.back().release_s =
            std::max(rings.back().release_s, ready_s_[r][DeviceOf(r, segment)]);
      }
    }
    return rings;
  }

  // Returns the transfers of kZero2: of each segment, after each backward pass
  // of the stage that holds it. The last one of a stage also waits for the
  // reduction of gradients inside the stage.
  std::vector<Exchange> Pushes() const {
    std::vector<Exchange> pushes;
    for (size_t r = 0; r < timelines_.size(); ++r) {
      const std::vector<std::vector<double>> ends_s = BackwardEnds(r);
      for (size_t i = 0; i < segments_.size(); ++i) {
        const std::vector<double>& of_stage = ends_s[segments_[i].stages[r]];
        for (size_t n = 0; n < of_stage.size(); ++n) {
          const bool is_last = n + 1 == of_stage.size();
          pushes.push_back(
              {.segment = i,
               .sender = static_cast<int>(r),
               .release_s = is_last ? ready_s_[r][DeviceOf(r, segments_[i])]
                                    : of_stage[n],
               .duration_s = segments_[i].push_s[r]});
        }
      }
    }
    return pushes;
  }

  // Returns the ends of the backward passes of pipeline `r` by stage,
  // ascending.
  std::vector<std::vector<double>> BackwardEnds(size_t r) const {
    const bool splits =
        plan_.pipelines[r].plan.schedule == PipelineSchedule::kZeroBubbleH1;
    const Kind last = splits ? Kind::kWeightGradient : Kind::kBackward;
    std::vector<std::vector<double>> ends_s(
        plan_.pipelines[r].plan.num_stages());
    for (const TimelineEvent& event : timelines_[r]) {
      if (event.kind == last) ends_s[event.stage].push_back(event.end_s);
    }
    for (std::vector<double>& of_stage : ends_s) {
      std::sort(of_stage.begin(), of_stage.end());
    }
    return ends_s;
  }

  // Plays transfers on the links of all pipelines. Moves ready_s_ to the end of
  // those that a device takes part in. Returns the end of the last one.
  double PlayExchanges(const std::vector<Exchange>& exchanges) {
    std::vector<RingTask> tasks;
    for (const Exchange& exchange : exchanges) {
      RingTask task = {.release_s = exchange.release_s,
                       .duration_s = exchange.duration_s};
      for (size_t r = 0; r < ready_s_.size(); ++r) {
        task.nodes.push_back(nodes_[r][segments_[exchange.segment].stages[r]]);
      }
      tasks.push_back(std::move(task));
    }
    const std::vector<double> ends_s = PlayRings(tasks, node_free_s_);
    double last_s = 0;
    for (size_t i = 0; i < exchanges.size(); ++i) {
      last_s = std::max(last_s, ends_s[i]);
      NoteStart(ends_s[i] - exchanges[i].duration_s);
      const ReplicaSegment& segment = segments_[exchanges[i].segment];
      for (size_t r = 0; r < ready_s_.size(); ++r) {
        double& ready_s = ready_s_[r][DeviceOf(r, segment)];
        ready_s = std::max(ready_s, ends_s[i]);
        Record(Kind::kReplicaSync, r, segment.stages[r],
               ends_s[i] - exchanges[i].duration_s, ends_s[i]);
      }
    }
    return last_s;
  }

  void NoteStart(double start_s) {
    double& first_s = evaluation_.replica_sync_start_s;
    first_s = has_started_ ? std::min(first_s, start_s) : start_s;
    has_started_ = true;
  }

  // Moves ready_s_ to the end of each device's optimizer.
  void RunOptimizers() {
    for (size_t r = 0; r < ready_s_.size(); ++r) {
      const std::vector<StageEvaluation>& stages =
          evaluation_.pipelines[r].stages;
      const size_t num_devices = ready_s_[r].size();
      for (size_t s = 0; s < stages.size(); ++s) {
        double& ready_s = ready_s_[r][s % num_devices];
        const double start_s = ready_s;
        ready_s += stages[s].optimizer_s;
        Record(Kind::kOptimizer, r, static_cast<int>(s), start_s, ready_s);
      }
      for (const double end_s : ready_s_[r]) {
        evaluation_.iteration_time_s =
            std::max(evaluation_.iteration_time_s, end_s);
      }
    }
  }

  void Record(Kind kind, size_t r, int stage, double start_s, double end_s) {
    if (timelines_.empty() || end_s <= start_s) return;
    timelines_[r].push_back({.kind = kind,
                             .stage = stage,
                             .microbatch = -1,
                             .start_s = start_s,
                             .end_s = end_s});
  }

  const ReplicatedPlan& plan_;
  const std::vector<ReplicaSegment> segments_;
  const StageNodes nodes_;
  Timelines& timelines_;
  ReplicatedEvaluation& evaluation_;
  std::vector<double> node_free_s_;
  double passes_end_s_ = 0;
  bool has_started_ = false;
  // Time at which gradients are ready, by pipeline and device.
  std::vector<std::vector<double>> ready_s_;
};

size_t NumEvents(const Timelines& timelines) {
  size_t num_events = 0;
  for (const std::vector<TimelineEvent>& timeline : timelines) {
    num_events += timeline.size();
  }
  return num_events;
}

// Removes the optimizers of a pipeline alone, which run before the exchange.
void RemoveOptimizers(std::vector<TimelineEvent>& timeline) {
  timeline.erase(std::remove_if(timeline.begin(), timeline.end(),
                                [](const TimelineEvent& event) {
                                  return event.kind == Kind::kOptimizer;
                                }),
                 timeline.end());
}

void SortByStageAndStart(std::vector<TimelineEvent>& timeline) {
  std::stable_sort(timeline.begin(), timeline.end(),
                   [](const TimelineEvent& a, const TimelineEvent& b) {
                     return a.stage != b.stage ? a.stage < b.stage
                                               : a.start_s < b.start_s;
                   });
}

// Sets the figures of the whole plan over the GPUs of all pipelines.
void SetTotals(const ModelSpec& model, const Cluster& cluster,
               const TrainingOptions& training, const ReplicatedPlan& plan,
               ReplicatedEvaluation& evaluation) {
  const double iteration_s = evaluation.iteration_time_s;
  double peak_flops = 0;
  double gpu_s = 0;
  double idle_gpu_s = 0;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const PipelinePlan& pipeline = plan.pipelines[r].plan;
    peak_flops += PeakFlopsOf(cluster, training, pipeline);
    idle_gpu_s +=
        SetIdleSeconds(pipeline, iteration_s, evaluation.pipelines[r]);
    for (int d = 0; d < pipeline.num_devices(); ++d) {
      gpu_s +=
          static_cast<double>(pipeline.stages[d].gpus.size()) * iteration_s;
    }
  }
  evaluation.samples_per_s = training.global_batch_size / iteration_s;
  evaluation.tokens_per_s = evaluation.samples_per_s * training.sequence_length;
  evaluation.model_flops_utilization =
      ModelFlops(model, training) * evaluation.samples_per_s / peak_flops;
  evaluation.bubble_fraction = idle_gpu_s / gpu_s;
}

}  // namespace

bool ReplicatedEvaluation::fits() const {
  return std::all_of(pipelines.begin(), pipelines.end(),
                     [](const Evaluation& e) { return e.violations.empty(); });
}

Evaluation WithinIteration(const ReplicatedPlan& plan,
                           const ReplicatedEvaluation& evaluation, size_t r) {
  Evaluation pipeline = evaluation.pipelines[r];
  const double iteration_s = evaluation.iteration_time_s;
  const double stretched = pipeline.iteration_time_s / iteration_s;
  pipeline.samples_per_s *= stretched;
  pipeline.tokens_per_s *= stretched;
  pipeline.model_flops_utilization *= stretched;
  pipeline.iteration_time_s = iteration_s;
  double idle_gpu_s = 0;
  double gpu_s = 0;
  const PipelinePlan& stages = plan.pipelines[r].plan;
  for (int d = 0; d < stages.num_devices(); ++d) {
    const double num_gpus = static_cast<double>(stages.stages[d].gpus.size());
    idle_gpu_s += num_gpus * pipeline.stages[d].idle_s;
    gpu_s += num_gpus * iteration_s;
  }
  pipeline.bubble_fraction = idle_gpu_s / gpu_s;
  return pipeline;
}

StateShare ShareOfState(ReplicaSync sync, const PipelineReplica& replica) {
  const double fraction = replica.state_fraction;
  switch (sync) {
    case ReplicaSync::kAllReduce:
      return {};
    case ReplicaSync::kZero1:
      return {.optimizer = fraction};
    case ReplicaSync::kZero2:
      return {.optimizer = fraction, .gradients = fraction};
  }
  return {};
}

ReplicatedEvaluation JoinPipelines(const ModelSpec& model,
                                   const Cluster& cluster,
                                   const TrainingOptions& training,
                                   const ReplicatedPlan& plan,
                                   std::vector<ReplicaSegment> segments,
                                   std::vector<Evaluation> pipelines) {
  ReplicatedEvaluation evaluation{.pipelines = std::move(pipelines)};
  Timelines none;
  ReplicaFinish(cluster, plan, std::move(segments), none, evaluation).Play();
  SetTotals(model, cluster, training, plan, evaluation);
  return evaluation;
}

double LeastJoinedSeconds(absl::Span<const ReplicaSegment> segments, size_t r,
                          const Evaluation& pipeline, int num_devices) {
  std::vector<double> ends_s;
  for (int d = 0; d < num_devices; ++d) {
    ends_s.push_back(ReadySeconds(pipeline.stages, d, num_devices));
  }
  for (size_t s = 0; s < pipeline.stages.size(); ++s) {
    ends_s[s % num_devices] += pipeline.stages[s].optimizer_s;
  }
  for (const ReplicaSegment& segment : segments) {
    ends_s[segment.stages[r] % num_devices] +=
        segment.reduce_s + segment.gather_s;
  }
  return *std::max_element(ends_s.begin(), ends_s.end());
}

absl::StatusOr<ReplicatedEvaluation> EvaluateReplicatedPlan(
    const ModelSpec& model, const Cluster& cluster,
    const TrainingOptions& training, const ReplicatedPlan& plan,
    Timelines* timelines, const std::function<bool()>& should_stop) {
  TANGRAM_RETURN_IF_ERROR(
      ValidateReplicatedPlan(model, cluster, training, plan));
  ReplicatedEvaluation evaluation;
  Timelines events;
  bool all_recorded = true;
  // kZero2 reads the events of every pipeline; CheckExchanges bounds them.
  const bool reads_events = plan.sync == ReplicaSync::kZero2;
  bool records = timelines != nullptr || reads_events;
  for (const PipelineReplica& replica : plan.pipelines) {
    std::vector<TimelineEvent> timeline;
    TANGRAM_ASSIGN_OR_RETURN(
        Evaluation pipeline,
        EvaluatePlan(model, cluster, ShareOf(training, replica), replica.plan,
                     records ? &timeline : nullptr,
                     ShareOfState(plan.sync, replica), should_stop));
    evaluation.pipelines.push_back(std::move(pipeline));
    if (!records) continue;
    all_recorded &= !timeline.empty();
    RemoveOptimizers(timeline);
    events.push_back(std::move(timeline));
    if (reads_events || (all_recorded && NumEvents(events) <= kMaxEvents)) {
      continue;
    }
    records = false;
    events.clear();
  }
  if (!all_recorded && reads_events) {
    return FieldError("sync", ReplicaSyncName(plan.sync),
                      absl::StrCat("all-reduce or zero1, or at most ",
                                   kMaxTimelineEvents, " events a pipeline"));
  }
  ReplicaFinish(cluster, plan, ReplicaSegments(model, cluster, training, plan),
                events, evaluation)
      .Play();
  SetTotals(model, cluster, training, plan, evaluation);
  if (timelines == nullptr) return evaluation;
  for (std::vector<TimelineEvent>& timeline : events) {
    SortByStageAndStart(timeline);
  }
  *timelines =
      NumEvents(events) <= kMaxEvents ? std::move(events) : Timelines();
  return evaluation;
}

}  // namespace tangram
