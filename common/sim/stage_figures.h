#ifndef TANGRAM_COMMON_SIM_STAGE_FIGURES_H_
#define TANGRAM_COMMON_SIM_STAGE_FIGURES_H_

#include <vector>

#include "common/base/stop_poll.h"
#include "common/cost/collectives.h"
#include "common/cost/operator_cost.h"
#include "common/cost/stage_cost.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/pass_sequence.h"
#include "common/sim/play_pipeline.h"

// The parts of an evaluation that do not depend on how passes are played.
namespace tangram {

// A pipeline that has passed ValidatePlan, and the order of its passes.
struct EvaluatedPipeline {
  const ModelSpec& model;
  const Cluster& cluster;
  const TrainingOptions& training;
  const PipelinePlan& plan;
  const PipelineShape& shape;
  StopPoll& poll;
  StateShare state;
};

// Returns what fixes the order of the plan's passes.
PipelineShape ShapeOf(const PipelinePlan& plan,
                      const TrainingOptions& training);

// Returns the durations of a stage of that cost, without transfers.
StageTimes TimesOf(const StageCost& cost);

// Returns the time of both passes without collectives and host copies.
double ComputeSeconds(const StageCost& cost);

// Returns the figures of a stage that do not depend on the schedule.
StageEvaluation StaticEvaluation(const StageCost& cost, const StageTimes& times,
                                 const DeviceSpec& device);

// Returns the bytes of one microbatch from one stage to `receiver`, its
// neighbour; `cut` is between the two. Megatron-LM and DeepSpeed send each tp
// rank its share of the residual stream, which the receivers gather inside
// their nodes (2104.04473 §4.1). With buffered sends, Aceso's runtime sends all
// of it to every rank (_partition in its p2p_communication.py). DeepSpeed
// before 2023, told by blocking transfers and the 16-bit gradients that it
// keeps, does so with gradients (is_grad_partitioned is false in its
// pipe/engine.py).
double SentBytes(const ModelSpec& model, const TrainingOptions& training,
                 const PipelinePlan& plan, OperatorCut cut,
                 const StageParallelism& receiver, bool is_gradient);

// Returns whether a transfer of `bytes` stalls the stages. Only the order of
// passes of 1F1B and GPipe excludes a deadlock of blocking transfers.
bool TransferBlocks(const TrainingOptions& training, PipelineSchedule schedule,
                    double bytes, const TransferPath& path);

// A group of GPUs and its figures.
struct PartFigures {
  double num_gpus = 0;
  const StageEvaluation* figures = nullptr;
};

// Returns the figures of stage `s` as a whole, or of each group of a mixed
// stage. Refers to `evaluation`.
std::vector<PartFigures> PartFiguresOf(const PipelinePlan& plan,
                                       const Evaluation& evaluation, int s);

// Sets the time in which each GPU does nothing in an iteration of
// `iteration_s`:
//   idle = iteration − Σ over its stages (busy + sync + optimizer).
// Returns the idle GPU-seconds of the plan.
double SetIdleSeconds(const PipelinePlan& plan, double iteration_s,
                      Evaluation& evaluation);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_STAGE_FIGURES_H_
